/*
 * io/chunks.h - memory in small pieces of one size, which lists of unknown length take and give.
 *
 * Flow     bucketset -> [chunks]
 * Owns     slabs, of whole huge pages where there is room for such
 * Lends    chunks, until given back or destroy
 * Thread   any thread
 * Fails    GNN_EOS
 */
#ifndef GNN_IO_CHUNKS_H
#define GNN_IO_CHUNKS_H

#include "base/decl.h"

enum {
	GNN_CHUNK_HEAD_BYTES = 64, /* of every chunk; a line of the cache */
	GNN_CHUNK_BYTES_MIN = 256,
	GNN_CHUNK_BYTES_MAX = 4096,
};

struct gnn_chunk {
	struct gnn_chunk *next;
};

/* Chunks that nobody uses, linked. */
struct gnn_chunk_list {
	struct gnn_chunk *first;
	uint64_t count;
};

struct gnn_chunks;

GNN_BEGIN_DECLS

/* A chunk begins at a multiple of `chunk_bytes`, a power of two. */
int  gnn_chunks_create (struct gnn_chunks **out, uint64_t chunk_bytes, uint64_t slab_bytes);
uint64_t gnn_chunks_bytes(const struct gnn_chunks *c); /* of one */
/* Makes the list at least so long. */
int  gnn_chunks_fill   (struct gnn_chunks *c, struct gnn_chunk_list *list, uint64_t count);
void gnn_chunks_give   (struct gnn_chunks *c, struct gnn_chunk_list *list); /* empties it */
void gnn_chunks_destroy(struct gnn_chunks *c); /* with all chunks; NULL is fine */

static inline void gnn_chunk_put(struct gnn_chunk_list *list, struct gnn_chunk *chunk)
{
	chunk->next = list->first;
	list->first = chunk;
	list->count++;
}

static inline struct gnn_chunk *gnn_chunk_take(struct gnn_chunk_list *list)
{
	struct gnn_chunk *chunk = list->first;

	list->first = chunk->next;
	list->count--;
	return chunk;
}

GNN_END_DECLS

#endif
