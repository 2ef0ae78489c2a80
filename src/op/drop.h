/*
 * op/drop.h - which elements dropout keeps: a function of seed, step, layer, vertex and column.
 *
 * Flow     train -> [drop] -> cpu/, a GPU's twins
 * Owns     nothing
 * Lends    nothing
 * Thread   pure functions
 * Fails    never
 *
 * A row's 64-bit key comes from base/rng.h, its columns from two rounds of a 32-bit mixer that
 * vectorises. Nothing is stored: backward draws the same again.
 */
#ifndef GNN_OP_DROP_H
#define GNN_OP_DROP_H

#include "base/decl.h"

struct gnn_drop {
	uint64_t seed, stream; /* the stream names step and layer */
	uint32_t below;        /* dropped where the draw is below; 0: nothing is */
	float    scale;        /* 1 / (1 - p) of what is kept */
};

/* p in [0, 1). */
GNN_HOST_DEVICE static inline struct gnn_drop gnn_drop_of(double p, uint64_t seed, uint64_t stream)
{
	struct gnn_drop d;

	d.seed = seed;
	d.stream = stream;
	d.below = (uint32_t)(p * 0x1p32);
	d.scale = (float)(1.0 / (1.0 - p));
	return d;
}

GNN_HOST_DEVICE static inline uint32_t gnn_drop_mix(uint32_t x)
{
	x ^= x >> 16;
	x *= UINT32_C(0x7feb352d);
	x ^= x >> 15;
	x *= UINT32_C(0x846ca68b);
	return x ^ (x >> 16);
}

/* The draw of a column; `key` is gnn_rng_u64(seed, stream, id of the row). */
GNN_HOST_DEVICE static inline uint32_t gnn_drop_draw(uint64_t key, uint32_t column)
{
	return gnn_drop_mix(gnn_drop_mix(column ^ (uint32_t)key) + (uint32_t)(key >> 32));
}

#endif
