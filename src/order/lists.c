/* order/lists.c - see lists.h. */
#include "order/lists.h"

#include "base/mem.h"
#include "io/stream.h"

#include <inttypes.h>
#include <string.h>

enum {
	AHEAD = 3,
	PART_BYTES_MAX = 8 << 20, /* but for one long list; less with little memory */
	PART_BYTES_MIN = 64 << 10,
	CHECK_ITEMS = 1 << 16,
};

struct direction {
	const struct gnn_topology *topology;
	uint64_t   *offsets;   /* (V + 1) */
	void       *neighbors; /* (E) in memory; NULL: streamed */
	const void *mapped;    /* (E) in the file; NULL: not wanted */
	uint64_t    longest;   /* list */
};

struct gnn_lists {
	struct gnn_store *store;
	struct direction  direction[GNN_DIRECTIONS];
	uint32_t          threads;
	bool              resident;
	uint64_t          item_bytes;
	uint64_t          read_bytes; /* of passes that ended */
	/* The pass at hand. */
	enum gnn_direction pass;
	gnn_vid            at;         /* first vertex of the next part */
	struct gnn_stream *stream;
	struct gnn_piece  *piece;
	uint64_t           piece_used; /* bytes of it */
	char              *part;
	uint64_t           part_bytes, piece_bytes;
};

/* --- checking --- */

static int refuse_offset(const struct gnn_lists *l, const struct direction *d, uint64_t row)
{
	return gnn_err(GNN_EDATA, "%s: dataset %s, row %" PRIu64 ": %" PRIu64
		" found, which does not follow on the row before within %" PRIu64 " edges",
		gnn_container_path(l->store->container), d->topology->offsets->name, row,
		d->offsets[row], l->store->edges);
}

static int check_offsets(const struct gnn_lists *l, struct direction *d)
{
	uint64_t v = l->store->vertices;

	if (d->offsets[0] != 0)
		return refuse_offset(l, d, 0);
	for (uint64_t i = 0; i < v; i++) {
		if (d->offsets[i + 1] < d->offsets[i] || d->offsets[i + 1] > l->store->edges)
			return refuse_offset(l, d, i + 1);
		d->longest = gnn_max_u64(d->longest, d->offsets[i + 1] - d->offsets[i]);
	}
	return d->offsets[v] == l->store->edges ? GNN_OK : refuse_offset(l, d, v);
}

static uint64_t largest_of(const struct gnn_list *l, uint32_t threads)
{
	uint64_t tasks = gnn_ceil_div(l->count, CHECK_ITEMS), largest = 0;

#pragma omp parallel for schedule(static) num_threads((int)threads) reduction(max : largest)
	for (uint64_t t = 0; t < tasks; t++)
		for (uint64_t i = t * CHECK_ITEMS;
			i < gnn_min_u64((t + 1) * CHECK_ITEMS, l->count); i++)
			largest = gnn_max_u64(largest, gnn_list_at(l, i));
	return largest;
}

/* `first` is the number of the first edge. */
static int check_ids(const struct gnn_lists *l, const struct direction *d,
	const struct gnn_list *ids, gnn_eid first)
{
	uint64_t i = 0;

	if (ids->count == 0 || largest_of(ids, l->threads) < l->store->vertices)
		return GNN_OK;
	while (gnn_list_at(ids, i) < l->store->vertices)
		i++;
	return gnn_err(GNN_EDATA, "%s: dataset %s, entry %" PRIu64 ": %" PRIu64
		" found, below %" PRIu64 " wanted (the vertices)",
		gnn_container_path(l->store->container), d->topology->neighbors->name, first + i,
		gnn_list_at(ids, i), l->store->vertices);
}

static struct gnn_list list_from(const struct gnn_lists *l, const void *ids, uint64_t count)
{
	if (l->item_bytes == sizeof(uint32_t))
		return (struct gnn_list){.narrow = ids, .count = count};
	return (struct gnn_list){.wide = ids, .count = count};
}

/* --- opening --- */

static int load_offsets(struct gnn_lists *l, struct direction *d)
{
	const struct gnn_array *a = d->topology->offsets;
	int rc;

	GNN_NEW_ARRAY(d->offsets, l->store->vertices + 1, GNN_MEM_TOPOLOGY);
	GNN_TRY(gnn_array_load(l->store->container, a, 0, a->bytes, d->offsets));
	l->read_bytes += a->bytes;
	GNN_TRY(check_offsets(l, d));
out:
	return rc;
}

static int load_neighbors(struct gnn_lists *l, struct direction *d)
{
	const struct gnn_array *a = d->topology->neighbors;
	struct gnn_list all;
	int rc;

	GNN_TRY(gnn_mem_pages(&d->neighbors, gnn_max_u64(a->bytes, 1), GNN_MEM_TOPOLOGY));
	GNN_TRY(gnn_array_load(l->store->container, a, 0, a->bytes, d->neighbors));
	l->read_bytes += a->bytes;
	all = list_from(l, d->neighbors, l->store->edges);
	GNN_TRY(check_ids(l, d, &all, 0));
out:
	return rc;
}

/* One verified pass over both directions, then the file itself is lent. */
static int map_neighbors(struct gnn_lists *l)
{
	struct gnn_lists_part part;
	const char *base;
	uint64_t unused;
	int rc;

	for (int d = 0; d < GNN_DIRECTIONS; d++) {
		GNN_TRY(gnn_lists_begin(l, (enum gnn_direction)d));
		while ((rc = gnn_lists_next(l, &part)) == GNN_OK)
			;
		GNN_TRY(rc);
	}
	GNN_TRY(gnn_container_map(l->store->container, &base, &unused));
	for (int d = 0; d < GNN_DIRECTIONS; d++)
		l->direction[d].mapped = base + l->direction[d].topology->neighbors->offset;
out:
	return rc < 0 ? rc : GNN_OK;
}

static int open_neighbors(struct gnn_lists *l, const struct gnn_lists_opts *o)
{
	uint64_t bytes = 0;
	int rc = GNN_OK;

	for (int d = 0; d < GNN_DIRECTIONS; d++)
		bytes += l->direction[d].topology->neighbors->bytes;
	l->piece_bytes = gnn_align_down(gnn_min_u64(gnn_max_u64(o->memory_bytes / 8,
		PART_BYTES_MIN), PART_BYTES_MAX), GNN_PAGE_BYTES);
	l->resident = bytes <= o->memory_bytes;
	for (int d = 0; d < GNN_DIRECTIONS; d++) {
		if (l->resident)
			GNN_TRY(load_neighbors(l, &l->direction[d]));
		else
			l->part_bytes = gnn_max_u64(l->part_bytes, gnn_max_u64(l->piece_bytes,
				l->direction[d].longest * l->item_bytes));
	}
	if (l->resident)
		goto out;
	GNN_NEW_ARRAY(l->part, l->part_bytes, GNN_MEM_TOPOLOGY);
	if (o->at_random)
		GNN_TRY(map_neighbors(l));
out:
	return rc;
}

int gnn_lists_open(struct gnn_lists **out, const struct gnn_lists_opts *o)
{
	struct gnn_lists *l = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_NEW(l, GNN_MEM_MISC);
	l->store = o->store;
	l->threads = o->threads;
	l->item_bytes = gnn_dtype_bytes(o->store->out.neighbors->dtype);
	if (o->store->in.neighbors->dtype != o->store->out.neighbors->dtype)
		GNN_FAIL(GNN_EDATA, "%s: the two directions have ids of different widths",
			gnn_container_path(o->store->container));
	l->direction[GNN_OUT].topology = &o->store->out;
	l->direction[GNN_IN].topology = &o->store->in;
	for (int d = 0; d < GNN_DIRECTIONS; d++)
		GNN_TRY(load_offsets(l, &l->direction[d]));
	GNN_TRY(open_neighbors(l, o));
	*out = l;
	l = NULL;
out:
	gnn_lists_close(l);
	return rc;
}

static void end_pass(struct gnn_lists *l)
{
	if (l->stream != NULL)
		l->read_bytes += gnn_stream_read_bytes(l->stream);
	gnn_stream_close(l->stream);
	l->stream = NULL;
	l->piece = NULL;
}

void gnn_lists_close(struct gnn_lists *l)
{
	if (l == NULL)
		return;
	end_pass(l);
	for (int d = 0; d < GNN_DIRECTIONS; d++) {
		gnn_mem_free(l->direction[d].offsets);
		gnn_mem_free(l->direction[d].neighbors);
	}
	gnn_mem_free(l->part);
	gnn_mem_free(l);
}

/* --- lists at random --- */

bool gnn_lists_resident(const struct gnn_lists *l)
{
	return l->resident;
}

uint64_t gnn_lists_longest(const struct gnn_lists *l)
{
	return gnn_max_u64(l->direction[GNN_OUT].longest, l->direction[GNN_IN].longest);
}

uint64_t gnn_lists_read_bytes(const struct gnn_lists *l)
{
	return l->read_bytes;
}

const uint64_t *gnn_lists_offsets(const struct gnn_lists *l, enum gnn_direction d)
{
	return l->direction[d].offsets;
}

const void *gnn_lists_all(const struct gnn_lists *l, enum gnn_direction d)
{
	return l->direction[d].neighbors;
}

struct gnn_list gnn_lists_of(const struct gnn_lists *l, enum gnn_direction d, gnn_vid v)
{
	const struct direction *dir = &l->direction[d];
	const char *all = l->resident ? dir->neighbors : dir->mapped;

	return list_from(l, all + dir->offsets[v] * l->item_bytes,
		dir->offsets[v + 1] - dir->offsets[v]);
}

/* --- passes --- */

int gnn_lists_begin(struct gnn_lists *l, enum gnn_direction d)
{
	const struct gnn_array *a = l->direction[d].topology->neighbors;

	end_pass(l);
	l->pass = d;
	l->at = 0;
	l->piece_used = 0;
	if (l->resident)
		return GNN_OK;
	return gnn_stream_open_array(&l->stream, l->store->container, a, l->piece_bytes, AHEAD);
}

/* The last vertex up to which the lists fit the part, one list at least. */
static gnn_vid end_of_part(const struct gnn_lists *l, const uint64_t *offsets)
{
	uint64_t low = l->at + 1, high = l->store->vertices;
	uint64_t fits = offsets[l->at] + l->part_bytes / l->item_bytes;

	if (l->resident)
		return high;
	while (low < high) {
		uint64_t middle = low + (high - low + 1) / 2;

		if (offsets[middle] <= fits)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* The next `bytes` of the stream, which has them. */
static int fill_part(struct gnn_lists *l, uint64_t bytes)
{
	uint64_t done = 0;
	int rc = GNN_OK;

	while (done < bytes) {
		uint64_t n;

		if (l->piece != NULL && l->piece_used == l->piece->bytes) {
			gnn_stream_put(l->stream, l->piece);
			l->piece = NULL;
		}
		if (l->piece == NULL) {
			GNN_TRY(gnn_stream_next(l->stream, &l->piece));
			GNN_ASSERT(rc == GNN_OK);
			l->piece_used = 0;
		}
		n = gnn_min_u64(bytes - done, l->piece->bytes - l->piece_used);
		memcpy(l->part + done, (const char *)l->piece->data + l->piece_used, n);
		l->piece_used += n;
		done += n;
	}
out:
	return rc;
}

int gnn_lists_next(struct gnn_lists *l, struct gnn_lists_part *part)
{
	const struct direction *d = &l->direction[l->pass];
	uint64_t edges;
	int rc = GNN_OK;

	if (l->at == l->store->vertices) {
		end_pass(l);
		return GNN_EOF;
	}
	part->first = l->at;
	part->end = end_of_part(l, d->offsets);
	part->offsets = d->offsets;
	edges = d->offsets[part->end] - d->offsets[part->first];
	if (!l->resident)
		GNN_TRY(fill_part(l, edges * l->item_bytes));
	part->all = list_from(l, l->resident ? d->neighbors : l->part, edges);
	if (!l->resident)
		GNN_TRY(check_ids(l, d, &part->all, d->offsets[part->first]));
	l->at = part->end;
out:
	return rc;
}
