/* io/chunks.c - see chunks.h. */
#include "io/chunks.h"

#include "base/mem.h"

#include <pthread.h>

struct gnn_chunks {
	uint64_t chunk_bytes, slab_bytes;
	pthread_mutex_t lock; /* guards all below */
	struct gnn_chunk_list idle;
	uint8_t *fresh;       /* of the newest slab, what was never lent */
	uint64_t fresh_count; /* chunks */
	void **slab;
	uint32_t slabs, room;
};

int gnn_chunks_create(struct gnn_chunks **out, uint64_t chunk_bytes, uint64_t slab_bytes)
{
	struct gnn_chunks *c = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_ASSERT(chunk_bytes >= GNN_CHUNK_BYTES_MIN && chunk_bytes <= GNN_CHUNK_BYTES_MAX &&
		(chunk_bytes & (chunk_bytes - 1)) == 0 && slab_bytes >= chunk_bytes);
	GNN_NEW(c, GNN_MEM_SORT);
	pthread_mutex_init(&c->lock, NULL);
	c->chunk_bytes = chunk_bytes;
	c->slab_bytes = gnn_align_down(slab_bytes, chunk_bytes);
	*out = c;
out:
	return rc;
}

uint64_t gnn_chunks_bytes(const struct gnn_chunks *c)
{
	return c->chunk_bytes;
}

/* Locked. */
static int new_slab(struct gnn_chunks *c)
{
	void *slab, *list = c->slab;
	int rc = GNN_OK;

	if (c->slabs == c->room) {
		GNN_TRY(gnn_mem_resize(&list, 2 * c->room + 16, sizeof(*c->slab), GNN_MEM_SORT));
		c->slab = list;
		c->room = 2 * c->room + 16;
	}
	GNN_TRY(gnn_mem_pages(&slab, c->slab_bytes, GNN_MEM_SORT));
	c->slab[c->slabs++] = slab;
	c->fresh = slab;
	c->fresh_count = c->slab_bytes / c->chunk_bytes;
out:
	return rc;
}

int gnn_chunks_fill(struct gnn_chunks *c, struct gnn_chunk_list *list, uint64_t count)
{
	int rc = GNN_OK;

	if (list->count >= count)
		return GNN_OK;
	pthread_mutex_lock(&c->lock);
	while (list->count < count) {
		if (c->idle.count > 0) {
			gnn_chunk_put(list, gnn_chunk_take(&c->idle));
			continue;
		}
		if (c->fresh_count == 0)
			GNN_TRY(new_slab(c));
		gnn_chunk_put(list, (struct gnn_chunk *)c->fresh);
		c->fresh += c->chunk_bytes;
		c->fresh_count--;
	}
out:
	pthread_mutex_unlock(&c->lock);
	return rc;
}

void gnn_chunks_give(struct gnn_chunks *c, struct gnn_chunk_list *list)
{
	pthread_mutex_lock(&c->lock);
	while (list->count > 0)
		gnn_chunk_put(&c->idle, gnn_chunk_take(list));
	pthread_mutex_unlock(&c->lock);
}

void gnn_chunks_destroy(struct gnn_chunks *c)
{
	if (c == NULL)
		return;
	for (uint32_t i = 0; i < c->slabs; i++)
		gnn_mem_free(c->slab[i]);
	gnn_mem_free(c->slab);
	pthread_mutex_destroy(&c->lock);
	gnn_mem_free(c);
}
