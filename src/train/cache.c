/* train/cache.c - see cache.h. */
#include "train/cache.h"

#include "base/log.h"
#include "base/mem.h"
#include "op/grad.h"
#include "train/collect.h"

#include <string.h>

enum { STRIP_BYTES = 16 << 20 };

_Static_assert(GNN_NO_PLACE == GNN_NOT_HOT, "places of the hot are places in the cache");

/* Rows on their way to the device, strip by strip. */
struct filling {
	struct gnn_cache   *cache;
	const struct gnn_train_source *source;
	struct gnn_collect  collect; /* of rows that are not in memory */
	struct gnn_room     rows;
	uint64_t            row_bytes;
};

static int read_strip(struct filling *f, const gnn_vid *id, uint64_t count)
{
	const char *table = f->source->table;
	char *to = f->rows.data;

	if (table == NULL)
		return gnn_collect_features(&f->collect, id, count, f->rows.data);
	for (uint64_t i = 0; i < count; i++)
		memcpy(to + i * f->row_bytes, table + id[i] * f->row_bytes, f->row_bytes);
	return GNN_OK;
}

static int send_strip(struct filling *f, const gnn_vid *id, uint64_t count, uint64_t first)
{
	struct gnn_backend *b = f->cache->device;
	const uint64_t bytes = count * f->row_bytes;
	int rc;

	GNN_TRY(read_strip(f, id, count));
	GNN_TRY(b->ops->copy(b, (char *)f->cache->rows + first * f->row_bytes, bytes,
		f->rows.data, bytes, bytes, 1));
	GNN_TRY(b->ops->sync(b));
out:
	return rc;
}

static int send_rows(struct filling *f)
{
	const struct gnn_hot *hot = f->cache->hot;
	const uint64_t most = gnn_max_u64(STRIP_BYTES / f->row_bytes, 1);
	uint64_t count;
	int rc;

	GNN_TRY(gnn_room_take(&f->rows, most, f->row_bytes));
	for (uint64_t at = 0; at < hot->count; at += count) {
		count = gnn_min_u64(most, hot->count - at);
		GNN_TRY(send_strip(f, hot->id + at, count, at));
	}
	rc = GNN_OK;
out:
	return rc;
}

static int fill(struct gnn_cache *c, const struct gnn_cache_opts *o)
{
	struct filling f = {.cache = c, .source = o->batches->source};
	const uint64_t vertices = f.source->store->vertices, bytes = vertices * sizeof(uint32_t);
	struct gnn_backend *b = o->device;
	int rc;

	f.row_bytes = (uint64_t)f.source->dim * gnn_dtype_bytes(c->dtype);
	GNN_TRY(b->ops->alloc(b, &c->there, gnn_max_u64(bytes, 1)));
	GNN_TRY(b->ops->alloc(b, &c->rows, gnn_max_u64(c->count * f.row_bytes, 1)));
	GNN_TRY(b->ops->copy(b, c->there, bytes, c->hot->place, bytes, bytes, 1));
	GNN_TRY(b->ops->sync(b));
	c->place = c->there;
	if (f.source->table == NULL)
		GNN_TRY(gnn_collect_init(&f.collect, f.source, b, o->batches->threads));
	GNN_TRY(send_rows(&f));
out:
	gnn_collect_fini(&f.collect);
	gnn_room_fini(&f.rows);
	return rc;
}

/* The ratio that fits into half of what the device has free. */
static int fit(const struct gnn_cache_opts *o, enum gnn_dtype dtype, double *ratio)
{
	const struct gnn_train_source *s = o->batches->source;
	const uint64_t vertices = s->store->vertices;
	const uint64_t row = gnn_max_u64((uint64_t)s->dim * gnn_dtype_bytes(dtype), 1);
	const uint64_t places = vertices * sizeof(uint32_t);
	const uint64_t room = o->device->ops->room_bytes(o->device) / 2;
	const uint64_t most = room < places ? 0 : (room - places) / row;

	*ratio = o->ratio;
	if (most == 0)
		return gnn_err(GNN_ECONFIG, "--cache-ratio: %.1f MiB of device memory may be "
			"taken, and the places of %llu vertices and one row take %.1f: give more "
			"--gpu-memory, or leave it out", (double)room / 0x1p20,
			(unsigned long long)vertices, (double)(places + row) / 0x1p20);
	if (o->ratio * (double)vertices > (double)most) {
		*ratio = (double)most / (double)vertices;
		gnn_log(GNN_LOG_WARN, "train", "half of the free device memory caches %.3f of the "
			"vertices, less than --cache-ratio", *ratio);
	}
	return GNN_OK;
}

int gnn_cache_open(struct gnn_cache **out, const struct gnn_cache_opts *o)
{
	const struct gnn_train_source *s = o->batches->source;
	struct gnn_hot_opts hot = {.policy = o->policy, .batches = o->batches,
		.comm = o->comm};
	struct gnn_cache *c = NULL;
	int rc;

	*out = NULL;
	GNN_NEW(c, GNN_MEM_MISC);
	c->device = o->device;
	c->dtype = s->table != NULL ? s->dtype : GNN_F32;
	GNN_TRY(fit(o, c->dtype, &hot.ratio));
	GNN_TRY(gnn_hot_choose(&c->hot, &hot));
	c->count = c->hot->count;
	GNN_TRY(fill(c, o));
	gnn_log(GNN_LOG_INFO, "train", "%llu rows of features are cached on the GPU",
		(unsigned long long)c->count);
	*out = c;
	c = NULL;
out:
	gnn_cache_close(c);
	return rc;
}

void gnn_cache_close(struct gnn_cache *c)
{
	if (c == NULL)
		return;
	c->device->ops->free(c->device, c->rows);
	c->device->ops->free(c->device, c->there);
	gnn_hot_free(c->hot);
	gnn_mem_free(c);
}
