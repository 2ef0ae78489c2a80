/* tier/image.c - see image.h. */
#include "tier/image.h"

#include "base/mem.h"

#include <string.h>

enum { ALIGN = 256, GROUP_BYTES = 96, ENTRY_BYTES = 8 };

uint64_t gnn_tier_image_bytes(uint64_t groups, uint64_t entries, uint64_t pinned)
{
	return groups * GROUP_BYTES + entries * ENTRY_BYTES + pinned * sizeof(struct gnn_move) +
		GNN_IMAGE_PARTS * ALIGN;
}

void gnn_tier_image_fini(struct gnn_tier_image *m)
{
	gnn_mem_free(m->bytes);
	*m = (struct gnn_tier_image){0};
}

struct part {
	const void *from;
	uint64_t    bytes;
};

/* In the order of the offsets. */
static void list_parts(const struct gnn_tier_program *p, struct part part[GNN_IMAGE_PARTS])
{
	uint64_t groups = p->group_count * sizeof(uint64_t);
	const struct part fixed[] = {{p->vertex, groups}, {p->slot, groups}, {p->carry, groups},
		{p->first, p->first_count * sizeof(*p->first)},
		{p->src, p->entry_count * sizeof(*p->src)},
		{p->weight, p->weighted ? p->entry_count * sizeof(*p->weight) : 0},
		{p->done.move, p->done.count * sizeof(struct gnn_move)}};

	_Static_assert(GNN_COUNT_OF(fixed) + GNN_MOVE_KINDS == GNN_IMAGE_PARTS, "all parts");
	memcpy(part, fixed, sizeof(fixed));
	for (uint32_t k = 0; k < GNN_MOVE_KINDS; k++)
		part[GNN_COUNT_OF(fixed) + k] = (struct part){p->moves[k].move,
			p->moves[k].count * sizeof(struct gnn_move)};
}

/* Room for `bytes`; what was there is lost. */
static int grow(struct gnn_tier_image *m, uint64_t bytes)
{
	void *block;
	int rc;

	gnn_mem_free(m->bytes);
	m->bytes = NULL;
	m->capacity = 0;
	bytes += bytes / 4;
	GNN_TRY(gnn_mem_pages(&block, bytes, GNN_MEM_IO));
	m->bytes = block;
	m->capacity = bytes;
out:
	return rc;
}

int gnn_tier_image_make(struct gnn_tier_image *m, const struct gnn_tier_program *p)
{
	struct part part[GNN_IMAGE_PARTS];
	uint64_t bytes = 0;
	int rc = GNN_OK;

	list_parts(p, part);
	for (uint32_t i = 0; i < GNN_IMAGE_PARTS; i++) {
		m->offset[i] = bytes;
		bytes += gnn_align_up(part[i].bytes, ALIGN);
	}
	if (bytes > m->capacity)
		GNN_TRY(grow(m, bytes));
	for (uint32_t i = 0; i < GNN_IMAGE_PARTS; i++)
		if (part[i].bytes > 0)
			memcpy(m->bytes + m->offset[i], part[i].from, part[i].bytes);
	m->used = bytes;
	m->weighted = p->weighted;
out:
	return rc;
}

struct gnn_tier_lists gnn_tier_lists_of(const struct gnn_tier_program *p)
{
	struct gnn_tier_lists l = {.vertex = p->vertex, .slot = p->slot, .carry = p->carry,
		.first = p->first, .src = p->src, .weight = p->weighted ? p->weight : NULL,
		.done = p->done.move};

	for (uint32_t k = 0; k < GNN_MOVE_KINDS; k++)
		l.moves[k] = p->moves[k].move;
	return l;
}

struct gnn_tier_lists gnn_tier_image_lists(const struct gnn_tier_image *m, const void *there)
{
	const void *part[GNN_IMAGE_PARTS];
	struct gnn_tier_lists l;

	for (uint32_t i = 0; i < GNN_IMAGE_PARTS; i++)
		part[i] = (const char *)there + m->offset[i];
	l = (struct gnn_tier_lists){.vertex = part[0], .slot = part[1], .carry = part[2],
		.first = part[3], .src = part[4], .weight = m->weighted ? part[5] : NULL,
		.done = part[6]};
	for (uint32_t k = 0; k < GNN_MOVE_KINDS; k++)
		l.moves[k] = part[GNN_IMAGE_PARTS - GNN_MOVE_KINDS + k];
	return l;
}

struct gnn_edge_batch gnn_tier_lists_batch(const struct gnn_tier_lists *l,
	const struct gnn_tier_program *p, uint64_t step)
{
	const struct gnn_tier_step *s = &p->step[step];
	struct gnn_edge_batch b = s->batch;

	b.vertex = l->vertex + s->group_begin_;
	b.slot = l->slot + s->group_begin_;
	b.carry = l->carry + s->group_begin_;
	b.first = l->first + s->first_begin_;
	b.src = l->src + s->entry_begin_;
	b.weight = l->weight != NULL ? l->weight + s->entry_begin_ : NULL;
	return b;
}
