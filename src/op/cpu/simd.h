/*
 * op/cpu/simd.h - eight or sixteen floats at a time in plain C, for sums that stay in registers.
 *
 * Flow     dense, aggregate -> [simd]
 * Owns     nothing
 * Lends    nothing
 * Thread   pure functions
 * Fails    never
 *
 * gcc keeps an array of gnn_f8 in registers when all loops over it are unrolled (#pragma GCC
 * unroll), and turns eight fmaf into one instruction in the clones that have it.
 */
#ifndef GNN_OP_CPU_SIMD_H
#define GNN_OP_CPU_SIMD_H

#include "op/cpu/cpu.h"

#include <math.h>
#include <string.h>

enum { GNN_LANES = 8 };

typedef float   gnn_f8 __attribute__((vector_size(32)));
typedef float   gnn_f16 __attribute__((vector_size(64)));
typedef int32_t gnn_i8 __attribute__((vector_size(32)));

GNN_CPU_INLINE void gnn_f8_load(gnn_f8 *to, const float *from)
{
	memcpy(to, from, sizeof(*to));
}

GNN_CPU_INLINE void gnn_f8_store(float *to, const gnn_f8 *from)
{
	memcpy(to, from, sizeof(*from));
}

/* y = fmaf(w, x, s) per lane. */
GNN_CPU_INLINE void gnn_f8_fma(gnn_f8 *y, float w, const gnn_f8 *x, const gnn_f8 *s)
{
	float lane[GNN_LANES], by[GNN_LANES];

	memcpy(lane, s, sizeof(lane));
	memcpy(by, x, sizeof(by));
	for (int i = 0; i < GNN_LANES; i++)
		lane[i] = fmaf(w, by[i], lane[i]);
	memcpy(y, lane, sizeof(lane));
}

GNN_CPU_INLINE void gnn_f16_load(gnn_f16 *to, const float *from)
{
	memcpy(to, from, sizeof(*to));
}

GNN_CPU_INLINE void gnn_f16_store(float *to, const gnn_f16 *from)
{
	memcpy(to, from, sizeof(*from));
}

GNN_CPU_INLINE void gnn_f16_fma(gnn_f16 *y, float w, const gnn_f16 *x, const gnn_f16 *s)
{
	float lane[2 * GNN_LANES], by[2 * GNN_LANES];

	memcpy(lane, s, sizeof(lane));
	memcpy(by, x, sizeof(by));
	for (int i = 0; i < 2 * GNN_LANES; i++)
		lane[i] = fmaf(w, by[i], lane[i]);
	memcpy(y, lane, sizeof(lane));
}

#endif
