/*
 * base/hardware.h - what the cores that the process may use are made of: packages, nodes, caches.
 *
 * Flow     hwloc -> [hardware] -> doctor
 * Owns     nothing
 * Lends    nothing
 * Thread   any thread; no state
 * Fails    never: what cannot be found out is 0
 */
#ifndef GNN_BASE_HARDWARE_H
#define GNN_BASE_HARDWARE_H

#include "base/decl.h"

enum { GNN_CACHE_LEVELS = 3, GNN_CPU_MODEL_BYTES = 96 };

struct gnn_cache {
	uint64_t bytes; /* of the largest of its level; data or unified */
	uint32_t count;
};

struct gnn_hardware {
	char     model[GNN_CPU_MODEL_BYTES]; /* "" when it is not said */
	uint32_t packages, cores, threads;   /* threads: of the hardware */
	uint32_t numa_nodes;
	struct gnn_cache cache[GNN_CACHE_LEVELS]; /* level 1 first */
};

GNN_BEGIN_DECLS

void gnn_hardware_look(struct gnn_hardware *h);

GNN_END_DECLS

#endif
