/*
 * op/draw.h - which in-edges of a vertex are used: a rule that either end of an edge can apply.
 *
 * Flow     sampling (thresholds) -> [draw] -> grouping on the CPU and on the GPU
 * Owns     nothing; plain data with borrowed arrays
 * Lends    nothing
 * Thread   pure functions
 * Fails    never
 *
 * The sample of v is the `fanout` in-edges with the smallest hash(key, v, u, copy), ids being those
 * of the import, copies of one edge numbered in the order of its list. The hash of a destination is
 * a bijection of (u, copy): no two in-edges of a vertex have the same.
 */
#ifndef GNN_OP_DRAW_H
#define GNN_OP_DRAW_H

#include "base/rng.h"

enum { GNN_DRAW_STREAM = 0x5a3b1e }; /* of gnn_rng_u64: no other draws are the same */

struct gnn_draw {
	uint64_t        fanout;    /* in-edges of a vertex at most; 0: all, the rest is not read */
	uint64_t        key;       /* of seed, stream and layer */
	uint32_t        id_bits;   /* of a vertex id; copy numbers stand above */
	bool            scaled;    /* a kept entry is weighted with population / sample */
	const uint64_t *threshold; /* (V) the largest hash that is kept */
	const uint64_t *original;  /* (V) id in import order, or NULL: the id itself */
	/* Of the vertices of this rank, its first at 0: */
	const uint32_t *in;        /* listed in-edges */
	const uint32_t *loops;     /* listed self-loops, which are no messages; NULL: none */
};

static inline uint64_t gnn_draw_key(uint64_t seed, uint32_t layer)
{
	return gnn_rng_u64(seed, GNN_DRAW_STREAM, layer);
}

/* What copy `copy` of an edge from u brings to the hash. */
GNN_HOST_DEVICE static inline uint64_t gnn_draw_source(const struct gnn_draw *s, gnn_vid u,
	uint64_t copy)
{
	uint64_t id = s->original != NULL ? s->original[u] : u;

	return gnn_mix64((copy << s->id_bits | id) + 0x9e3779b97f4a7c15u);
}

/* What the destination brings. */
GNN_HOST_DEVICE static inline uint64_t gnn_draw_target(const struct gnn_draw *s, gnn_vid v)
{
	uint64_t id = s->original != NULL ? s->original[v] : v;

	return gnn_mix64(s->key + id * 0x9e3779b97f4a7c15u);
}

GNN_HOST_DEVICE static inline uint64_t gnn_draw_hash(uint64_t source, uint64_t target)
{
	return gnn_mix64(source ^ target);
}

GNN_HOST_DEVICE static inline bool gnn_draw_keeps(const struct gnn_draw *s, uint64_t source,
	gnn_vid v)
{
	return gnn_draw_hash(source, gnn_draw_target(s, v)) <= s->threshold[v];
}

/* In-edges that are drawn from. */
GNN_HOST_DEVICE static inline uint64_t gnn_draw_population(const struct gnn_draw *s, gnn_vid v)
{
	return s->in[v] - (s->loops != NULL ? s->loops[v] : 0);
}

/* population / sample: the weight of what was drawn in a sum. */
GNN_HOST_DEVICE static inline float gnn_draw_scale(const struct gnn_draw *s, gnn_vid v)
{
	uint64_t population = gnn_draw_population(s, v);

	return population > s->fanout ? (float)((double)population / (double)s->fanout) : 1.0f;
}

#endif
