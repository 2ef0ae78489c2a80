/* io/idlist.c - see idlist.h. */
#include "io/idlist.h"

#include "base/mem.h"
#include "io/keymerge.h"

#include <pthread.h>
#include <string.h>

enum {
	WINDOW = 4096, /* ids copied at a time */
	AHEAD = 6,     /* pieces read ahead */
};

/* One piece, decoded. */
struct finder {
	struct gnn_scratch_reader *reader;
	uint64_t *first_at; /* (pieces) place of their first id */
	uint64_t *ids;      /* of the piece read last */
	uint32_t piece;     /* its number; that of no piece when there is none */
};

struct gnn_idlist {
	struct gnn_scratch *scratch;
	pthread_mutex_t lock;     /* guards the runs */
	struct gnn_keyruns runs;
	struct gnn_keyruns list;  /* one run, after seal; none if there are no ids */
	uint64_t count;           /* after seal */
	uint64_t *copy;           /* (count), if it fits the memory; else NULL */
	struct finder *finder;    /* without a copy, once an id was looked for */
};

int gnn_idlist_create(struct gnn_idlist **out, struct gnn_scratch *s)
{
	struct gnn_idlist *l = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_NEW(l, GNN_MEM_SORT);
	pthread_mutex_init(&l->lock, NULL);
	l->scratch = s;
	*out = l;
out:
	return rc;
}

void gnn_idlist_destroy(struct gnn_idlist *l)
{
	if (l == NULL)
		return;
	gnn_idlist_end_finds(l);
	gnn_keyruns_fini(&l->list, l->scratch);
	gnn_keyruns_fini(&l->runs, l->scratch);
	pthread_mutex_destroy(&l->lock);
	gnn_mem_free(l);
}

int gnn_idlist_add(struct gnn_idlist *l, struct gnn_keyrun *run)
{
	int rc;

	pthread_mutex_lock(&l->lock);
	rc = gnn_keyruns_reach(&l->runs, l->runs.count);
	if (rc == GNN_OK) {
		l->runs.run[l->runs.count - 1] = *run;
		*run = (struct gnn_keyrun){0};
	}
	pthread_mutex_unlock(&l->lock);
	return rc;
}

uint64_t gnn_idlist_count(const struct gnn_idlist *l)
{
	return l->count;
}

/* --- sealing --- */

static int write_ids(void *run_writer, struct gnn_edges *e)
{
	return gnn_keyrun_writer_push(run_writer, e->src, NULL, e->count);
}

static int merge_runs(struct gnn_idlist *l, uint64_t memory_bytes, uint32_t threads)
{
	const struct gnn_keymerge_opts o = {
		.scratch = l->scratch,
		.runs = &l->runs,
		.unique = true,
		.threads = threads,
		.memory_bytes = memory_bytes,
	};
	struct gnn_keyrun_writer *w = NULL;
	int rc, closed;

	GNN_TRY(gnn_keyruns_reach(&l->list, 0));
	GNN_TRY(gnn_keyrun_writer_open(&w, l->scratch));
	gnn_keyrun_writer_begin(w, &l->list.run[0], 0, false);
	GNN_TRY(gnn_keymerge(&o, write_ids, w));
	GNN_TRY(gnn_keyrun_writer_end(w));
	l->count = l->list.run[0].keys;
out:
	closed = gnn_keyrun_writer_close(&w);
	return rc < 0 ? rc : closed;
}

static int make_copy(struct gnn_idlist *l)
{
	struct gnn_gather *g = NULL;
	struct gnn_gathered got = {0};
	uint64_t at = 0;
	int rc;

	GNN_NEW_ARRAY(l->copy, l->count, GNN_MEM_SORT);
	GNN_NEW_ARRAY(got.key, WINDOW * sizeof(uint64_t), GNN_MEM_SORT);
	GNN_TRY(gnn_idlist_read(l, WINDOW, &g));
	do {
		GNN_TRY(gnn_gather_next(g, &got));
		memcpy(l->copy + at, got.key, got.count * sizeof(uint64_t));
		at += got.count;
	} while (got.count > 0);
	GNN_ASSERT(at == l->count);
out:
	gnn_gather_close(g);
	gnn_mem_free(got.key);
	return rc;
}

int gnn_idlist_seal(struct gnn_idlist *l, uint64_t merge_bytes, uint64_t copy_bytes,
	uint32_t threads)
{
	int rc;

	if (l->runs.count == 0)
		return GNN_OK;
	GNN_TRY(merge_runs(l, merge_bytes, threads));
	if (l->count <= copy_bytes / sizeof(uint64_t))
		GNN_TRY(make_copy(l));
out:
	return rc;
}

int gnn_idlist_read(struct gnn_idlist *l, uint32_t window, struct gnn_gather **out)
{
	const struct gnn_gather_opts o = {
		.scratch = l->scratch,
		.runs = &l->list,
		.keep = true,
		.buffers = gnn_keyruns_in_file(&l->list) == 0 ? 0 : 1 + AHEAD,
		.window = window,
	};

	return gnn_gather_open(out, &o);
}

/* --- finding --- */

static int search(const uint64_t *ids, uint64_t count, uint64_t id, uint64_t *at)
{
	*at = gnn_keys(false)->upto(ids, 0, count, gnn_key_make(id, 0), false);
	return *at < count && ids[*at] == id ? GNN_OK : GNN_EOF;
}

static void close_finder(struct finder *f)
{
	if (f == NULL)
		return;
	gnn_scratch_reader_close(f->reader);
	gnn_mem_free(f->first_at);
	gnn_mem_free(f->ids);
	gnn_mem_free(f);
}

static int open_finder(struct gnn_idlist *l)
{
	const struct gnn_keyrun *run = &l->list.run[0];
	struct finder *f = NULL;
	uint32_t most = 0;
	uint64_t at = 0;
	int rc = GNN_OK;

	GNN_NEW(f, GNN_MEM_SORT);
	f->piece = run->count;
	GNN_NEW_ARRAY(f->first_at, run->count, GNN_MEM_SORT);
	for (uint32_t i = 0; i < run->count; i++) {
		f->first_at[i] = at;
		at += run->piece[i].count;
		most = most > run->piece[i].count ? most : run->piece[i].count;
	}
	GNN_NEW_ARRAY(f->ids, most, GNN_MEM_SORT);
	GNN_TRY(gnn_scratch_reader_open(&f->reader, l->scratch,
		gnn_keyruns_in_file(&l->list) == 0 ? 0 : 1));
	l->finder = f;
	f = NULL;
out:
	close_finder(f);
	return rc;
}

static int read_piece(struct finder *f, const struct gnn_keyrun *run, uint32_t number)
{
	const struct gnn_piece_entry *e = &run->piece[number];
	struct gnn_piece_cursor c;
	const uint8_t *piece;
	uint64_t n = 0;
	int rc;

	f->piece = run->count;
	GNN_TRY(gnn_scratch_reader_ask(f->reader, &e->place, e->bytes));
	GNN_TRY(gnn_scratch_reader_next(f->reader, &piece));
	GNN_TRY(gnn_piece_open(&c, run, number, piece));
	while (c.left > 0)
		n += gnn_piece_decode(&c, run, f->ids + n, NULL);
	gnn_scratch_reader_put(f->reader, piece);
	f->piece = number;
out:
	return rc;
}

/* The last piece that begins at the id or in front of it, or the first piece. */
static uint32_t piece_of(const struct gnn_keyrun *run, uint64_t id)
{
	uint32_t first = 0, count = run->count;

	while (count > 1) {
		uint32_t half = count / 2;

		if (run->piece[first + half].first_major <= id)
			first += half;
		count -= half;
	}
	return first;
}

static int find_in_pieces(struct gnn_idlist *l, uint64_t id, uint64_t *at)
{
	const struct gnn_keyrun *run = &l->list.run[0];
	uint32_t number = piece_of(run, id);
	int rc = GNN_OK;

	if (l->finder == NULL)
		GNN_TRY(open_finder(l));
	if (l->finder->piece != number)
		GNN_TRY(read_piece(l->finder, run, number));
	rc = search(l->finder->ids, run->piece[number].count, id, at);
	*at += l->finder->first_at[number];
out:
	return rc;
}

int gnn_idlist_find(struct gnn_idlist *l, uint64_t id, uint64_t *at)
{
	*at = 0;
	if (l->count == 0)
		return GNN_EOF;
	return l->copy != NULL ? search(l->copy, l->count, id, at) : find_in_pieces(l, id, at);
}

void gnn_idlist_end_finds(struct gnn_idlist *l)
{
	close_finder(l->finder);
	gnn_mem_free(l->copy);
	l->finder = NULL;
	l->copy = NULL;
}
