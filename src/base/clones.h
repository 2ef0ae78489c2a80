/*
 * base/clones.h - functions that are compiled for more than one kind of processor.
 *
 * Flow     included by loops over bulk data
 * Owns     nothing
 * Lends    nothing
 * Thread   any thread
 * Fails    never
 *
 * A function marked so is compiled twice, for AVX2 with FMA and for the plain target, and the
 * loader picks. Both give the same bits: no contraction, fmaf is exact in either. Helpers must be
 * inlined into it, or they would be compiled for the plain target only.
 */
#ifndef GNN_BASE_CLONES_H
#define GNN_BASE_CLONES_H

#if defined(__x86_64__)
#define GNN_CPU_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define GNN_CPU_CLONES
#endif
#define GNN_CPU_INLINE static inline __attribute__((always_inline))

#endif
