/*
 * io/hash.h - XXH3-64 of many bytes, by the widest vectors that the machine has.
 *
 * Flow     included by what reads and writes bulk data
 * Owns     nothing
 * Lends    nothing
 * Thread   any thread; a state has one user
 * Fails    never
 *
 * The library alone is compiled for the plain machine. A state is begun and ended by its own
 * functions.
 */
#ifndef GNN_IO_HASH_H
#define GNN_IO_HASH_H

#include "base/decl.h"

#define XXH_STATIC_LINKING_ONLY /* the state of a hash in place */
#include <xxhash.h>

GNN_BEGIN_DECLS

uint64_t gnn_hash   (const void *from, uint64_t bytes); /* seed 0 */
void gnn_hash_update(XXH3_state_t *hash, const void *from, uint64_t bytes);

GNN_END_DECLS

#endif
