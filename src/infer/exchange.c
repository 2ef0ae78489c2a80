/* infer/exchange.c - see exchange.h. */
#include "infer/exchange.h"

#include "base/clock.h"
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

static uint32_t own_width_of(const struct gnn_conv *c)
{
	return c->own == GNN_OWN_ROW ? c->message.dim_out - c->width : 0;
}

uint64_t gnn_exchange_bytes(const struct gnn_share *share, const struct gnn_backend *b,
	const struct gnn_conv *c, uint64_t chunk_rows, bool device)
{
	uint64_t heads = heads_of(c), row = c->width + heads, rows, bytes;

	if (share == NULL)
		return 0;
	rows = share->size * chunk_rows * sizeof(float);
	/* Two turns at hand; what goes out; scores as they come and as they are read. */
	bytes = GNN_EXCHANGE_TURNS * (rows * c->width + chunk_rows * own_width_of(c) *
		sizeof(float)) + rows * (row + 4 * heads);
	if (b->ops->unified)
		return device ? 0 : bytes;
	if (device)
		return bytes + share->size * chunk_rows * 2 * sizeof(struct gnn_move);
	return share->link != NULL ? 0 : 2 * rows * row;
}

static int init_host(struct gnn_exchange *x)
{
	uint64_t rows = x->share->size * x->chunk_rows, others = rows - x->chunk_rows;
	int rc;

	for (uint32_t t = 0; t < GNN_EXCHANGE_TURNS; t++) {
		GNN_NEW_ARRAY(x->rows[t], rows * x->width, GNN_MEM_STATE);
		if (x->own_width > 0)
			GNN_NEW_ARRAY(x->own[t], x->chunk_rows * x->own_width, GNN_MEM_STATE);
	}
	if (x->heads > 0) {
		GNN_NEW_ARRAY(x->scores, rows * 3 * x->heads, GNN_MEM_STATE);
		GNN_NEW_ARRAY(x->taken, others * x->heads, GNN_MEM_STATE);
	}
	GNN_NEW_ARRAY(x->out, others * (x->width + x->heads), GNN_MEM_STATE);
out:
	return rc;
}

int gnn_exchange_init(struct gnn_exchange *x, const struct gnn_share *share,
	struct gnn_backend *b, const struct gnn_conv *c, uint64_t chunk_rows)
{
	int rc = GNN_OK;

	*x = (struct gnn_exchange){.share = share, .backend = b, .chunk_rows = chunk_rows,
		.width = c->width, .own_width = own_width_of(c), .heads = heads_of(c)};
	if (share == NULL)
		return GNN_OK;
	GNN_NEW_ARRAY(x->coming, 2 * share->size, GNN_MEM_MISC);
	GNN_NEW_ARRAY(x->sent, 2 * share->size, GNN_MEM_MISC);
	GNN_TRY(b->ops->unified ? init_host(x) : gnn_exchange_device_init(x));
out:
	if (rc < 0)
		gnn_exchange_fini(x);
	return rc;
}

int gnn_exchange_wait(struct gnn_exchange *x, struct gnn_comm_request **r)
{
	uint64_t begun = gnn_clock_ns();
	int rc = GNN_OK;

	for (uint32_t i = 0; i < 2 * x->share->size; i++)
		GNN_TRY(gnn_comm_wait(x->share->comm, &r[i]));
out:
	x->wait_ns += gnn_clock_ns() - begun;
	return rc;
}

/* To the last, whatever becomes of each. */
static void drain(struct gnn_exchange *x, struct gnn_comm_request **r)
{
	for (uint32_t i = 0; r != NULL && i < 2 * x->share->size; i++)
		(void)gnn_comm_wait(x->share->comm, &r[i]);
}

void gnn_exchange_abandon(struct gnn_exchange *x)
{
	if (!x->under_way)
		return;
	(void)gnn_exchange_finish(x);
	x->backend->ops->sync(x->backend);
}

/* Nothing may be on its way when the memory goes, but what a failed job leaves behind. */
void gnn_exchange_fini(struct gnn_exchange *x)
{
	struct gnn_comm *c;

	if (x->share == NULL)
		return;
	c = x->share->comm;
	gnn_exchange_abandon(x);
	drain(x, x->sent);
	drain(x, x->coming);
	gnn_mem_free(x->sent);
	gnn_mem_free(x->coming);
	if (!x->backend->ops->unified) {
		gnn_exchange_device_fini(x);
	} else {
		for (uint32_t t = 0; t < GNN_EXCHANGE_TURNS; t++) {
			gnn_comm_keep(c, x->rows[t]);
			gnn_mem_free(x->own[t]);
		}
		gnn_comm_keep(c, x->out);
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

static int start_host(struct gnn_exchange *x)
{
	uint64_t others = (x->share->size - 1) * x->chunk_rows;
	const struct gnn_exchange_chunk *c = &x->chunk;
	uint32_t size = x->share->size;
	float *rows = x->rows[x->turn];
	int rc;

	GNN_TRY(gnn_exchange_wait(x, x->sent));
	if (c->wants_rows)
		GNN_TRY(start_kind(x, x->round, &(struct kind){.tag = TAG_ROWS, .from = c->rows,
			.pitch = c->pitch, .width = x->width, .out = x->out,
			.in = rows + x->chunk_rows * x->width}, x->sent, x->coming));
	if (c->wants_scores)
		GNN_TRY(start_kind(x, x->round, &(struct kind){.tag = TAG_SCORES,
			.from = c->scores, .pitch = 3 * (uint64_t)x->heads, .width = x->heads,
			.out = x->out + others * x->width, .in = x->taken}, x->sent + size,
			x->coming + size));
	if (!c->wants_rows)
		goto out;
	spread(rows, x->width, c->rows, c->pitch, x->width, c->count);
	if (x->own_width > 0 && c->own != NULL)
		spread(x->own[x->turn], x->own_width, c->own, c->own_pitch, x->own_width,
			c->count);
out:
	return rc;
}

static int finish_host(struct gnn_exchange *x)
{
	uint64_t pitch = 3 * (uint64_t)x->heads;
	int rc;

	GNN_TRY(gnn_exchange_wait(x, x->coming));
	if (!x->chunk.wants_scores)
		goto out;
	spread(x->scores, pitch, x->chunk.scores, pitch, x->heads, x->chunk.count);
	spread(x->scores + x->chunk_rows * pitch, pitch, x->taken, x->heads, x->heads,
		x->round->take[x->share->size]);
out:
	return rc;
}

int gnn_exchange_start(struct gnn_exchange *x, const struct gnn_round *round,
	const struct gnn_exchange_chunk *chunk)
{
	GNN_ASSERT(!x->under_way);
	x->span = gnn_trace_begin();
	x->turn = (x->turn + 1) % GNN_EXCHANGE_TURNS;
	x->round = round;
	x->chunk = *chunk;
	x->sent_rows += round->send[x->share->size];
	x->under_way = true;
	return x->backend->ops->unified ? start_host(x) : gnn_exchange_device_start(x);
}

int gnn_exchange_finish(struct gnn_exchange *x)
{
	uint64_t span = gnn_trace_begin();
	int rc;

	if (!x->under_way)
		return GNN_OK;
	rc = x->backend->ops->unified ? finish_host(x) : gnn_exchange_device_finish(x);
	x->under_way = false;
	gnn_trace_end(span, "peers");
	gnn_trace_end(x->span, "exchange");
	return rc;
}
