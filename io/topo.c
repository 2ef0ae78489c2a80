/* io/topo.c - see topo.h. */
#include "io/topo.h"

#include "base/progress.h"
#include "base/stage.h"
#include "io/keymerge.h"

#include <stdatomic.h>

/*
 * Edges that fit the memory are in buckets, and are written from there. Else three ways, by what
 * the ids are.
 *
 * Without remap, or with ids that the bitmap holds, runs are there in both orders. Each is merged
 * into its arrays, the two at the same time; ranks keep the order, so they are put in place of ids
 * as the edges pass.
 *
 * Sparse ids have ranks only in one long sorted list, which is read along with edges sorted by the
 * same end. So: merge by destination, give rows to destinations, sort by source; merge that, give
 * rows to sources, write the out arrays, sort by destination; merge that into the in arrays.
 *
 * Undirected: every edge is there both ways, each with its reverse next to it, so the two
 * directions are equal to the last weight, and one merge writes both.
 */

static struct gnn_keymerge_opts merge_opts(const struct gnn_topo *t, struct gnn_extsort *sort,
	enum gnn_edge_order order)
{
	return (struct gnn_keymerge_opts){
		.scratch = t->scratch,
		.runs = gnn_extsort_runs(sort, order),
		.weighted = t->weighted,
		.unique = t->dedup,
		.threads = t->threads,
		.memory_bytes = t->work_bytes - t->writer_bytes,
		.map = t->remap && !t->sparse ? gnn_idset_rank : NULL,
		.with = t->ids,
	};
}

/* --- one or two sets of arrays --- */

struct arrays {
	struct gnn_topo *topo;
	struct gnn_csr *out, *in;
};

static int open_arrays(const struct gnn_topo *t, struct gnn_csr **csr, bool in)
{
	return gnn_csr_open(csr, &(struct gnn_csr_opts){
		.container = t->container,
		.in = in,
		.weighted = t->weighted,
		.self_loops = !in && t->loops_added > 0,
		.vertices = t->vertices,
		.ids = t->remap || (in && t->undirected) ? NULL : t->ids,
		.scratch = t->scratch,
	});
}

static int push_both(void *receiver, struct gnn_edges *e)
{
	struct arrays *a = receiver;
	int rc;

	gnn_progress_add(a->topo->progress, e->count, 0);
	GNN_TRY(gnn_csr_push(a->out, e));
	GNN_TRY(gnn_csr_push(a->in, e));
out:
	return rc;
}

/* --- one direction --- */

struct direction {
	struct gnn_topo *topo;
	struct gnn_extsort *sort;
	uint32_t at_once;  /* directions that are written at the same time */
	bool in;
	struct gnn_csr *csr;
	atomic_bool *stop; /* set by the direction that fails */
};

static int push_unless_stopped(void *receiver, struct gnn_edges *e)
{
	struct direction *d = receiver;

	if (atomic_load_explicit(d->stop, memory_order_relaxed))
		return gnn_err(GNN_ESTOP, "stopped, because the other direction has failed");
	gnn_progress_add(d->topo->progress, e->count, 0);
	return gnn_csr_push(d->csr, e);
}

static int write_direction(void *arg)
{
	struct direction *d = arg;
	struct gnn_topo *t = d->topo;
	struct gnn_keymerge_opts o = merge_opts(t, d->sort, d->in ? GNN_BY_DST : GNN_BY_SRC);
	int rc;

	o.threads = (uint32_t)gnn_ceil_div(o.threads, d->at_once);
	o.memory_bytes /= d->at_once;
	GNN_TRY(open_arrays(t, &d->csr, d->in));
	GNN_TRY(gnn_keymerge(&o, push_unless_stopped, d));
	GNN_TRY(gnn_csr_close(&d->csr, d->in ? &t->in : &t->out));
out:
	gnn_csr_abort(d->csr);
	d->csr = NULL;
	if (rc < 0)
		atomic_store(d->stop, true);
	return rc;
}

/* --- both directions from buckets --- */

static int push_rows(void *receiver, const struct gnn_csr_rows *rows)
{
	struct arrays *a = receiver;
	int rc = GNN_OK;

	gnn_progress_add(a->topo->progress, rows->edges, 0);
	if (a->out != NULL)
		GNN_TRY(gnn_csr_push_rows(a->out, rows));
	if (a->in != NULL)
		GNN_TRY(gnn_csr_push_rows(a->in, rows));
out:
	return rc;
}

static int write_buckets(struct gnn_topo *t)
{
	struct arrays a = {.topo = t};
	int rc;

	GNN_TRY(open_arrays(t, &a.out, false));
	if (t->undirected)
		GNN_TRY(open_arrays(t, &a.in, true));
	GNN_TRY(gnn_buckets_by_src(t->buckets, push_rows, &a));
	GNN_TRY(gnn_csr_close(&a.out, &t->out));
	if (!t->undirected) {
		GNN_TRY(open_arrays(t, &a.in, true));
		GNN_TRY(gnn_buckets_by_dst(t->buckets, push_rows, &a));
	}
	GNN_TRY(gnn_csr_close(&a.in, &t->in));
out:
	gnn_csr_abort(a.out);
	gnn_csr_abort(a.in);
	return rc;
}

/* --- both directions from runs of both orders --- */

static int write_directed(struct gnn_topo *t)
{
	atomic_bool stop = false;
	struct direction out = {.topo = t, .sort = t->sort, .at_once = 2, .stop = &stop};
	struct direction in = out;
	struct gnn_stage *stage = NULL;
	struct gnn_err_state first;
	int rc, other;

	in.in = true;
	GNN_TRY(gnn_stage_start(&stage, "build-in", write_direction, &in));
	rc = write_direction(&out);
	gnn_err_save(&first, rc);
	other = gnn_stage_join(&stage);
	/* Of two errors the one that came first, not the stop that it caused. */
	if (rc < 0 && (rc != GNN_ESTOP || other >= 0))
		gnn_err_restore(&first);
	else
		rc = other;
out:
	return rc;
}

static int write_undirected(struct gnn_topo *t)
{
	struct gnn_keymerge_opts o = merge_opts(t, t->sort, GNN_BY_SRC);
	struct arrays a = {.topo = t};
	int rc;

	GNN_TRY(open_arrays(t, &a.out, false));
	GNN_TRY(open_arrays(t, &a.in, true));
	GNN_TRY(gnn_keymerge(&o, push_both, &a));
	GNN_TRY(gnn_csr_close(&a.out, &t->out));
	GNN_TRY(gnn_csr_close(&a.in, &t->in));
out:
	gnn_csr_abort(a.out);
	gnn_csr_abort(a.in);
	return rc;
}

/* --- sparse ids --- */

/* Edges on their way from one merge to the next sort, the majors being given rows. */
struct relabel {
	struct gnn_topo *topo;
	struct gnn_idset_reader *ids;
	struct gnn_extsort *to; /* NULL: none */
	struct arrays arrays;
	uint64_t edges;
};

static int open_sort(const struct gnn_topo *t, struct gnn_extsort **to,
	enum gnn_edge_order order)
{
	struct gnn_extsort_opts o = {
		.scratch = t->scratch,
		.memory_bytes = (t->work_bytes - t->writer_bytes) / 2,
		.threads = t->threads,
		.weighted = t->weighted,
	};

	o.order[order] = true;
	return gnn_extsort_create(to, &o);
}

/* (destination, source): destinations become rows. */
static int relabel_dst(void *receiver, struct gnn_edges *e)
{
	struct relabel *r = receiver;
	struct gnn_edges by_src = {e->dst, e->src, e->weight, e->count};
	int rc;

	gnn_progress_add(r->topo->progress, e->count, 0);
	GNN_TRY(gnn_idset_reader_rank(r->ids, (uint64_t *)e->src, e->count));
	GNN_TRY(gnn_extsort_add(r->to, &by_src, gnn_edges_bits(&by_src)));
	r->edges += e->count;
out:
	return rc;
}

/* (source, row of destination): sources become rows. */
static int relabel_src(void *receiver, struct gnn_edges *e)
{
	struct relabel *r = receiver;
	int rc;

	gnn_progress_add(r->topo->progress, e->count, 0);
	GNN_TRY(gnn_idset_reader_rank(r->ids, (uint64_t *)e->src, e->count));
	GNN_TRY(gnn_csr_push(r->arrays.out, e));
	if (r->to != NULL)
		GNN_TRY(gnn_extsort_add(r->to, e, gnn_edges_bits(e)));
	else
		GNN_TRY(gnn_csr_push(r->arrays.in, e));
out:
	return rc;
}

static int sort_by_src(struct gnn_topo *t)
{
	struct gnn_keymerge_opts o = merge_opts(t, t->sort,
		t->undirected ? GNN_BY_SRC : GNN_BY_DST);
	struct relabel r = {.topo = t};
	int rc;

	o.memory_bytes /= 2;
	GNN_TRY(open_sort(t, &t->by_src, GNN_BY_SRC));
	r.to = t->by_src;
	GNN_TRY(gnn_idset_reader_open(&r.ids, t->ids));
	GNN_TRY(gnn_keymerge(&o, relabel_dst, &r));
	GNN_TRY(gnn_extsort_end(t->by_src));
	t->edges = r.edges;
out:
	gnn_idset_reader_close(r.ids);
	return rc;
}

static int write_sparse_out(struct gnn_topo *t)
{
	struct gnn_keymerge_opts o = merge_opts(t, t->by_src, GNN_BY_SRC);
	struct relabel r = {.topo = t};
	int rc;

	o.memory_bytes /= 2;
	GNN_TRY(open_arrays(t, &r.arrays.out, false));
	if (t->undirected) {
		GNN_TRY(open_arrays(t, &r.arrays.in, true));
	} else {
		GNN_TRY(open_sort(t, &t->by_dst, GNN_BY_DST));
		r.to = t->by_dst;
	}
	GNN_TRY(gnn_idset_reader_open(&r.ids, t->ids));
	GNN_TRY(gnn_keymerge(&o, relabel_src, &r));
	GNN_TRY(gnn_csr_close(&r.arrays.out, &t->out));
	if (t->undirected)
		GNN_TRY(gnn_csr_close(&r.arrays.in, &t->in));
	else
		GNN_TRY(gnn_extsort_end(t->by_dst));
out:
	gnn_idset_reader_close(r.ids);
	gnn_csr_abort(r.arrays.out);
	gnn_csr_abort(r.arrays.in);
	return rc;
}

static int write_sparse_in(struct gnn_topo *t)
{
	atomic_bool stop = false;
	struct direction in = {.topo = t, .sort = t->by_dst, .at_once = 1, .in = true,
		.stop = &stop};

	return write_direction(&in);
}

/* --- the way through --- */

static int count_only(void *receiver, struct gnn_edges *e)
{
	struct gnn_topo *t = receiver;

	gnn_progress_add(t->progress, e->count, 0);
	t->edges += e->count;
	return GNN_OK;
}

/*
 * Only dedup leaves the number open. Runs hold no equal edges then, but two runs may; a merge of
 * one order that writes nothing reads a quarter of what the two real merges read and write.
 * Sparse ids need no such pass: the edges are counted on their way to be sorted by source.
 */
static int count(struct gnn_topo *t)
{
	struct gnn_keymerge_opts o = merge_opts(t, t->sort, GNN_BY_SRC);

	if (t->sparse)
		return sort_by_src(t);
	if (t->buckets != NULL) {
		t->edges = gnn_buckets_edges(t->buckets);
		return GNN_OK;
	}
	t->edges = gnn_topo_listed(t);
	if (!t->dedup)
		return GNN_OK;
	t->edges = 0;
	o.keep = true;
	o.map = NULL;
	if (o.runs->count != 1)
		return gnn_keymerge(&o, count_only, t);
	t->edges = o.runs->run[0].keys;
	return GNN_OK;
}

int gnn_topo_count(struct gnn_topo *t)
{
	int rc;

	t->progress = gnn_progress_begin(t->sparse ? "by source" : "count", "edges",
		gnn_topo_listed(t));
	rc = count(t);
	gnn_progress_end(t->progress);
	t->progress = NULL;
	return rc;
}

static int write_sparse(struct gnn_topo *t)
{
	int rc;

	GNN_TRY(write_sparse_out(t));
	if (!t->undirected)
		GNN_TRY(write_sparse_in(t));
out:
	return rc;
}

int gnn_topo_write(struct gnn_topo *t)
{
	int rc;

	t->progress = gnn_progress_begin("topology", "edges", t->undirected ? t->edges :
		2 * t->edges);
	if (t->buckets != NULL)
		GNN_TRY(write_buckets(t));
	else if (t->sparse)
		GNN_TRY(write_sparse(t));
	else
		GNN_TRY(t->undirected ? write_undirected(t) : write_directed(t));
	/* Without remap it was not worth while to look at the ids of every batch. */
	if (!t->remap)
		GNN_TRY(gnn_idset_seal(t->ids, t->work_bytes / 2, 0, t->threads));
out:
	gnn_progress_end(t->progress);
	t->progress = NULL;
	return rc;
}

void gnn_topo_fini(struct gnn_topo *t)
{
	gnn_extsort_destroy(t->by_dst);
	gnn_extsort_destroy(t->by_src);
	gnn_buckets_destroy(t->buckets);
	t->buckets = NULL;
	t->by_dst = t->by_src = NULL;
}
