/* A generated store, for tests whose other headers do not go with those of io's builder. */
#ifndef GNN_TESTS_UNIT_SMALL_STORE_H
#define GNN_TESTS_UNIT_SMALL_STORE_H

#include "base/err.h"

GNN_BEGIN_DECLS

int make_small_store(const char *path, uint64_t vertices, uint64_t edges, uint64_t dim,
	uint64_t classes);

GNN_END_DECLS

#endif
