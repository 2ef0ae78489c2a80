/* io/hash.c - see hash.h. GNN_HASH_DISPATCH: the library can choose, by other names. */
#include "io/hash.h"

#ifdef GNN_HASH_DISPATCH
#include <xxh_x86dispatch.h>
#endif

uint64_t gnn_hash(const void *from, uint64_t bytes)
{
	return XXH3_64bits(from, bytes);
}

void gnn_hash_update(XXH3_state_t *hash, const void *from, uint64_t bytes)
{
	XXH3_64bits_update(hash, from, bytes);
}
