/*
 * io/lanesort.h - sorts keys of 4 or 8 bytes without weights in the lanes of wide registers.
 *
 * Flow     buckets -> [lanesort] -> sorted keys
 * Owns     nothing
 * Lends    nothing
 * Thread   any thread; no state
 * Fails    never: callers bring memory
 *
 * Keys are split by one bit after the other, from the highest: the lanes without it are pressed
 * together and go to one side, those with it to the other. A few registers full of keys are sorted
 * by a bitonic network. So nothing is counted, and no key goes to a place that its digit says,
 * which costs a miss of the first-level cache for nearly every key of a bucket.
 */
#ifndef GNN_IO_LANESORT_H
#define GNN_IO_LANESORT_H

#include "base/decl.h"

/* Sorts `count` keys of at most `bits` bits; the result is in `key`. Both have room for `count`. */
typedef void (*gnn_lanesort_fn)(void *key, void *spare, uint64_t count, uint32_t bits);

GNN_BEGIN_DECLS

/* For keys of so many bytes; NULL: this machine has no such registers, or there is none for them.
 */
gnn_lanesort_fn gnn_lanesort(uint32_t key_bytes);

GNN_END_DECLS

#endif
