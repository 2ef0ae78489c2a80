/*
 * io/builder_memory.h - how a builder shares out the memory that it is given.
 *
 * Flow     builder -> [builder_memory] -> sizes of its modules
 * Owns     nothing
 * Lends    nothing
 * Thread   any thread; no state
 * Fails    never: less than the smallest is taken as the smallest
 */
#ifndef GNN_IO_BUILDER_MEMORY_H
#define GNN_IO_BUILDER_MEMORY_H

#include "base/decl.h"

struct gnn_builder_memory {
	uint64_t ids;      /* their bitmap */
	uint64_t work;     /* batches; when they are done merges and array writers */
	uint64_t writers;  /* of that, array writers at most */
	uint64_t writer;   /* of that, one */
	uint64_t resident; /* sorted runs, which then need no disk; or all edges */
	uint64_t piece;    /* of a run */
};

GNN_BEGIN_DECLS

struct gnn_builder_memory gnn_builder_memory(uint64_t bytes, uint32_t threads, bool weighted);

GNN_END_DECLS

#endif
