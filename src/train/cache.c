/* train/cache.c - see cache.h. */
#include "train/cache.h"

#include "base/log.h"
#include "base/mem.h"
#include "op/grad.h"
#include "train/collect.h"
#include "train/table.h"

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

/* Rows [first, end) of the order. */
static int send_rows(struct filling *f, uint64_t first, uint64_t end)
{
	const struct gnn_hot *hot = f->cache->hot;
	const uint64_t most = gnn_max_u64(STRIP_BYTES / f->row_bytes, 1);
	uint64_t count;
	int rc;

	GNN_TRY(gnn_room_take(&f->rows, most, f->row_bytes));
	for (uint64_t at = first; at < end; at += count) {
		count = gnn_min_u64(most, end - at);
		GNN_TRY(send_strip(f, hot->id + at, count, at));
	}
	rc = GNN_OK;
out:
	return rc;
}

/* Rows [count, end), and then where all are. */
static int fill(struct gnn_cache *c, uint64_t end)
{
	struct filling f = {.cache = c, .source = c->source,
		.row_bytes = (uint64_t)c->source->dim * gnn_dtype_bytes(c->dtype)};
	const uint64_t bytes = c->source->store->vertices * sizeof(uint32_t);
	struct gnn_backend *b = c->device;
	int rc;

	if (f.source->table == NULL)
		GNN_TRY(gnn_collect_init(&f.collect, f.source, b, c->threads));
	GNN_TRY(send_rows(&f, c->count, end));
	for (uint64_t i = c->count; i < end; i++)
		c->hot->place[c->hot->id[i]] = (uint32_t)i;
	c->count = end;
	GNN_TRY(b->ops->copy(b, c->there, bytes, c->hot->place, bytes, bytes, 1));
	GNN_TRY(b->ops->sync(b));
out:
	gnn_collect_fini(&f.collect);
	gnn_room_fini(&f.rows);
	return rc;
}

static int take_room(struct gnn_cache *c)
{
	const uint64_t row_bytes = (uint64_t)c->source->dim * gnn_dtype_bytes(c->dtype);
	struct gnn_backend *b = c->device;
	int rc;

	GNN_TRY(b->ops->alloc(b, &c->there,
		gnn_max_u64(c->source->store->vertices * sizeof(uint32_t), 1)));
	GNN_TRY(b->ops->alloc(b, &c->rows, gnn_max_u64(c->capacity * row_bytes, 1)));
	c->place = c->there;
out:
	return rc;
}

/* The ratio that fits into half of what the device has free. */
static int fit(const struct gnn_cache_opts *o, enum gnn_dtype dtype, double *ratio)
{
	const struct gnn_train_source *s = o->batches->source;
	const uint64_t vertices = s->store->vertices;
	const uint64_t row = gnn_max_u64((uint64_t)s->dim * gnn_dtype_bytes(dtype), 1);
	const uint64_t places = vertices * sizeof(uint32_t);
	const uint64_t room = gnn_table_room(o->device, o->reserve);
	const uint64_t most = room < places ? 0 : (room - places) / row;

	*ratio = o->worklist != NULL ? (double)o->worklist->count / (double)vertices : o->ratio;
	if (most == 0)
		return gnn_err(GNN_ECONFIG, "a cache of features: %.1f MiB of device memory may be "
			"taken, and the places of %llu vertices and one row take %.1f: give more "
			"--gpu-memory, or leave it out", (double)room / 0x1p20,
			(unsigned long long)vertices, (double)(places + row) / 0x1p20);
	if (*ratio * (double)vertices > (double)most) {
		gnn_log(GNN_LOG_WARN, "train", "half of the free device memory, less what batches "
			"take, caches %.3f of the vertices, not %.3f",
			(double)most / (double)vertices, *ratio);
		*ratio = (double)most / (double)vertices;
	}
	return GNN_OK;
}

/* An order of its own: the least hot first, none of which has a place yet. */
static int copy_worklist(struct gnn_cache *c, const struct gnn_hot *from)
{
	const uint64_t vertices = c->source->store->vertices;
	int rc;

	GNN_NEW(c->hot, GNN_MEM_STATE);
	GNN_NEW_ARRAY(c->hot->place, vertices, GNN_MEM_STATE);
	GNN_NEW_ARRAY(c->hot->id, gnn_max_u64(c->capacity, 1), GNN_MEM_STATE);
	memset(c->hot->place, 0xff, vertices * sizeof(*c->hot->place));
	for (uint64_t i = 0; i < c->capacity; i++)
		c->hot->id[i] = from->id[from->count - 1 - i];
	c->hot->count = c->capacity;
out:
	return rc;
}

static int choose(struct gnn_cache *c, const struct gnn_cache_opts *o, double ratio)
{
	const uint64_t vertices = c->source->store->vertices;
	int rc;

	if (o->worklist != NULL) {
		c->capacity = gnn_min_u64((uint64_t)(ratio * (double)vertices + .5),
			o->worklist->count);
		return copy_worklist(c, o->worklist);
	}
	GNN_TRY(gnn_hot_choose(&c->hot, &(struct gnn_hot_opts){.policy = o->policy,
		.ratio = ratio, .batches = o->batches, .comm = o->comm}));
	c->capacity = c->hot->count;
out:
	return rc;
}

int gnn_cache_open(struct gnn_cache **out, const struct gnn_cache_opts *o)
{
	const struct gnn_train_source *s = o->batches->source;
	struct gnn_cache *c = NULL;
	double ratio;
	int rc;

	*out = NULL;
	GNN_NEW(c, GNN_MEM_MISC);
	c->device = o->device;
	c->source = s;
	c->threads = o->batches->threads;
	c->dtype = s->table != NULL ? s->dtype : GNN_F32;
	GNN_TRY(fit(o, c->dtype, &ratio));
	GNN_TRY(choose(c, o, ratio));
	GNN_TRY(take_room(c));
	c->wanted = o->worklist != NULL ? 0 : c->capacity;
	GNN_TRY(fill(c, c->wanted));
	gnn_log(GNN_LOG_INFO, "train", "%llu rows of features %s cached on the GPU",
		(unsigned long long)c->capacity, o->worklist != NULL ? "may be" : "are");
	*out = c;
	c = NULL;
out:
	gnn_cache_close(c);
	return rc;
}

void gnn_cache_want(struct gnn_cache *c, uint64_t count)
{
	__atomic_store_n(&c->wanted, gnn_min_u64(count, c->capacity), __ATOMIC_RELAXED);
}

uint64_t gnn_cache_room(const struct gnn_cache *c)
{
	return c->capacity - __atomic_load_n(&c->wanted, __ATOMIC_RELAXED);
}

int gnn_cache_settle(struct gnn_cache *c)
{
	const uint64_t wanted = __atomic_load_n(&c->wanted, __ATOMIC_RELAXED);

	return wanted > c->count ? fill(c, wanted) : GNN_OK;
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
