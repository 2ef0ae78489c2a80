/*
 * tier/control_parts.h - the state machine from the inside.
 *
 * Flow     control_create, control_step -> [control_parts]
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller
 * Fails    never
 */
#ifndef GNN_TIER_CONTROL_PARTS_H
#define GNN_TIER_CONTROL_PARTS_H

#include "tier/control.h"

/*
 * Places count the slots of the top store, then those of the host store, then the records of the
 * spill.
 */
#define GNN_PLACE_NOT_STARTED UINT32_MAX
#define GNN_PLACE_COMPLETED   (UINT32_MAX - 1)

struct gnn_vertex_state {
	uint32_t left;  /* messages to come */
	uint32_t place; /* of its row */
};

/* The slots of one store. */
struct gnn_slots {
	uint32_t  base;  /* place of slot 0 */
	uint32_t  count;
	uint32_t  free_count;
	uint32_t *free;  /* (count) a stack */
	gnn_vid  *owner; /* (count) */
	uint32_t *mate;  /* (count) slot of the carry, or GNN_SLOT_NONE */
	uint32_t *since; /* (count) step in which the row came */
	uint32_t *next;  /* (count) source it waits for, without in-lists */
	struct gnn_evict evict;
};

struct gnn_control {
	struct gnn_control_opts  o;
	struct gnn_vertex_state *state; /* (V) */
	struct gnn_slots         top, host;
	struct gnn_pages         pages;
	uint32_t                 spill_base;   /* place of record 0 */
	uint32_t                 epochs_each;  /* epochs that share a stream */
	uint32_t                 pinned_slots; /* in use by rows that never leave */
	uint8_t                 *pinned;       /* (top slots) such a row is here */
	uint32_t                 step;         /* counts steps */
	gnn_vid                  own_end;      /* own rows below have come */
	bool                     begun;
	uint32_t                *miss;         /* groups of the item whose row is not in the top */
	uint32_t                *hit;
	uint64_t                 list_capacity;
	uint64_t                 miss_count, hit_count;
	uint8_t                 *times;        /* (V) reloaded so far; NULL: not counted */
	uint32_t                *leaving;      /* (top slots) victims of a step */
	const uint32_t          *next;         /* of the groups of the step */
	struct gnn_control_stats stats;
};

static inline uint64_t gnn_control_messages(const struct gnn_control *c, gnn_vid v)
{
	uint64_t loops = c->o.drop_loops && c->o.loops != NULL ? c->o.loops[v] : 0;
	uint64_t edges = c->o.in[v] - loops;

	return c->o.fanout != 0 ? gnn_min_u64(edges, c->o.fanout) : edges;
}

static inline uint32_t gnn_control_rows(const struct gnn_control *c, gnn_vid v)
{
	return c->o.carry && c->o.in[v] >= GNN_HUB_DEGREE ? 2 : 1;
}

/* The epoch in which v is used next: its next message or its own row, whichever is earlier. */
uint64_t gnn_control_next_epoch(const struct gnn_control *c, gnn_vid v);
/* The same of a row without a slot, that waits for this source. */
uint64_t gnn_control_epoch_of(const struct gnn_control *c, gnn_vid v, gnn_vid next);

#endif
