/* infer/result.c - see result.h. */
#include "infer/result.h"

#include "base/mem.h"
#include "infer/import_order.h"
#include "infer/portion.h"
#include "infer/score.h"
#include "io/store_schema.h"
#include "io/stream.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 4096, EXTERNAL_ROWS = 1 << 17 };

struct gnn_result {
	const struct gnn_model  *model;
	const struct gnn_share  *share;
	struct gnn_container    *container;
	struct gnn_portion      *rows;       /* of the layer at work; NULL: dropped */
	struct gnn_portion      *prediction;
	struct gnn_import_order *order;      /* rows pass through; NULL: they come in it */
	uint32_t                 layer;      /* at work */
	uint32_t                 layer_count;
	uint32_t                 width;      /* of the last layer */
	bool                     predict, save_layers;
	bool                     multi_label;
	void                    *predicted;  /* of the block at hand */
	uint64_t                 predicted_rows;
	uint64_t                 written_bytes;
};

static bool is_kept(const struct gnn_result *r, uint32_t layer)
{
	return layer + 1 == r->layer_count || r->save_layers;
}

static void layer_name(char *to, size_t bytes, const struct gnn_result *r, uint32_t layer)
{
	if (layer + 1 == r->layer_count)
		snprintf(to, bytes, "%s", GNN_RESULT_EMBEDDINGS);
	else
		snprintf(to, bytes, GNN_RESULT_LAYER, layer + 1);
}

static void describe_arrays(const struct gnn_result *r, const struct gnn_infer_opts *o,
	struct gnn_array *array, uint32_t *count)
{
	uint64_t v = o->store->whole_vertices;

	for (uint32_t l = 0; l < r->layer_count; l++) {
		struct gnn_array a = {.dtype = GNN_F32, .rank = 2, .rows = v,
			.cols = gnn_model_width(o->model, l)};

		if (!is_kept(r, l))
			continue;
		layer_name(a.name, sizeof(a.name), r, l);
		array[(*count)++] = a;
	}
	if (o->predict)
		array[(*count)++] = (struct gnn_array){.name = GNN_RESULT_PREDICTION,
			.dtype = r->multi_label ? GNN_U8 : GNN_I64, .rank = r->multi_label ? 2 : 1,
			.rows = v, .cols = r->multi_label ? r->width : 1};
	if (o->store->external_id != NULL)
		array[(*count)++] = (struct gnn_array){.name = GNN_RESULT_EXTERNAL_ID,
			.dtype = GNN_U64, .rank = 1, .rows = v, .cols = 1};
}

static uint64_t row_bytes_max(const struct gnn_result *r)
{
	uint64_t bytes = sizeof(uint64_t); /* of an external id */

	for (uint32_t l = 0; l < r->layer_count; l++)
		if (is_kept(r, l))
			bytes = gnn_max_u64(bytes,
				gnn_model_width(r->model, l) * (uint64_t)sizeof(float));
	return bytes;
}

/* A rank makes the file, under a temporary name that it tells the others; *name holds it. */
static int make_file(struct gnn_result *r, const struct gnn_infer_opts *o, const char *run_id,
	char name[NAME_BYTES])
{
	struct gnn_array array[GNN_LAYERS_MAX + 3];
	struct gnn_attr attr[] = {
		{.name = GNN_ATTR_VERTICES, .number = o->store->whole_vertices},
		{.name = GNN_ATTR_EDGES, .number = o->store->whole_edges},
		{.name = GNN_ATTR_RUN, .text = run_id}};
	uint32_t count = 0;
	int rc;

	describe_arrays(r, o, array, &count);
	GNN_TRY(gnn_container_create(&r->container, &(struct gnn_container_opts){
		.path = o->out_path, .format = GNN_FORMAT_RESULT, .engine = o->engine}, array,
		count, attr, GNN_COUNT_OF(attr)));
	if (o->provenance != NULL)
		GNN_TRY(gnn_container_set_provenance(r->container, o->provenance));
	if (snprintf(name, NAME_BYTES, "%s", gnn_container_temp(r->container)) >= NAME_BYTES)
		GNN_FAIL(GNN_ECREAT, "%s: the name is too long", o->out_path);
out:
	return rc;
}

static int open_file(struct gnn_result *r, const struct gnn_infer_opts *o, const char *run_id)
{
	char name[NAME_BYTES] = {0};
	int rc = GNN_OK;

	if (o->share == NULL || o->share->rank == 0)
		GNN_TRY(make_file(r, o, run_id, name));
	if (o->share == NULL)
		return GNN_OK;
	GNN_TRY(gnn_comm_broadcast(o->share->comm, 0, name, sizeof(name)));
	if (o->share->rank > 0)
		GNN_TRY(gnn_container_join(&r->container, &(struct gnn_container_opts){
			.path = o->out_path, .format = GNN_FORMAT_RESULT, .engine = o->engine},
			name));
out:
	return rc;
}

int gnn_result_create(struct gnn_result **out, const struct gnn_infer_opts *o, const char *run_id)
{
	struct gnn_result *r = NULL;
	int rc;

	*out = NULL;
	GNN_NEW(r, GNN_MEM_MISC);
	r->model = o->model;
	r->share = o->share;
	r->layer_count = gnn_model_layers(o->model);
	r->width = gnn_model_width(o->model, r->layer_count - 1);
	r->save_layers = o->save_layers;
	r->multi_label = o->store->labels != NULL && o->store->labels->rank == 2;
	GNN_TRY(open_file(r, o, run_id));
	if (!o->raw)
		GNN_TRY(gnn_import_order_create(&r->order, o, row_bytes_max(r)));
	r->predict = o->predict;
	r->layer = UINT32_MAX;
	*out = r;
	r = NULL;
out:
	gnn_result_destroy(r);
	return rc;
}

/* This rank's rows of an array; in import order where the store is in another. */
static int open_portion(struct gnn_portion **out, const struct gnn_result *r, const char *name,
	uint64_t row_bytes)
{
	const uint64_t *bound = r->share != NULL ? r->share->part.bound : NULL;

	if (r->order != NULL)
		bound = gnn_import_order_bounds(r->order);
	return gnn_portion_open(out, &(struct gnn_portion_opts){.share = r->share,
		.bound = bound, .container = r->container, .name = name,
		.row_bytes = row_bytes});
}

static int push_prediction(struct gnn_result *r, uint64_t rows, const float *h)
{
	uint64_t row_bytes = r->multi_label ? r->width : sizeof(int64_t);
	int rc = GNN_OK;

	if (rows > r->predicted_rows) {
		GNN_TRY(gnn_mem_resize(&r->predicted, rows, row_bytes, GNN_MEM_IO));
		r->predicted_rows = rows;
	}
	for (uint64_t i = 0; i < rows && !r->multi_label; i++)
		((int64_t *)r->predicted)[i] = gnn_score_class(h + i * r->width, r->width);
	for (uint64_t i = 0; i < rows * r->width && r->multi_label; i++)
		((uint8_t *)r->predicted)[i] = h[i] > 0.0f;
	GNN_TRY(gnn_portion_push(r->prediction, r->predicted, rows * row_bytes));
	r->written_bytes += rows * row_bytes;
out:
	return rc;
}

static int write_rows(struct gnn_result *r, uint64_t rows, const float *h)
{
	uint64_t row_bytes = gnn_model_width(r->model, r->layer) * sizeof(float);
	int rc;

	GNN_TRY(gnn_portion_push(r->rows, h, rows * row_bytes));
	r->written_bytes += rows * row_bytes;
	if (r->prediction != NULL && r->layer + 1 == r->layer_count)
		GNN_TRY(push_prediction(r, rows, h));
out:
	return rc;
}

/* All rows have come. */
static int end_layer(struct gnn_result *r)
{
	struct gnn_runs_range range;
	int rc = GNN_OK;

	if (r->rows == NULL)
		return GNN_OK;
	if (r->order != NULL) {
		GNN_TRY(gnn_import_order_end(r->order));
		while ((rc = gnn_import_order_next(r->order, &range)) == GNN_OK)
			GNN_TRY(write_rows(r, range.rows, range.data));
		GNN_TRY(rc);
	}
	rc = gnn_portion_close(&r->rows);
out:
	return rc;
}

/* Ends the layer at work and opens the array of the next. */
static int turn_to(struct gnn_result *r, uint32_t layer)
{
	char name[GNN_ARRAY_NAME_MAX];
	int rc = GNN_OK;

	if (r->layer == layer)
		return GNN_OK;
	GNN_TRY(end_layer(r));
	r->layer = layer;
	if (!is_kept(r, layer))
		return GNN_OK;
	layer_name(name, sizeof(name), r, layer);
	GNN_TRY(open_portion(&r->rows, r, name, gnn_model_width(r->model, layer) * sizeof(float)));
	if (r->predict && layer + 1 == r->layer_count)
		GNN_TRY(open_portion(&r->prediction, r, GNN_RESULT_PREDICTION,
			r->multi_label ? r->width : sizeof(int64_t)));
	if (r->order != NULL)
		GNN_TRY(gnn_import_order_begin(r->order,
			gnn_model_width(r->model, layer) * sizeof(float)));
out:
	return rc;
}

int gnn_result_rows(struct gnn_result *r, uint32_t layer, uint64_t rows, const float *h)
{
	int rc;

	GNN_TRY(turn_to(r, layer));
	if (r->rows == NULL)
		return GNN_OK;
	rc = r->order != NULL ? gnn_import_order_push(r->order, rows, h) : write_rows(r, rows, h);
out:
	return rc;
}

static int sort_external_ids(struct gnn_result *r, struct gnn_portion *ids)
{
	struct gnn_runs_range range;
	int rc;

	GNN_TRY(gnn_import_order_end(r->order));
	while ((rc = gnn_import_order_next(r->order, &range)) == GNN_OK)
		GNN_TRY(gnn_portion_push(ids, range.data, range.rows * sizeof(uint64_t)));
out:
	return rc < 0 ? rc : GNN_OK;
}

/* Those of the store's rows, a piece at a time; ranks without more take part. */
static int push_external_ids(struct gnn_result *r, const struct gnn_store *s,
	struct gnn_stream *stream, struct gnn_portion *ids)
{
	uint64_t rows = r->share != NULL ? r->share->rows_max : s->vertices;
	struct gnn_piece *piece = NULL;
	int rc = GNN_OK;

	for (uint64_t row = 0; row < rows; row += EXTERNAL_ROWS) {
		uint64_t count = 0;

		if (row < s->vertices) {
			GNN_TRY(gnn_stream_next(stream, &piece));
			count = piece->bytes / sizeof(uint64_t);
		}
		rc = r->order != NULL ? gnn_import_order_push(r->order, count,
			count > 0 ? piece->data : NULL) :
			count > 0 ? gnn_portion_push(ids, piece->data, piece->bytes) : GNN_OK;
		r->written_bytes += count * sizeof(uint64_t);
		if (count > 0)
			gnn_stream_put(stream, piece);
		if (rc < 0)
			goto out;
	}
out:
	return rc < 0 ? rc : GNN_OK;
}

static int copy_external_ids(struct gnn_result *r, const struct gnn_store *s)
{
	struct gnn_portion *ids = NULL;
	struct gnn_stream *stream = NULL;
	int rc;

	GNN_TRY(open_portion(&ids, r, GNN_RESULT_EXTERNAL_ID, sizeof(uint64_t)));
	if (r->order != NULL)
		GNN_TRY(gnn_import_order_begin(r->order, sizeof(uint64_t)));
	GNN_TRY(gnn_stream_open(&stream, &(struct gnn_stream_opts){.container = s->container,
		.array = s->external_id, .first_byte = s->first * sizeof(uint64_t),
		.bytes = s->vertices * sizeof(uint64_t),
		.piece_bytes = EXTERNAL_ROWS * sizeof(uint64_t), .ahead = 2, .lent = 1,
		.verify = true}));
	GNN_TRY(push_external_ids(r, s, stream, ids));
	if (r->order != NULL)
		GNN_TRY(sort_external_ids(r, ids));
	rc = gnn_portion_close(&ids);
out:
	gnn_stream_close(stream);
	gnn_portion_abort(ids);
	return rc;
}

/* Every writer has its bytes on the disk before rank 0 gives the file its name. */
static int publish(struct gnn_result *r)
{
	int rc = GNN_OK;

	if (r->share == NULL)
		return gnn_container_commit(&r->container);
	GNN_TRY(gnn_container_sync(r->container));
	GNN_TRY(gnn_comm_agree(r->share->comm, rc));
	if (r->share->rank == 0)
		GNN_TRY(gnn_container_commit(&r->container));
	GNN_TRY(gnn_comm_agree(r->share->comm, rc));
out:
	return rc;
}

int gnn_result_end(struct gnn_result *r, const struct gnn_store *s, uint64_t *written_bytes)
{
	int rc;

	GNN_TRY(end_layer(r));
	if (r->prediction != NULL)
		GNN_TRY(gnn_portion_close(&r->prediction));
	if (s->external_id != NULL)
		GNN_TRY(copy_external_ids(r, s));
	*written_bytes = r->written_bytes;
out:
	return rc;
}

int gnn_result_commit(struct gnn_result **result)
{
	int rc = publish(*result);

	gnn_result_destroy(*result);
	*result = NULL;
	return rc;
}

void gnn_result_destroy(struct gnn_result *r)
{
	if (r == NULL)
		return;
	gnn_portion_abort(r->rows);
	gnn_portion_abort(r->prediction);
	gnn_import_order_destroy(r->order);
	gnn_container_close(r->container);
	gnn_mem_free(r->predicted);
	gnn_mem_free(r);
}
