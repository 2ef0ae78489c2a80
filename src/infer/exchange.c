/* infer/exchange.c - see exchange.h. */
#include "infer/exchange.h"

#include "base/mem.h"
#include "base/trace.h"

#include <string.h>

enum { TAG_ROWS = 2, TAG_SCORES = 3 };

/* One of the two kinds of rows that travel. */
struct kind {
	uint32_t     tag;
	const float *from; /* of the chunk */
	uint64_t     pitch;
	uint32_t     width;
	float       *out;  /* (rows sent, width) */
	float       *in;   /* (rows taken, width) */
};

static uint32_t heads_of(const struct gnn_conv *c)
{
	return c->combine == GNN_COMBINE_SOFTMAX ? c->heads : 0;
}

uint64_t gnn_exchange_bytes(const struct gnn_share *share, const struct gnn_backend *b,
	const struct gnn_conv *c, uint64_t chunk_rows, bool device)
{
	uint64_t heads = heads_of(c), row = c->width + heads, rows;

	if (share == NULL)
		return 0;
	rows = share->size * chunk_rows * sizeof(float);
	if (b->ops->unified)
		return device ? 0 : rows * ((1 + GNN_EXCHANGE_TURNS) * row + 3 * heads);
	if (device)
		return rows * (2 * row + 3 * heads) + share->size * chunk_rows *
			2 * sizeof(struct gnn_move);
	return share->link != NULL ? 0 : 2 * rows * row;
}

static int init_host(struct gnn_exchange *x)
{
	uint64_t rows = x->share->size * x->chunk_rows, others = rows - x->chunk_rows;
	int rc;

	GNN_NEW_ARRAY(x->rows, rows * x->width, GNN_MEM_STATE);
	if (x->heads > 0) {
		GNN_NEW_ARRAY(x->scores, rows * 3 * x->heads, GNN_MEM_STATE);
		GNN_NEW_ARRAY(x->taken, others * x->heads, GNN_MEM_STATE);
	}
	for (uint32_t t = 0; t < GNN_EXCHANGE_TURNS; t++)
		GNN_NEW_ARRAY(x->out[t], others * (x->width + x->heads), GNN_MEM_STATE);
out:
	return rc;
}

int gnn_exchange_init(struct gnn_exchange *x, const struct gnn_share *share,
	struct gnn_backend *b, const struct gnn_conv *c, uint64_t chunk_rows)
{
	int rc = GNN_OK;

	*x = (struct gnn_exchange){.share = share, .backend = b, .chunk_rows = chunk_rows,
		.width = c->width, .heads = heads_of(c)};
	if (share == NULL)
		return GNN_OK;
	GNN_NEW_ARRAY(x->coming, 2 * share->size, GNN_MEM_MISC);
	for (uint32_t t = 0; t < GNN_EXCHANGE_TURNS; t++)
		GNN_NEW_ARRAY(x->sent[t], 2 * share->size, GNN_MEM_MISC);
	GNN_TRY(b->ops->unified ? init_host(x) : gnn_exchange_device_init(x));
out:
	if (rc < 0)
		gnn_exchange_fini(x);
	return rc;
}

static int wait_all(struct gnn_exchange *x, struct gnn_comm_request **r)
{
	int rc = GNN_OK;

	for (uint32_t i = 0; i < 2 * x->share->size; i++)
		GNN_TRY(gnn_comm_wait(x->share->comm, &r[i]));
out:
	return rc;
}

/* Nothing may be on its way when the memory goes, but what a failed job leaves behind. */
void gnn_exchange_fini(struct gnn_exchange *x)
{
	struct gnn_comm *c;

	if (x->share == NULL)
		return;
	c = x->share->comm;
	for (uint32_t t = 0; t < GNN_EXCHANGE_TURNS; t++) {
		if (x->sent[t] != NULL)
			(void)wait_all(x, x->sent[t]);
		gnn_mem_free(x->sent[t]);
	}
	gnn_mem_free(x->coming);
	if (!x->backend->ops->unified) {
		gnn_exchange_device_fini(x);
	} else {
		for (uint32_t t = 0; t < GNN_EXCHANGE_TURNS; t++)
			gnn_comm_keep(c, x->out[t]);
		gnn_comm_keep(c, x->rows);
		gnn_comm_keep(c, x->taken);
		gnn_mem_free(x->scores);
	}
	*x = (struct gnn_exchange){0};
}

/* Rows of one kind that go to each rank, and the requests of those that come. */
static int start_kind(struct gnn_exchange *x, const struct gnn_round *r, const struct kind *k,
	struct gnn_comm_request **sent, struct gnn_comm_request **coming)
{
	uint64_t row = k->width * sizeof(float);
	uint32_t size = x->share->size;
	int rc = GNN_OK;

	for (uint64_t i = 0; i < r->send[size]; i++)
		memcpy(k->out + i * k->width, k->from + r->row[i] * k->pitch, row);
	for (uint32_t q = 0; q < size; q++) {
		uint64_t send = r->send[q + 1] - r->send[q], take = r->take[q + 1] - r->take[q];

		if (take > 0)
			GNN_TRY(gnn_comm_recv(x->share->comm, q, k->tag,
				k->in + r->take[q] * k->width, take * row, &coming[q]));
		if (send > 0)
			GNN_TRY(gnn_comm_send(x->share->comm, q, k->tag,
				k->out + r->send[q] * k->width, send * row, &sent[q]));
	}
out:
	return rc;
}

static void spread(float *to, uint64_t to_pitch, const float *from, uint64_t pitch, uint64_t width,
	uint64_t rows)
{
	for (uint64_t i = 0; i < rows; i++)
		memcpy(to + i * to_pitch, from + i * pitch, width * sizeof(float));
}

static int round_host(struct gnn_exchange *x, const struct gnn_round *round,
	const struct gnn_exchange_chunk *c)
{
	uint32_t size = x->share->size, turn = x->turn;
	uint64_t others = (size - 1) * x->chunk_rows, pitch = 3 * (uint64_t)x->heads;
	float *out = x->out[turn];
	int rc;

	x->turn = (turn + 1) % GNN_EXCHANGE_TURNS;
	GNN_TRY(wait_all(x, x->sent[turn]));
	if (c->rows != NULL)
		GNN_TRY(start_kind(x, round, &(struct kind){.tag = TAG_ROWS, .from = c->rows,
			.pitch = c->pitch, .width = x->width, .out = out,
			.in = x->rows + x->chunk_rows * x->width}, x->sent[turn], x->coming));
	if (c->scores != NULL)
		GNN_TRY(start_kind(x, round, &(struct kind){.tag = TAG_SCORES, .from = c->scores,
			.pitch = pitch, .width = x->heads, .out = out + others * x->width,
			.in = x->taken}, x->sent[turn] + size, x->coming + size));
	/* While they are on their way. */
	if (c->rows != NULL)
		spread(x->rows, x->width, c->rows, c->pitch, x->width, c->count);
	if (c->scores != NULL)
		spread(x->scores, pitch, c->scores, pitch, x->heads, c->count);
	GNN_TRY(wait_all(x, x->coming));
	if (c->scores != NULL)
		spread(x->scores + x->chunk_rows * pitch, pitch, x->taken, x->heads, x->heads,
			round->take[size]);
out:
	return rc;
}

int gnn_exchange_round(struct gnn_exchange *x, const struct gnn_round *round,
	const struct gnn_exchange_chunk *chunk)
{
	uint64_t span = gnn_trace_begin();
	int rc = x->backend->ops->unified ? round_host(x, round, chunk) :
		gnn_exchange_device_round(x, round, chunk);

	x->sent_rows += round->send[x->share->size];
	gnn_trace_end(span, "exchange");
	return rc;
}
