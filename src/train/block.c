/* train/block.c - see block.h. */
#include "train/block.h"

#include "op/norm.h"

#include <omp.h>
#include <string.h>

enum { FIRST, SRC, WEIGHT, BACK_FIRST, BACK_DST, BACK_ENTRY, BACK_WEIGHT };

float gnn_rule_norm(const struct gnn_edge_rule *r, const struct gnn_lists *l, gnn_vid v)
{
	const uint64_t degree = gnn_rule_population(r, l, v) + r->own;

	return gnn_norm_value(GNN_NORM_RSQRT_IN, (double)degree);
}

int gnn_block_size(struct gnn_block *b, uint64_t dst_count, uint64_t entry_count, bool weighted)
{
	int rc = GNN_OK;

	if (entry_count > UINT32_MAX || dst_count >= GNN_OWN_BIT)
		GNN_FAIL(GNN_ECONFIG, "a batch with %llu destinations and %llu edges in one layer "
			"is too large: give a smaller --batch-size or --fanout",
			(unsigned long long)dst_count, (unsigned long long)entry_count);
	GNN_TRY(gnn_room_take(&b->room[FIRST], dst_count + 1, sizeof(uint64_t)));
	GNN_TRY(gnn_room_take(&b->room[SRC], entry_count, sizeof(uint32_t)));
	if (weighted)
		GNN_TRY(gnn_room_take(&b->room[WEIGHT], entry_count, sizeof(float)));
	b->dst_count = dst_count;
	b->entry_count = entry_count;
	b->first = b->room[FIRST].data;
	b->src = b->room[SRC].data;
	b->weight = weighted ? b->room[WEIGHT].data : NULL;
	b->back_first = NULL;
out:
	return rc;
}

/* A counting sort by source: sequential, so that destinations stay in order. */
static void sort_entries(struct gnn_block *b)
{
	uint64_t *at = b->back_first;

	memset(at, 0, (b->src_count + 1) * sizeof(*at));
	for (uint64_t e = 0; e < b->entry_count; e++)
		at[b->src[e]]++;
	for (uint64_t u = 0, sum = 0; u <= b->src_count; u++) {
		const uint64_t count = at[u];

		at[u] = sum;
		sum += count;
	}
	for (uint64_t v = 0; v < b->dst_count; v++)
		for (uint64_t e = b->first[v]; e < b->first[v + 1]; e++) {
			const uint64_t to = at[b->src[e]]++;

			b->back_dst[to] = (uint32_t)v;
			b->back_entry[to] = (uint32_t)e;
			if (b->weight != NULL)
				b->back_weight[to] = b->weight[e];
		}
	/* Each start has moved to the next one's. */
	memmove(at + 1, at, b->src_count * sizeof(*at));
	at[0] = 0;
}

int gnn_block_turn(struct gnn_block *b)
{
	int rc;

	GNN_TRY(gnn_room_take(&b->room[BACK_FIRST], b->src_count + 1, sizeof(uint64_t)));
	GNN_TRY(gnn_room_take(&b->room[BACK_DST], b->entry_count, sizeof(uint32_t)));
	GNN_TRY(gnn_room_take(&b->room[BACK_ENTRY], b->entry_count, sizeof(uint32_t)));
	if (b->weight != NULL)
		GNN_TRY(gnn_room_take(&b->room[BACK_WEIGHT], b->entry_count, sizeof(float)));
	b->back_first = b->room[BACK_FIRST].data;
	b->back_dst = b->room[BACK_DST].data;
	b->back_entry = b->room[BACK_ENTRY].data;
	b->back_weight = b->weight != NULL ? b->room[BACK_WEIGHT].data : NULL;
	sort_entries(b);
out:
	return rc;
}

void gnn_block_fini(struct gnn_block *b)
{
	for (uint32_t i = 0; i < GNN_COUNT_OF(b->room); i++)
		gnn_room_fini(&b->room[i]);
}

/* The entries of v in list order, its own row in front of the first source past it. */
static void list_whole(struct gnn_block *b, const struct gnn_lists *l,
	const struct gnn_edge_rule *rule, gnn_vid v)
{
	uint64_t at = b->first[v];
	bool own = rule->own;

	for (gnn_eid e = l->first[v]; e < l->first[v + 1]; e++) {
		const gnn_vid u = gnn_lists_at(l, e);

		if (own && u >= v) {
			b->src[at++] = (uint32_t)v;
			own = false;
		}
		if (u != v || !rule->drop_loops)
			b->src[at++] = (uint32_t)u;
	}
	if (own)
		b->src[at++] = (uint32_t)v;
	GNN_DASSERT(at == b->first[v + 1]);
	for (at = b->first[v]; b->weight != NULL && at < b->first[v + 1]; at++) {
		if (rule->weighting == GNN_WEIGH_GCN)
			b->weight[at] = gnn_rule_norm(rule, l, b->src[at]) *
				gnn_rule_norm(rule, l, v);
		else if (rule->weighting == GNN_WEIGH_MEAN)
			b->weight[at] = 1.0f / (float)(b->first[v + 1] - b->first[v]);
		else
			b->weight[at] = 1.0f;
	}
}

int gnn_block_whole(struct gnn_block *b, const struct gnn_lists *l,
	const struct gnn_edge_rule *rule, uint32_t threads)
{
	uint64_t entries = 0;
	int rc;

	for (gnn_vid v = 0; v < l->vertices; v++)
		entries += gnn_rule_population(rule, l, v) + rule->own;
	GNN_TRY(gnn_block_size(b, l->vertices, entries, rule->weighting != GNN_WEIGH_NONE));
	b->src_count = l->vertices;
	b->first[0] = 0;
	for (gnn_vid v = 0; v < l->vertices; v++)
		b->first[v + 1] = b->first[v] + gnn_rule_population(rule, l, v) + rule->own;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 256)
	for (gnn_vid v = 0; v < l->vertices; v++)
		list_whole(b, l, rule, v);
out:
	return rc;
}
