/*
 * io/builder_memory.h - how a builder shares out the memory that it is given.
 *
 * Flow     builder -> [builder_memory] -> sizes of its modules
 * Owns     nothing
 * Lends    nothing
 * Thread   any thread; no state
 * Fails    check: GNN_EOS; sharing out never: less than the smallest is taken as the smallest
 */
#ifndef GNN_IO_BUILDER_MEMORY_H
#define GNN_IO_BUILDER_MEMORY_H

#include "base/decl.h"

/* With less than this to the whole program a merge of many runs may find no memory. */
enum { GNN_BUILDER_HOST_MIN = 12 << 20 };

struct gnn_builder_memory {
	uint64_t ids;      /* their bitmap */
	uint64_t work;     /* batches; when they are done merges and array writers */
	uint64_t writers;  /* of that, array writers at most */
	uint64_t writer;   /* of that, one */
	uint64_t resident; /* sorted runs, which then need no disk; or all edges */
	uint64_t piece;    /* of a run */
};

GNN_BEGIN_DECLS

/* Refuses what is too little for any graph, before there is any work. `what` is doing it. */
int  gnn_builder_check_memory(uint64_t host_bytes, const char *what);

struct gnn_builder_memory gnn_builder_memory(uint64_t bytes, uint32_t threads, bool weighted);

GNN_END_DECLS

#endif
