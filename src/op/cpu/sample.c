/* op/cpu/sample.c - the blocks of a batch on the CPU; see op/sample.h. */
#include "op/cpu/cpu.h"
#include "op/hop_entries.h"
#include "op/sample.h"

#include <omp.h>
#include <string.h>

enum { AHEAD = 16, OPERATIONS = 32 /* a vertex or an edge is worth */ };

static int clear(struct gnn_backend *b, uint32_t *table, uint64_t vertices)
{
	(void)b;
	memset(table, 0xff, vertices * sizeof(*table));
	return GNN_OK;
}

static int enter(struct gnn_backend *b, uint32_t *table, const uint64_t *id, uint64_t count)
{
	(void)b;
	for (uint64_t i = 0; i < count; i++)
		table[id[i]] = (uint32_t)i;
	return GNN_OK;
}

static int forget(struct gnn_backend *b, uint32_t *table, const uint64_t *id, uint64_t count)
{
	(void)b;
	for (uint64_t i = 0; i < count; i++)
		table[id[i]] = GNN_NO_ROW;
	return GNN_OK;
}

static int count_entries(struct gnn_backend *b, const struct gnn_hop *h,
	const struct gnn_hop_rows *rows, uint64_t *entries)
{
	const uint64_t n = rows->dst_count;

#pragma omp parallel for num_threads(gnn_cpu_team(b, n * OPERATIONS)) schedule(dynamic, 256)
	for (uint64_t i = 0; i < n; i++)
		rows->first[i + 1] = gnn_hop_count(h, rows->id[i]) + h->rule.own;
	rows->first[0] = 0;
	for (uint64_t i = 0; i < n; i++)
		rows->first[i + 1] += rows->first[i];
	*entries = rows->first[n];
	return GNN_OK;
}

static int list_entries(struct gnn_backend *b, const struct gnn_hop *h,
	const struct gnn_hop_rows *rows, uint64_t *entry)
{
	const uint64_t *first = rows->first;
	float *weight = rows->weight;

#pragma omp parallel for num_threads(gnn_cpu_team(b, rows->dst_count * OPERATIONS)) \
	schedule(dynamic, 256)
	for (uint64_t i = 0; i < rows->dst_count; i++)
		gnn_hop_entries(h, rows->id[i], entry + first[i],
			weight != NULL ? weight + first[i] : NULL, first[i + 1] - first[i]);
	return GNN_OK;
}

static int number(struct gnn_backend *b, struct gnn_number_args *a)
{
	uint64_t count = a->id_count;

	(void)b;
	for (uint64_t e = 0; e < a->entry_count; e++) {
		const uint64_t u = a->entry[e];

		if (e + AHEAD < a->entry_count)
			__builtin_prefetch(&a->table[a->entry[e + AHEAD]], 1);
		if (a->table[u] == GNN_NO_ROW) {
			a->table[u] = (uint32_t)count;
			a->id[count++] = u;
		}
		a->src[e] = a->table[u];
	}
	a->id_count = count;
	return GNN_OK;
}

static int weigh(struct gnn_backend *b, const struct gnn_hop *h, const struct gnn_weigh_args *a)
{
	const struct gnn_hop_rows *r = &a->rows;

	if (h->rule.weighting == GNN_WEIGH_GCN) {
#pragma omp parallel for num_threads(gnn_cpu_team(b, a->src_count * OPERATIONS)) schedule(static)
		for (uint64_t i = 0; i < a->src_count; i++)
			a->norm[i] = gnn_rule_norm(&h->rule, &h->lists, r->id[i]);
	}
#pragma omp parallel for num_threads(gnn_cpu_team(b, r->dst_count * OPERATIONS)) schedule(static)
	for (uint64_t i = 0; i < r->dst_count; i++)
		gnn_hop_weigh(h, r->id[i], i, a->src + r->first[i], r->first[i + 1] - r->first[i],
			a->norm, a->weight + r->first[i]);
	return GNN_OK;
}

/* A counting sort by source: sequential, so that destinations stay in order. */
static int turn(struct gnn_backend *b, const struct gnn_turn_args *a)
{
	uint64_t *at = a->back_first;

	(void)b;
	memset(at, 0, (a->src_count + 1) * sizeof(*at));
	for (uint64_t e = 0; e < a->entry_count; e++)
		at[a->src[e]]++;
	for (uint64_t u = 0, sum = 0; u <= a->src_count; u++) {
		const uint64_t count = at[u];

		at[u] = sum;
		sum += count;
	}
	for (uint64_t v = 0; v < a->dst_count; v++)
		for (uint64_t e = a->first[v]; e < a->first[v + 1]; e++) {
			const uint64_t to = at[a->src[e]]++;

			a->back_dst[to] = (uint32_t)v;
			a->back_entry[to] = (uint32_t)e;
			if (a->weight != NULL)
				a->back_weight[to] = a->weight[e];
		}
	/* Each start has moved to the next one's. */
	memmove(at + 1, at, a->src_count * sizeof(*at));
	at[0] = 0;
	return GNN_OK;
}

const struct gnn_sample_ops gnn_sample_cpu = {
	.clear = clear,
	.enter = enter,
	.forget = forget,
	.count = count_entries,
	.list = list_entries,
	.number = number,
	.weigh = weigh,
	.turn = turn,
};
