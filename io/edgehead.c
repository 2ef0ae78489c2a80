/* io/edgehead.c - see edgehead.h. */
#include "io/edgehead.h"

#include <stdio.h>
#include <string.h>

enum { WORD_MAX = 24, NUMBERS_MAX = 3 };

static const char *next_word(const char *p, const char *end, char *word)
{
	size_t n = 0;

	while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
		p++;
	while (p < end && *p != ' ' && *p != '\t' && *p != '\r') {
		if (n + 1 < WORD_MAX)
			word[n++] = *p;
		p++;
	}
	word[n] = '\0';
	return p;
}

static bool to_number(const char *word, uint64_t *value)
{
	char rest;
	unsigned long long v;

	if (word[0] < '0' || word[0] > '9' || sscanf(word, "%llu%c", &v, &rest) != 1)
		return false;
	*value = v;
	return true;
}

static void read_snap(struct gnn_edge_counts *c, const char *p, const char *end)
{
	static const char *const keys[] = {"Nodes:", "Edges:"};
	char word[WORD_MAX];
	uint64_t value;
	int key = -1;

	while (p < end) {
		p = next_word(p, end, word);
		if (key == 0 && to_number(word, &value)) {
			c->stated_nodes = value;
			c->nodes_stated = true;
		} else if (key == 1 && to_number(word, &value)) {
			c->stated_edges = value;
			c->edges_stated = true;
		}
		key = strcmp(word, keys[0]) == 0 ? 0 : strcmp(word, keys[1]) == 0 ? 1 : -1;
	}
}

static bool is_one_of(const char *word, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(word, list[i]) == 0)
			return true;
	}
	return false;
}

/* Edges, and how many vertices each side has; equal sides are the vertices of the graph. */
static void read_konect_sizes(struct gnn_edge_counts *c, const char *p, const char *end)
{
	uint64_t number[NUMBERS_MAX];
	char word[WORD_MAX];
	int n = 0;

	for (; n < NUMBERS_MAX; n++) {
		p = next_word(p, end, word);
		if (!to_number(word, &number[n]))
			break;
	}
	if (n == 0)
		return;
	c->edges_stated = true;
	c->stated_edges = number[0];
	if (n == NUMBERS_MAX && number[1] == number[2]) {
		c->nodes_stated = true;
		c->stated_nodes = number[1];
	}
}

static int read_konect(struct gnn_edge_counts *c, const char *p, const char *end,
	const char *path, uint64_t number)
{
	static const char *const kinds[] = {"sym", "asym", "bip"};
	static const char *const weights[] = {"unweighted", "positive", "posweighted", "signed",
		"multisigned", "weighted", "multiweighted", "multiposweighted", "dynamic"};
	char kind[WORD_MAX], weight[WORD_MAX];
	const char *q = next_word(p, end, kind);

	next_word(q, end, weight);
	if (c->from_one)
		read_konect_sizes(c, p, end);
	if (c->from_one || !is_one_of(kind, kinds, GNN_COUNT_OF(kinds)) ||
		!is_one_of(weight, weights, GNN_COUNT_OF(weights)))
		return GNN_OK;
	if (strcmp(kind, "bip") == 0)
		return gnn_err(GNN_EDATA,
			"%s:%llu: a bipartite graph (KONECT): its two sides are numbered "
			"separately, so id 1 stands for two vertices; add the number of left "
			"vertices to the right ids, and drop this line",
			path, (unsigned long long)number);
	if (strcmp(weight, "dynamic") == 0)
		return gnn_err(GNN_EDATA,
			"%s:%llu: a dynamic graph (KONECT): its lines remove edges too; make a "
			"snapshot of it first, and drop this line",
			path, (unsigned long long)number);
	c->from_one = true;
	c->each_once = strcmp(kind, "sym") == 0;
	return GNN_OK;
}

int gnn_edgehead_read(struct gnn_edge_counts *c, const char *p, const char *end,
	const char *path, uint64_t number)
{
	static const char matrix_market[] = "%%MatrixMarket";
	size_t len = sizeof(matrix_market) - 1;

	if ((size_t)(end - p) >= len && memcmp(p, matrix_market, len) == 0)
		return gnn_err(GNN_EDATA,
			"%s:%llu: a MatrixMarket file, which is no edge list: its first number "
			"line holds sizes, and ids begin at 1; remove both heading and size line, "
			"and import with --remap",
			path, (unsigned long long)number);
	if (*p == '#') {
		read_snap(c, p + 1, end);
		return GNN_OK;
	}
	return read_konect(c, p + 1, end, path, number);
}
