/* tier/tier_program.c - see tier_program.h. */
#include "tier/tier_program.h"

#include "base/mem.h"

#include <string.h>

/* Grows an array so that `count` items fit. */
static int grow(void **array, uint64_t *capacity, uint64_t count, uint64_t item_bytes)
{
	uint64_t wanted = gnn_max_u64(count, gnn_max_u64(*capacity + *capacity / 2, 64));
	int rc;

	if (count <= *capacity)
		return GNN_OK;
	rc = gnn_mem_resize(array, wanted, item_bytes, GNN_MEM_TOPOLOGY);
	if (rc == GNN_OK)
		*capacity = wanted;
	return rc;
}

/* The same for one of several arrays that share a capacity, which the last one updates. */
#define GROW(array, capacity, count)                                                  \
	do {                                                                          \
		void *block_ = (array);                                               \
		rc = grow(&block_, &(capacity), (count), sizeof(*(array)));           \
		(array) = block_;                                                     \
		if (rc < 0)                                                           \
			goto out;                                                     \
	} while (0)

void gnn_tier_program_fini(struct gnn_tier_program *p)
{
	for (int k = 0; k < GNN_MOVE_KINDS; k++)
		gnn_mem_free(p->moves[k].move);
	gnn_mem_free(p->step);
	gnn_mem_free(p->full.page);
	gnn_mem_free(p->done.move);
	gnn_mem_free(p->vertex);
	gnn_mem_free(p->slot);
	gnn_mem_free(p->carry);
	gnn_mem_free(p->first);
	gnn_mem_free(p->src);
	gnn_mem_free(p->weight);
	*p = (struct gnn_tier_program){0};
}

void gnn_tier_program_clear(struct gnn_tier_program *p, uint64_t epoch)
{
	p->epoch = epoch;
	p->step_count = 0;
	for (int k = 0; k < GNN_MOVE_KINDS; k++)
		p->moves[k].count = 0;
	p->full.count = 0;
	p->done.count = 0;
	p->group_count = 0;
	p->first_count = 0;
	p->entry_count = 0;
}

static int add_move(struct gnn_move_list *l, uint64_t from, uint64_t to)
{
	int rc = GNN_OK;

	GROW(l->move, l->capacity, l->count + 1);
	l->move[l->count++] = (struct gnn_move){.from = (uint32_t)from, .to = (uint32_t)to};
out:
	return rc;
}

int gnn_tier_program_move(struct gnn_tier_program *p, enum gnn_move_kind kind, uint64_t from,
	uint64_t to)
{
	return add_move(&p->moves[kind], from, to);
}

int gnn_tier_program_full(struct gnn_tier_program *p, uint32_t page)
{
	int rc = GNN_OK;

	GROW(p->full.page, p->full.capacity, p->full.count + 1);
	p->full.page[p->full.count++] = page;
out:
	return rc;
}

int gnn_tier_program_done(struct gnn_tier_program *p, gnn_vid v, uint32_t slot)
{
	return add_move(&p->done, slot, v);
}

int gnn_tier_program_reserve(struct gnn_tier_program *p, uint64_t groups, uint64_t entries,
	bool weighted)
{
	uint64_t capacity[3] = {p->group_capacity, p->group_capacity, p->group_capacity};
	uint64_t src_capacity = p->entry_capacity, weight_capacity = p->entry_capacity;
	int rc = GNN_OK;

	groups += p->group_count;
	GROW(p->vertex, capacity[0], groups);
	GROW(p->slot, capacity[1], groups);
	GROW(p->carry, capacity[2], groups);
	p->group_capacity = capacity[0];
	GROW(p->first, p->first_capacity, p->first_count + groups - p->group_count + 1);
	if (weighted && p->weight == NULL)
		weight_capacity = 0;
	if (weighted)
		GROW(p->weight, weight_capacity, gnn_max_u64(p->entry_count + entries,
			src_capacity));
	GROW(p->src, src_capacity, p->entry_count + entries);
	p->weighted = weighted;
	p->entry_capacity = weighted ? gnn_min_u64(src_capacity, weight_capacity) : src_capacity;
	GROW(p->step, p->step_capacity, p->step_count + 1);
out:
	return rc;
}

struct gnn_tier_step *gnn_tier_program_begin(struct gnn_tier_program *p)
{
	struct gnn_tier_step *s = &p->step[p->step_count++];

	GNN_ASSERT(p->step_count <= p->step_capacity);
	*s = (struct gnn_tier_step){.group_begin_ = p->group_count,
		.entry_begin_ = p->entry_count, .first_begin_ = p->first_count};
	return s;
}

void gnn_tier_program_group(struct gnn_tier_program *p, const struct gnn_edge_batch *b,
	uint64_t i, uint32_t slot, uint32_t carry, bool strip)
{
	const struct gnn_tier_step *s = &p->step[p->step_count - 1];
	uint64_t g = p->group_count++, count = b->first[i + 1] - b->first[i];
	const uint32_t *from = b->src + b->first[i];
	const float *weight = p->weighted ? b->weight + b->first[i] : NULL;
	uint64_t to = p->entry_count;

	GNN_DASSERT(g < p->group_capacity);
	p->vertex[g] = b->vertex[i];
	p->slot[g] = slot;
	p->carry[g] = carry == UINT32_MAX ? GNN_NO_CARRY : carry;
	p->first[p->first_count++] = p->entry_count - s->entry_begin_;
	if (!strip) {
		memcpy(p->src + to, from, count * sizeof(*from));
		if (weight != NULL)
			memcpy(p->weight + to, weight, count * sizeof(*weight));
		p->entry_count += count;
		return;
	}
	for (uint64_t e = 0; e < count; e++) {
		p->src[to] = from[e];
		if (weight != NULL)
			p->weight[to] = weight[e];
		to += (from[e] & GNN_OWN_BIT) == 0;
	}
	p->entry_count = to;
	if (p->entry_count - s->entry_begin_ == p->first[p->first_count - 1]) {
		p->first_count--; /* the own row was all */
		p->group_count--;
	}
}

void gnn_tier_program_end(struct gnn_tier_program *p)
{
	struct gnn_tier_step *s = &p->step[p->step_count - 1];

	p->first[p->first_count++] = p->entry_count - s->entry_begin_;
	s->batch.group_count = p->group_count - s->group_begin_;
	s->batch.entry_count = p->entry_count - s->entry_begin_;
	for (int k = 0; k < GNN_MOVE_KINDS; k++)
		s->move_end[k] = p->moves[k].count;
	s->full_end = p->full.count;
	s->done_end = p->done.count;
}

void gnn_tier_program_seal(struct gnn_tier_program *p)
{
	for (uint64_t i = 0; i < p->step_count; i++) {
		struct gnn_tier_step *s = &p->step[i];

		s->batch.vertex = p->vertex + s->group_begin_;
		s->batch.slot = p->slot + s->group_begin_;
		s->batch.carry = p->carry + s->group_begin_;
		s->batch.first = p->first + s->first_begin_;
		s->batch.src = p->src + s->entry_begin_;
		s->batch.weight = p->weighted ? p->weight + s->entry_begin_ : NULL;
	}
}
