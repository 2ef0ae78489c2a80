/* train/block.c - see block.h. */
#include "train/block.h"

#include "op/sample.h"

#include <omp.h>
#include <string.h>

enum { FIRST, SRC, WEIGHT, BACK_FIRST, BACK_DST, BACK_ENTRY, BACK_WEIGHT };

int gnn_block_size(struct gnn_block *b, struct gnn_backend *backend, uint64_t dst_count,
	uint64_t entry_count, bool weighted)
{
	int rc = GNN_OK;

	if (entry_count + dst_count >= GNN_NO_ROW || dst_count >= GNN_OWN_BIT)
		GNN_FAIL(GNN_ECONFIG, "a batch with %llu destinations and %llu edges in one layer "
			"is too large: give a smaller --batch-size or --fanout",
			(unsigned long long)dst_count, (unsigned long long)entry_count);
	GNN_TRY(gnn_room_take_on(&b->room[FIRST], backend, dst_count + 1, sizeof(uint64_t)));
	GNN_TRY(gnn_room_take_on(&b->room[SRC], backend, entry_count, sizeof(uint32_t)));
	if (weighted)
		GNN_TRY(gnn_room_take_on(&b->room[WEIGHT], backend, entry_count, sizeof(float)));
	b->dst_count = dst_count;
	b->entry_count = entry_count;
	b->first = b->room[FIRST].data;
	b->src = b->room[SRC].data;
	b->weight = weighted ? b->room[WEIGHT].data : NULL;
	b->back_first = NULL;
out:
	return rc;
}

void gnn_block_bare(struct gnn_block *b, uint64_t count)
{
	b->dst_count = b->src_count = count;
	b->entry_count = 0;
	b->first = b->back_first = NULL;
	b->src = NULL;
	b->weight = NULL;
}

int gnn_block_turn(struct gnn_block *b, struct gnn_backend *backend)
{
	const uint64_t entries = b->entry_count;
	int rc;

	GNN_TRY(gnn_room_take_on(&b->room[BACK_FIRST], backend, b->src_count + 1,
		sizeof(uint64_t)));
	GNN_TRY(gnn_room_take_on(&b->room[BACK_DST], backend, entries, sizeof(uint32_t)));
	GNN_TRY(gnn_room_take_on(&b->room[BACK_ENTRY], backend, entries, sizeof(uint32_t)));
	if (b->weight != NULL)
		GNN_TRY(gnn_room_take_on(&b->room[BACK_WEIGHT], backend, entries, sizeof(float)));
	b->back_first = b->room[BACK_FIRST].data;
	b->back_dst = b->room[BACK_DST].data;
	b->back_entry = b->room[BACK_ENTRY].data;
	b->back_weight = b->weight != NULL ? b->room[BACK_WEIGHT].data : NULL;
	GNN_TRY(backend->ops->sample->turn(backend, &(struct gnn_turn_args){.first = b->first,
		.src = b->src, .weight = b->weight, .dst_count = b->dst_count,
		.src_count = b->src_count, .entry_count = entries, .back_first = b->back_first,
		.back_dst = b->back_dst, .back_entry = b->back_entry,
		.back_weight = b->back_weight}));
out:
	return rc;
}

void gnn_block_fini(struct gnn_block *b)
{
	for (uint32_t i = 0; i < GNN_COUNT_OF(b->room); i++)
		gnn_room_fini(&b->room[i]);
}

static void put(struct gnn_block *b, uint64_t *at, gnn_vid u, float weight)
{
	if (b->weight != NULL)
		b->weight[*at] = weight;
	b->src[(*at)++] = (uint32_t)u;
}

/* The entries of v in list order, its own row in front of the first source past it. */
static void list_whole(struct gnn_block *b, const struct gnn_lists *l,
	const struct gnn_edge_rule *rule, gnn_vid v)
{
	const bool weighted = l->weight != NULL;
	uint64_t at = b->first[v];
	bool own = rule->own;

	for (gnn_eid e = l->first[v]; e < l->first[v + 1]; e++) {
		const gnn_vid u = gnn_lists_at(l, e);

		if (own && u >= v) {
			put(b, &at, v, weighted ? l->own[v] : 1.0f);
			own = false;
		}
		if (u != v || !rule->drop_loops)
			put(b, &at, u, weighted ? l->weight[e] : 1.0f);
	}
	if (own)
		put(b, &at, v, weighted ? l->own[v] : 1.0f);
	GNN_DASSERT(at == b->first[v + 1]);
	for (at = b->first[v]; b->weight != NULL && at < b->first[v + 1]; at++) {
		if (rule->weighting == GNN_WEIGH_GCN)
			b->weight[at] *= gnn_rule_norm(rule, l, b->src[at]) *
				gnn_rule_norm(rule, l, v);
		else if (rule->weighting == GNN_WEIGH_MEAN)
			b->weight[at] = 1.0f / (float)(b->first[v + 1] - b->first[v]);
	}
}

int gnn_block_whole(struct gnn_block *b, const struct gnn_lists *l,
	const struct gnn_edge_rule *rule, uint32_t threads)
{
	uint64_t entries = 0;
	int rc;

	for (gnn_vid v = 0; v < l->vertices; v++)
		entries += gnn_rule_population(rule, l, v) + rule->own;
	GNN_TRY(gnn_block_size(b, NULL, l->vertices, entries, rule->weighting != GNN_WEIGH_NONE));
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
