/* train/fetch.c - see fetch.h. */
#include "train/fetch.h"

#include "io/dio.h"
#include "op/cpu/cpu.h"
#include "train/room.h"

#include <stdlib.h>

enum {
	DEPTH = 16,
	GAP_BYTES = 16 << 10,    /* that are rather read than jumped over */
	RANGE_BYTES = 256 << 10, /* of one request, unless a row is longer */
};

/* One row that is wanted, and where it goes. */
struct wish {
	gnn_vid  id;
	uint64_t row;
};

/* One request: wishes [first, end). */
struct range {
	struct gnn_dio_request request;
	uint64_t first, end;
	void    *pages;
	bool     busy;
};

struct gnn_fetch {
	const struct gnn_array *array;
	struct gnn_dio *dio;
	uint64_t        row_bytes, range_bytes;
	struct gnn_room wishes;
	struct range    range[DEPTH];
};

static uint64_t row_bytes_of(const struct gnn_array *a)
{
	return a->cols * gnn_dtype_bytes(a->dtype);
}

static uint64_t range_bytes_of(const struct gnn_array *a)
{
	return gnn_max_u64(RANGE_BYTES,
		gnn_align_up(row_bytes_of(a), GNN_PAGE_BYTES) + GNN_PAGE_BYTES);
}

uint64_t gnn_fetch_bytes(const struct gnn_array *a)
{
	return DEPTH * range_bytes_of(a);
}

int gnn_fetch_open(struct gnn_fetch **out, struct gnn_container *c, const struct gnn_array *a)
{
	struct gnn_fetch *f = NULL;
	int rc;

	*out = NULL;
	GNN_NEW(f, GNN_MEM_IO);
	f->array = a;
	f->row_bytes = row_bytes_of(a);
	f->range_bytes = range_bytes_of(a);
	GNN_TRY(gnn_dio_open(&f->dio, &(struct gnn_dio_opts){
		.path = gnn_container_path(c), .mode = GNN_DIO_READ,
		.engine = gnn_container_options(c)->engine, .depth = DEPTH}));
	for (int i = 0; i < DEPTH; i++)
		GNN_TRY(gnn_mem_pages(&f->range[i].pages, f->range_bytes, GNN_MEM_IO));
	*out = f;
	f = NULL;
out:
	gnn_fetch_close(f);
	return rc;
}

void gnn_fetch_close(struct gnn_fetch *f)
{
	if (f == NULL)
		return;
	gnn_dio_abort(f->dio);
	for (int i = 0; i < DEPTH; i++)
		gnn_mem_free(f->range[i].pages);
	gnn_room_fini(&f->wishes);
	gnn_mem_free(f);
}

uint64_t gnn_fetch_read_bytes(const struct gnn_fetch *f)
{
	return gnn_dio_read_bytes(f->dio);
}

static int by_id(const void *a, const void *b)
{
	const gnn_vid x = ((const struct wish *)a)->id, y = ((const struct wish *)b)->id;

	return (x > y) - (x < y);
}

/* The longest range from wish `first` on that one request may read. */
static void plan_range(const struct gnn_fetch *f, struct range *r, uint64_t first, uint64_t count)
{
	const struct wish *w = f->wishes.data;
	const uint64_t begin = f->array->offset + w[first].id * f->row_bytes;
	const uint64_t page = gnn_align_down(begin, GNN_PAGE_BYTES);
	uint64_t end = begin + f->row_bytes, k = first + 1;

	for (; k < count; k++) {
		const uint64_t next = f->array->offset + w[k].id * f->row_bytes;

		if (next > end + GAP_BYTES || next + f->row_bytes - page > f->range_bytes)
			break;
		end = next + f->row_bytes;
	}
	r->first = first;
	r->end = k;
	r->busy = true;
	r->request = (struct gnn_dio_request){.offset = page,
		.bytes = gnn_align_up(end - page, GNN_PAGE_BYTES), .wanted = end - page,
		.buffer = r->pages, .user = r};
}

/* The rows of a range that was read, to their places. */
static void put_rows(const struct gnn_fetch *f, struct range *r, float *to)
{
	const struct wish *w = f->wishes.data;

	for (uint64_t k = r->first; k < r->end; k++)
		gnn_cpu_widen(to + w[k].row * f->array->cols, f->array->cols,
			(const char *)r->pages + f->array->offset + w[k].id * f->row_bytes -
				r->request.offset, f->array->dtype, f->array->cols, f->array->cols,
			1);
	r->busy = false;
}

static int reap(struct gnn_fetch *f, float *to)
{
	struct gnn_dio_request *done;
	int rc = gnn_dio_reap(f->dio, &done);

	if (rc == GNN_OK)
		put_rows(f, done->user, to);
	return rc;
}

int gnn_fetch_rows(struct gnn_fetch *f, const gnn_vid *id, uint64_t count, float *to)
{
	struct wish *w;
	uint64_t next = 0;
	int rc;

	GNN_TRY(gnn_room_take(&f->wishes, count, sizeof(*w)));
	w = f->wishes.data;
	for (uint64_t i = 0; i < count; i++)
		w[i] = (struct wish){id[i], i};
	qsort(w, count, sizeof(*w), by_id);
	while (next < count) {
		int i = 0;

		while (i < DEPTH && f->range[i].busy)
			i++;
		if (i == DEPTH) {
			GNN_TRY(reap(f, to));
			continue;
		}
		plan_range(f, &f->range[i], next, count);
		next = f->range[i].end;
		GNN_TRY(gnn_dio_submit(f->dio, &f->range[i].request));
	}
	while ((rc = reap(f, to)) == GNN_OK)
		;
	rc = rc == GNN_EOF ? GNN_OK : rc;
out:
	return rc;
}
