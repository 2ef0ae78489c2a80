/* io/edges.c - see edges.h. Chooses by the file, and puts weights of another file to edges. */
#include "io/edges.h"

#include "base/mem.h"
#include "io/part.h"

#include <math.h>

int gnn_edges_open(struct gnn_edge_source **out, const struct gnn_edges_opts *o)
{
	enum gnn_part_kind kind = GNN_PART_NPZ;
	int rc = GNN_OK;

	*out = NULL;
	if (o->member == NULL && !o->raw)
		GNN_TRY(gnn_part_sniff(o->path, NULL, &kind));
	if (kind == GNN_PART_TEXT && o->layout != GNN_EDGES_AUTO)
		GNN_FAIL(GNN_EUSAGE,
			"--edge-layout is for npy and npz; %s is text, one edge a line", o->path);
	if (kind != GNN_PART_TEXT && o->weight_column != 0)
		GNN_FAIL(GNN_EUSAGE,
			"--weight-column is for text; %s is an array; give the weights by "
			"--weights FILE",
			o->path);
	GNN_TRY(kind == GNN_PART_TEXT ? gnn_edges_text_open(out, o) : gnn_edges_array_open(out, o));
out:
	return rc;
}

int gnn_edges_settle(struct gnn_edge_source *s)
{
	return s == NULL || s->settle == NULL ? GNN_OK : s->settle(s);
}

void gnn_edges_close(struct gnn_edge_source *s)
{
	if (s != NULL)
		s->close(s);
}

struct weighed {
	struct gnn_edge_source base;
	struct gnn_edge_source *edges;
	struct gnn_matrix *weights;
	float *weight;
	uint64_t capacity;
};

static int end_of_edges(const struct weighed *w)
{
	if (w->base.counts.edges != w->weights->source.rows)
		return gnn_err(GNN_EDATA, "%s: %llu weights for %llu edges; wanted one each",
			w->weights->name, (unsigned long long)w->weights->source.rows,
			(unsigned long long)w->base.counts.edges);
	return GNN_EOF;
}

static int check_weights(const struct weighed *w, uint64_t first, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		if (!isfinite(w->weight[i]))
			return gnn_err(GNN_EDATA,
				"%s: the weight of edge %llu is %g; wanted a finite number",
				w->weights->name, (unsigned long long)(first + i),
				(double)w->weight[i]);
	}
	return GNN_OK;
}

static int next_weighed(struct gnn_edge_source *base, struct gnn_edge_batch *batch)
{
	struct weighed *w = (struct weighed *)base;
	struct gnn_rows_source *rows = &w->weights->source;
	uint64_t before = w->base.counts.edges;
	int rc = GNN_OK;

	GNN_TRY(w->edges->next(w->edges, batch));
	w->base.counts = w->edges->counts;
	if (rc == GNN_EOF)
		return end_of_edges(w);
	/* A source may count further than it has handed over; here it is what was handed over. */
	w->base.counts.edges = before + batch->count;
	if (before + batch->count > rows->rows)
		GNN_FAIL(GNN_EDATA, "%s: %llu weights, and there are more edges; wanted one each",
			w->weights->name, (unsigned long long)rows->rows);
	if (batch->count > w->capacity) {
		GNN_TRY(gnn_mem_resize((void **)&w->weight, batch->count, sizeof(float),
			GNN_MEM_IO));
		w->capacity = batch->count;
	}
	GNN_TRY(rows->read(rows, batch->count, w->weight));
	GNN_TRY(check_weights(w, before, batch->count));
	batch->weight = w->weight;
out:
	return rc;
}

static int settle_weighed(struct gnn_edge_source *base)
{
	return gnn_edges_settle(((struct weighed *)base)->edges);
}

static void close_weighed(struct gnn_edge_source *base)
{
	struct weighed *w = (struct weighed *)base;

	gnn_edges_close(w->edges);
	gnn_matrix_close(w->weights);
	gnn_mem_free(w->weight);
	gnn_mem_free(w);
}

int gnn_edges_weigh(struct gnn_edge_source **out, struct gnn_edge_source *edges,
	struct gnn_matrix *weights)
{
	struct weighed *w = NULL;
	int rc = GNN_OK;

	GNN_ASSERT(weights->source.cols == 1 && weights->source.dtype == GNN_F32);
	GNN_ASSERT(!edges->weighted);
	GNN_NEW(w, GNN_MEM_IO);
	w->base = (struct gnn_edge_source){
		.next = next_weighed, .settle = edges->settle == NULL ? NULL : settle_weighed,
		.close = close_weighed, .weighted = true};
	w->edges = edges;
	w->weights = weights;
	*out = &w->base;
out:
	return rc;
}
