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

uint64_t gnn_exchange_bytes(const struct gnn_share *share, const struct gnn_conv *c,
	uint64_t chunk_rows)
{
	uint64_t heads = heads_of(c), row = c->width + heads;

	return share == NULL ? 0 : share->size * chunk_rows * sizeof(float) *
		((1 + GNN_EXCHANGE_TURNS) * row + 3 * heads);
}

int gnn_exchange_init(struct gnn_exchange *x, const struct gnn_share *share,
	const struct gnn_conv *c, uint64_t chunk_rows)
{
	uint64_t rows, others;
	int rc = GNN_OK;

	*x = (struct gnn_exchange){.share = share, .chunk_rows = chunk_rows, .width = c->width,
		.heads = heads_of(c)};
	if (share == NULL)
		return GNN_OK;
	rows = share->size * chunk_rows;
	others = rows - chunk_rows;
	GNN_NEW_ARRAY(x->rows, rows * x->width, GNN_MEM_STATE);
	GNN_NEW_ARRAY(x->coming, 2 * share->size, GNN_MEM_MISC);
	if (x->heads > 0) {
		GNN_NEW_ARRAY(x->scores, rows * 3 * x->heads, GNN_MEM_STATE);
		GNN_NEW_ARRAY(x->taken, others * x->heads, GNN_MEM_STATE);
	}
	for (uint32_t t = 0; t < GNN_EXCHANGE_TURNS; t++) {
		GNN_NEW_ARRAY(x->out[t], others * (x->width + x->heads), GNN_MEM_STATE);
		GNN_NEW_ARRAY(x->sent[t], 2 * share->size, GNN_MEM_MISC);
	}
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
		gnn_comm_keep(c, x->out[t]);
		gnn_mem_free(x->sent[t]);
	}
	gnn_comm_keep(c, x->rows);
	gnn_comm_keep(c, x->taken);
	gnn_mem_free(x->scores);
	gnn_mem_free(x->coming);
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

int gnn_exchange_round(struct gnn_exchange *x, const struct gnn_round *round, uint64_t count,
	const float *rows, uint64_t pitch, const float *scores)
{
	uint32_t size = x->share->size, turn = x->turn;
	uint64_t others = (size - 1) * x->chunk_rows, span = gnn_trace_begin();
	float *out = x->out[turn];
	int rc;

	x->turn = (turn + 1) % GNN_EXCHANGE_TURNS;
	GNN_TRY(wait_all(x, x->sent[turn]));
	if (rows != NULL)
		GNN_TRY(start_kind(x, round, &(struct kind){.tag = TAG_ROWS, .from = rows,
			.pitch = pitch, .width = x->width, .out = out,
			.in = x->rows + x->chunk_rows * x->width}, x->sent[turn], x->coming));
	if (scores != NULL)
		GNN_TRY(start_kind(x, round, &(struct kind){.tag = TAG_SCORES, .from = scores,
			.pitch = 3 * (uint64_t)x->heads, .width = x->heads,
			.out = out + others * x->width, .in = x->taken}, x->sent[turn] + size,
			x->coming + size));
	/* While they are on their way. */
	if (rows != NULL)
		spread(x->rows, x->width, rows, pitch, x->width, count);
	if (scores != NULL)
		spread(x->scores, 3 * (uint64_t)x->heads, scores, 3 * (uint64_t)x->heads,
			x->heads, count);
	GNN_TRY(wait_all(x, x->coming));
	if (scores != NULL)
		spread(x->scores + x->chunk_rows * 3 * x->heads, 3 * (uint64_t)x->heads, x->taken,
			x->heads, x->heads, round->take[size]);
	x->sent_rows += round->send[size];
out:
	gnn_trace_end(span, "exchange");
	return rc;
}
