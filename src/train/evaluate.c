/* train/evaluate.c - see evaluate.h. */
#include "train/evaluate.h"

#include "base/mem.h"
#include "base/trace.h"
#include "infer/score.h"

/* From so many vertices on, what the layers keep of the whole graph is given back each time. */
enum { TRIM_VERTICES = 1 << 17 };

struct gnn_evaluator {
	const struct gnn_source *source;
	struct gnn_net          *net;
	struct gnn_backend      *backend;
	enum gnn_metric          metric;
	const char              *name;
	struct gnn_block         block;
	float                   *x;     /* (V, dim) */
	bool                     owns_x;
};

/* The table itself where it is of floats, else all of it widened. */
static int widen(struct gnn_evaluator *e)
{
	const struct gnn_source *s = e->source;
	const uint64_t vertices = s->store->vertices;
	gnn_vid *id = NULL;
	void *block;
	int rc = GNN_OK;

	e->x = s->table;
	if (s->dtype == GNN_F32)
		return GNN_OK;
	GNN_TRY(gnn_mem_pages(&block, vertices * s->dim * sizeof(float), GNN_MEM_STATE));
	e->x = block;
	e->owns_x = true;
	GNN_NEW_ARRAY(id, vertices, GNN_MEM_MISC);
	for (gnn_vid v = 0; v < vertices; v++)
		id[v] = v;
	GNN_TRY(e->backend->ops->grad->gather(e->backend, &(struct gnn_gather_args){
		.table = s->table, .dtype = s->dtype, .width = s->dim, .id = id, .rows = vertices,
		.to = e->x}));
out:
	gnn_mem_free(id);
	return rc;
}

int gnn_evaluator_create(struct gnn_evaluator **out, const struct gnn_source *s, struct gnn_net *n,
	struct gnn_backend *b, enum gnn_metric metric, uint32_t threads)
{
	const struct gnn_edge_rule rule = gnn_net_rule(gnn_net_shape_of(n)->arch);
	struct gnn_evaluator *e = NULL;
	int rc;

	*out = NULL;
	GNN_NEW(e, GNN_MEM_MISC);
	e->source = s;
	e->net = n;
	e->backend = b;
	e->metric = metric;
	GNN_TRY(gnn_block_whole(&e->block, s->lists, &rule, threads));
	GNN_TRY(widen(e));
	*out = e;
	e = NULL;
out:
	gnn_evaluator_destroy(e);
	return rc;
}

int gnn_evaluator_run(struct gnn_evaluator *e, double figure[GNN_SPLIT_COUNT])
{
	const uint64_t vertices = e->source->store->vertices, span = gnn_trace_begin();
	struct gnn_score *score = NULL;
	float *y = e->x;
	int rc;

	for (int k = 0; k < GNN_SPLIT_COUNT; k++)
		figure[k] = 0.0 / 0.0;
	GNN_TRY(gnn_score_create(&score, e->source->store, e->source->classes, e->metric, false));
	if (score == NULL)
		goto out;
	e->name = gnn_score_name(score);
	for (uint32_t l = 0; l < gnn_net_shape_of(e->net)->layers; l++) {
		const struct gnn_layer_input in = {.block = &e->block, .x = y};

		GNN_TRY(gnn_net_layer(e->net, l, &in, &y));
	}
	GNN_TRY(gnn_score_rows(score, 0, vertices, y));
	GNN_TRY(gnn_score_end(score, figure));
	if (vertices >= TRIM_VERTICES)
		gnn_net_trim(e->net);
out:
	gnn_score_destroy(score);
	gnn_trace_end(span, "evaluate");
	return rc;
}

const char *gnn_evaluator_metric(const struct gnn_evaluator *e)
{
	return e->name;
}

void gnn_evaluator_destroy(struct gnn_evaluator *e)
{
	if (e == NULL)
		return;
	gnn_block_fini(&e->block);
	if (e->owns_x)
		gnn_mem_free(e->x);
	gnn_mem_free(e);
}
