/* layer/group.c - which tensors form a layer, which its norm, which the head; see keys.h. */
#include "layer/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS_MAX = 8, LISTED_MAX = 400 };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Names for an error text, as many as fit. */
struct list {
	char     text[LISTED_MAX];
	uint32_t left_out;
};

static void add_item(struct list *l, const char *item)
{
	size_t used = strlen(l->text), room = sizeof(l->text) - used;

	if (snprintf(l->text + used, room, "%s%s", used > 0 ? ", " : "", item) >= (int)room) {
		l->text[used] = '\0';
		l->left_out++;
	}
}

static int fail_with(const struct list *l, const char *what)
{
	if (l->left_out > 0)
		return gnn_err(GNN_ECONFIG, "%s: %s and %u more", what, l->text, l->left_out);
	return gnn_err(GNN_ECONFIG, "%s: %s", what, l->text);
}

/* What the i-th tensor would take, once: with the number of tensors that do. */
static void add_unsupported(struct list *l, const struct gnn_weight *w, uint32_t count, uint32_t i)
{
	uint32_t alike = 0, before = 0;
	char item[LISTED_MAX / 2];

	for (uint32_t k = 0; k < count; k++) {
		bool same = w[k].role == GNN_ROLE_UNSUPPORTED &&
			strcmp(w[k].meaning, w[i].meaning) == 0;

		alike += same;
		before += same && k < i;
	}
	if (before > 0)
		return;
	if (alike > 1)
		snprintf(item, sizeof(item), "%s (%.100s and %u more)", w[i].meaning,
			w[i].tensor->name, alike - 1);
	else
		snprintf(item, sizeof(item), "%s (%.100s)", w[i].meaning, w[i].tensor->name);
	add_item(l, item);
}

static int check_roles(const struct gnn_weight *w, uint32_t count)
{
	struct list unknown = {0}, unsupported = {0};

	for (uint32_t i = 0; i < count; i++) {
		if (w[i].role == GNN_ROLE_UNSUPPORTED)
			add_unsupported(&unsupported, w, count, i);
		if (w[i].role == GNN_ROLE_UNKNOWN)
			add_item(&unknown, w[i].tensor->name);
	}
	if (unsupported.text[0] != '\0')
		return fail_with(&unsupported, "not supported");
	if (unknown.text[0] != '\0' || unknown.left_out > 0)
		return fail_with(&unknown, "tensors that are not understood");
	return GNN_OK;
}

/* The numbers inside a stem; false when there are too many or too large ones. */
static bool numbers_of(const struct gnn_weight *w, uint32_t *number, uint32_t *count)
{
	const char *at = w->tensor->name, *end = at + w->stem;

	for (*count = 0; at < end;) {
		if (!is_digit(*at)) {
			at++;
			continue;
		}
		if (*count == NUMBERS_MAX || !gnn_keys_number(&at, &number[(*count)++]))
			return false;
	}
	return true;
}

/* Equal stems but for the numbers in them. */
static bool same_stem(const struct gnn_weight *a, const struct gnn_weight *b)
{
	const char *s = a->tensor->name, *t = b->tensor->name;
	const char *s_end = s + a->stem, *t_end = t + b->stem;

	while (s < s_end && t < t_end) {
		if (is_digit(*s) && is_digit(*t)) {
			s += strspn(s, "0123456789");
			t += strspn(t, "0123456789");
		} else if (*s++ != *t++) {
			return false;
		}
	}
	return s == s_end && t == t_end;
}

static bool equal_stem(const struct gnn_weight *a, const struct gnn_weight *b)
{
	return a->stem == b->stem && memcmp(a->tensor->name, b->tensor->name, a->stem) == 0;
}

/* --- parts --- */

enum part { PART_LAYER, PART_NORM, PART_HEAD };

static enum part part_of(const struct gnn_weight *w)
{
	if (w->role >= GNN_ROLE_NORM_WEIGHT && w->role <= GNN_ROLE_NORM_COUNTER)
		return PART_NORM;
	return w->role == GNN_ROLE_HEAD_WEIGHT || w->role == GNN_ROLE_HEAD_BIAS ? PART_HEAD
		: PART_LAYER;
}

/* A name of a norm that is none, of a wrapped model: "module.weight" is its stem and "weight". */
static void unwrap(struct gnn_weight *w, enum gnn_role role)
{
	static const char wrap[] = "module.";

	if (strncmp(w->tensor->name + w->stem, wrap, sizeof(wrap) - 1) == 0)
		w->stem += (uint32_t)sizeof(wrap) - 1;
	w->role = role;
}

/* A plain weight of one dimension is a norm's, and then so is the bias under the same stem. */
static void find_norms(struct gnn_weight *w, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (w[i].role == GNN_ROLE_WEIGHT && w[i].tensor->rank == 1)
			w[i].role = GNN_ROLE_NORM_WEIGHT;
		else if (w[i].role == GNN_ROLE_NORM_WEIGHT && w[i].tensor->rank != 1)
			unwrap(&w[i], GNN_ROLE_WEIGHT);
		if (w[i].role == GNN_ROLE_NORM_WEIGHT)
			w[i].meaning = "weight of a norm";
	}
	for (uint32_t i = 0; i < count; i++) {
		bool norm = false;

		if (w[i].role != GNN_ROLE_BIAS && w[i].role != GNN_ROLE_NORM_BIAS)
			continue;
		for (uint32_t k = 0; k < count; k++)
			norm |= (w[k].role == GNN_ROLE_NORM_WEIGHT ||
				w[k].role == GNN_ROLE_NORM_MEAN) && equal_stem(&w[i], &w[k]);
		if (norm) {
			w[i].role = GNN_ROLE_NORM_BIAS;
			w[i].meaning = "bias of a norm";
		} else if (w[i].role == GNN_ROLE_NORM_BIAS) {
			unwrap(&w[i], GNN_ROLE_BIAS);
		}
	}
}

static bool has_number(const struct gnn_weight *w)
{
	uint32_t number[NUMBERS_MAX], count;

	return !numbers_of(w, number, &count) || count > 0;
}

/* "lin" without a number, where the layers have one behind the same beginning. */
static void find_head(struct gnn_weight *w, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		bool linear = w[i].role == GNN_ROLE_LIN_WEIGHT || w[i].role == GNN_ROLE_LIN_BIAS;
		bool inside = false;

		for (uint32_t k = 0; linear && !has_number(&w[i]) && k < count; k++)
			inside |= part_of(&w[k]) == PART_LAYER && has_number(&w[k]) &&
				w[k].stem >= w[i].stem && memcmp(w[k].tensor->name,
					w[i].tensor->name, w[i].stem) == 0;
		if (!inside)
			continue;
		w[i].role = w[i].role == GNN_ROLE_LIN_WEIGHT ? GNN_ROLE_HEAD_WEIGHT
							    : GNN_ROLE_HEAD_BIAS;
		w[i].meaning = w[i].role == GNN_ROLE_HEAD_WEIGHT ?
			"weight behind all layers (out, in)" : "bias behind all layers";
	}
}

static int compare_parts(const void *a, const void *b)
{
	enum part s = part_of(a), t = part_of(b);

	return (s > t) - (s < t);
}

/* Every stem must look like that of most tensors. */
static int check_stems(const struct gnn_weight *w, uint32_t count)
{
	uint32_t best = 0, most = 0, alike;
	struct list others = {0};

	for (uint32_t i = 0; i < count; i++) {
		alike = 0;
		for (uint32_t j = 0; j < count; j++)
			alike += same_stem(&w[i], &w[j]);
		if (alike > most) {
			most = alike;
			best = i;
		}
	}
	if (most == count)
		return GNN_OK;
	for (uint32_t i = 0; i < count; i++)
		if (!same_stem(&w[i], &w[best]))
			add_item(&others, w[i].tensor->name);
	return fail_with(&others, "tensors that belong to no layer");
}

/* Sets `layer` of each to the one number in which the stems differ, by its place in them. */
static int read_layers(struct gnn_weight *w, uint32_t count, uint32_t *differs)
{
	uint32_t first[NUMBERS_MAX], number[NUMBERS_MAX], numbers, place = NUMBERS_MAX;

	for (uint32_t i = 0; i < count; i++) {
		if (!numbers_of(&w[i], i == 0 ? first : number, &numbers))
			return gnn_err(GNN_ECONFIG, "tensor %s: no layer number can be read",
				w[i].tensor->name);
		for (uint32_t k = 0; i > 0 && k < numbers; k++) {
			if (number[k] == first[k])
				continue;
			if (place != NUMBERS_MAX && place != k)
				return gnn_err(GNN_ECONFIG,
					"tensors %s and %s differ in more than one number",
					w[0].tensor->name, w[i].tensor->name);
			place = k;
		}
	}
	for (uint32_t i = 0; i < count; i++) {
		numbers_of(&w[i], number, &numbers);
		w[i].layer = place == NUMBERS_MAX ? 0 : number[place];
	}
	*differs = place;
	return GNN_OK;
}

/*
 * Sets `layer` of a norm to that of the layer in front of it: the one of its number, or where
 * layers and norms share one numbering, the last before it.
 */
static int place_norm(struct gnn_weight *n, const struct gnn_weight *layers, uint32_t count,
	uint32_t place)
{
	uint32_t number[NUMBERS_MAX], numbers, own;
	bool shared = same_stem(n, &layers[0]), found = false;

	n->layer = layers[0].layer;
	if (place == NUMBERS_MAX)
		return GNN_OK;
	if (!numbers_of(n, number, &numbers) || numbers == 0)
		return gnn_err(GNN_ECONFIG, "tensor %s: no layer number can be read",
			n->tensor->name);
	own = number[place < numbers ? place : numbers - 1];
	for (uint32_t i = 0; i < count; i++) {
		uint32_t layer = layers[i].layer;

		if (shared ? layer >= own || (found && layer < n->layer) : layer != own)
			continue;
		n->layer = layer;
		found = true;
	}
	return found ? GNN_OK : gnn_err(GNN_ECONFIG, "tensors that belong to no layer: %s",
		n->tensor->name);
}

static int compare(const void *a, const void *b)
{
	const struct gnn_weight *s = a, *t = b;

	if (s->layer != t->layer)
		return s->layer < t->layer ? -1 : 1;
	if (s->role != t->role)
		return s->role < t->role ? -1 : 1;
	return (s->item > t->item) - (s->item < t->item);
}

/* After sorting: layer numbers become 0, 1, 2 ...; no role may occur twice in a layer. */
static int renumber(struct gnn_weight *w, uint32_t count, uint32_t *layers)
{
	uint32_t seen = 0, number = w[0].layer;

	for (uint32_t i = 0; i < count; i++) {
		if (w[i].layer != number) {
			number = w[i].layer;
			seen++;
		}
		w[i].layer = seen;
		if (i > 0 && w[i].role != GNN_ROLE_COUNTER && compare(&w[i - 1], &w[i]) == 0)
			return gnn_err(GNN_ECONFIG, "tensors %s and %s are the same thing twice",
				w[i - 1].tensor->name, w[i].tensor->name);
	}
	*layers = seen + 1;
	return GNN_OK;
}

int gnn_keys_group(struct gnn_weight *w, uint32_t count, uint32_t *layers)
{
	uint32_t of_layers = 0, of_head = 0, place = NUMBERS_MAX;
	int rc;

	*layers = 0;
	if (count == 0)
		GNN_FAIL(GNN_ECONFIG, "there are no tensors");
	GNN_TRY(check_roles(w, count));
	find_norms(w, count);
	find_head(w, count);
	qsort(w, count, sizeof(*w), compare_parts);
	while (of_layers < count && part_of(&w[of_layers]) == PART_LAYER)
		of_layers++;
	while (of_head < count && part_of(&w[count - 1 - of_head]) == PART_HEAD)
		of_head++;
	if (of_layers == 0)
		GNN_FAIL(GNN_ECONFIG, "tensors that belong to no layer: %s", w[0].tensor->name);
	GNN_TRY(check_stems(w, of_layers));
	GNN_TRY(read_layers(w, of_layers, &place));
	for (uint32_t i = of_layers; i < count - of_head; i++)
		GNN_TRY(place_norm(&w[i], w, of_layers, place));
	qsort(w, count - of_head, sizeof(*w), compare);
	GNN_TRY(renumber(w, count - of_head, layers));
	for (uint32_t i = count - of_head; i < count; i++)
		w[i].layer = *layers;
out:
	return rc;
}
