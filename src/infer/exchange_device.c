/*
 * infer/exchange_device.c - rows that travel between memories of devices; see exchange.h.
 *
 * What goes is gathered on the device, and what comes lands behind the chunk's own rows there. Over
 * the link all of it is issued and nothing waited for: the streams of the device order it. What is
 * issued between start and finish is beside the rows on their way; what of it they touch was read
 * before start, and is read again behind finish.
 */
#include "base/mem.h"
#include "infer/exchange.h"

enum { TAG_ROWS = 2, TAG_SCORES = 3 };

/* One of the two kinds of rows that travel, each (rows, width). */
struct part {
	uint32_t width, tag;
	float   *out, *in;             /* there */
	float   *host_out, *host_in;   /* without a link */
	struct gnn_comm_request **sent, **coming;
};

static int alloc_floats(struct gnn_backend *b, float **out, uint64_t count)
{
	void *block;
	int rc = b->ops->alloc(b, &block, count * sizeof(float));

	*out = block;
	return rc;
}

int gnn_exchange_device_init(struct gnn_exchange *x)
{
	uint64_t rows = x->share->size * x->chunk_rows, others = rows - x->chunk_rows;
	struct gnn_backend *b = x->backend;
	void *block;
	int rc;

	for (uint32_t t = 0; t < GNN_EXCHANGE_TURNS; t++) {
		GNN_TRY(alloc_floats(b, &x->rows[t], rows * x->width));
		if (x->own_width > 0)
			GNN_TRY(alloc_floats(b, &x->own[t], x->chunk_rows * x->own_width));
	}
	GNN_TRY(alloc_floats(b, &x->out, others * (x->width + x->heads)));
	if (x->heads > 0) {
		GNN_TRY(alloc_floats(b, &x->scores, rows * 3 * x->heads));
		GNN_TRY(alloc_floats(b, &x->taken, others * x->heads));
	}
	GNN_NEW_ARRAY(x->message, 4 * (uint64_t)x->share->size, GNN_MEM_MISC);
	if (x->share->link == NULL) {
		GNN_TRY(b->ops->alloc_host(b, &block, 2 * others * (x->width + x->heads) *
			sizeof(float)));
		x->bounce = block;
	}
out:
	return rc;
}

void gnn_exchange_device_fini(struct gnn_exchange *x)
{
	struct gnn_backend *b = x->backend;

	for (uint32_t t = 0; t < GNN_EXCHANGE_TURNS; t++) {
		b->ops->free(b, x->rows[t]);
		b->ops->free(b, x->own[t]);
	}
	b->ops->free(b, x->out);
	b->ops->free(b, x->scores);
	b->ops->free(b, x->taken);
	gnn_mem_free(x->message);
	if (gnn_comm_failed(x->share->comm)) /* MPI may still touch it */
		gnn_comm_keep(x->share->comm, x->bounce);
	else
		b->ops->free_host(b, x->bounce);
}

static int copy_rows(struct gnn_exchange *x, float *to, uint64_t to_pitch, const float *from,
	uint64_t pitch, uint32_t width, uint64_t rows)
{
	struct gnn_backend *b = x->backend;

	return b->ops->copy(b, to, to_pitch * sizeof(float), from, pitch * sizeof(float),
		width * sizeof(float), rows);
}

/* Messages of one part behind those listed. */
static uint32_t list_messages(const struct gnn_exchange *x, const struct gnn_round *r,
	const struct part *p, uint32_t count)
{
	uint64_t row = p->width * sizeof(float);

	for (uint32_t q = 0; q < x->share->size; q++) {
		uint64_t send = r->send[q + 1] - r->send[q], take = r->take[q + 1] - r->take[q];

		if (send > 0)
			x->message[count++] = (struct gnn_link_message){.peer = q, .sends = true,
				.data = p->out + r->send[q] * p->width, .bytes = send * row};
		if (take > 0)
			x->message[count++] = (struct gnn_link_message){.peer = q,
				.data = p->in + r->take[q] * p->width, .bytes = take * row};
	}
	return count;
}

static int start_link(struct gnn_exchange *x, const struct part *part, uint32_t parts)
{
	struct gnn_backend *b = x->backend;
	uint32_t count = 0;
	void *stream;
	int rc;

	for (uint32_t i = 0; i < parts; i++)
		count = list_messages(x, x->round, &part[i], count);
	if (count == 0)
		return GNN_OK;
	GNN_TRY(b->ops->fork(b, &stream));
	GNN_TRY(gnn_link_exchange(x->share->link, x->message, count, stream));
out:
	return rc;
}

static int post_part(struct gnn_exchange *x, const struct gnn_round *r, const struct part *p)
{
	uint64_t row = p->width * sizeof(float);
	int rc = GNN_OK;

	for (uint32_t q = 0; q < x->share->size; q++) {
		uint64_t send = r->send[q + 1] - r->send[q], take = r->take[q + 1] - r->take[q];

		if (take > 0)
			GNN_TRY(gnn_comm_recv(x->share->comm, q, p->tag,
				p->host_in + r->take[q] * p->width, take * row, &p->coming[q]));
		if (send > 0)
			GNN_TRY(gnn_comm_send(x->share->comm, q, p->tag,
				p->host_out + r->send[q] * p->width, send * row, &p->sent[q]));
	}
out:
	return rc;
}

/* Down, and to other ranks' host memories. Rows of the round before are up once these are down. */
static int start_bounce(struct gnn_exchange *x, const struct part *part, uint32_t parts)
{
	struct gnn_backend *b = x->backend;
	uint64_t ticket;
	int rc = GNN_OK;

	for (uint32_t i = 0; i < parts; i++)
		GNN_TRY(copy_rows(x, part[i].host_out, part[i].width, part[i].out, part[i].width,
			part[i].width, x->round->send[x->share->size]));
	GNN_TRY(b->ops->mark(b, &ticket));
	GNN_TRY(b->ops->wait(b, ticket));
	for (uint32_t i = 0; i < parts; i++)
		GNN_TRY(post_part(x, x->round, &part[i]));
out:
	return rc;
}

static int finish_bounce(struct gnn_exchange *x, const struct part *part, uint32_t parts)
{
	int rc = GNN_OK;

	GNN_TRY(gnn_exchange_wait(x, x->coming));
	for (uint32_t i = 0; i < parts; i++)
		GNN_TRY(copy_rows(x, part[i].in, part[i].width, part[i].host_in, part[i].width,
			part[i].width, x->round->take[x->share->size]));
	GNN_TRY(gnn_exchange_wait(x, x->sent));
out:
	return rc;
}

/* Of each rank that rows go to, one behind the other. */
static int gather(struct gnn_exchange *x, const void *moves, const float *from, uint64_t pitch,
	const struct part *p)
{
	return x->backend->ops->move(x->backend, &(struct gnn_move_args){.from = from,
		.from_pitch = pitch, .to = p->out, .to_pitch = p->width, .width = p->width,
		.moves = moves, .count = x->round->send[x->share->size]});
}

/* The parts of the round; returns how many. */
static uint32_t list_parts(const struct gnn_exchange *x, struct part part[2])
{
	uint32_t size = x->share->size, parts = 0;
	uint64_t others = (size - 1) * x->chunk_rows, rows = others * x->width;
	float *host_in = x->bounce + others * (x->width + x->heads);

	if (x->chunk.wants_rows)
		part[parts++] = (struct part){.width = x->width, .tag = TAG_ROWS, .out = x->out,
			.in = x->rows[x->turn] + x->chunk_rows * x->width, .host_out = x->bounce,
			.host_in = host_in, .sent = x->sent, .coming = x->coming};
	if (x->chunk.wants_scores)
		part[parts++] = (struct part){.width = x->heads, .tag = TAG_SCORES,
			.out = x->out + rows, .in = x->taken, .host_out = x->bounce + rows,
			.host_in = host_in + rows, .sent = x->sent + size,
			.coming = x->coming + size};
	return parts;
}

/* What goes, one part behind the other. */
static int gather_parts(struct gnn_exchange *x, const struct part *part, uint32_t parts)
{
	const struct gnn_exchange_chunk *c = &x->chunk;
	struct gnn_backend *b = x->backend;
	const void *moves;
	int rc;

	GNN_TRY(b->ops->stage(b, GNN_STAGE_MOVES, x->round->move,
		x->round->send[x->share->size] * sizeof(*x->round->move), &moves));
	for (uint32_t i = 0; i < parts; i++)
		GNN_TRY(part[i].tag == TAG_ROWS ? gather(x, moves, c->rows, c->pitch, &part[i]) :
			gather(x, moves, c->scores, 3 * (uint64_t)x->heads, &part[i]));
out:
	return rc;
}

int gnn_exchange_device_start(struct gnn_exchange *x)
{
	const struct gnn_exchange_chunk *c = &x->chunk;
	struct part part[2];
	uint32_t parts = list_parts(x, part);
	int rc;

	GNN_TRY(gather_parts(x, part, parts));
	GNN_TRY(x->share->link != NULL ? start_link(x, part, parts) :
		start_bounce(x, part, parts));
	if (!c->wants_rows || c->count == 0)
		goto out;
	GNN_TRY(copy_rows(x, x->rows[x->turn], x->width, c->rows, c->pitch, x->width, c->count));
	if (x->own_width > 0 && c->own != NULL)
		GNN_TRY(copy_rows(x, x->own[x->turn], x->own_width, c->own, c->own_pitch,
			x->own_width, c->count));
out:
	return rc;
}

int gnn_exchange_device_finish(struct gnn_exchange *x)
{
	const struct gnn_exchange_chunk *c = &x->chunk;
	uint64_t pitch = 3 * (uint64_t)x->heads;
	struct part part[2];
	uint32_t parts = list_parts(x, part);
	int rc;

	GNN_TRY(x->share->link != NULL ? x->backend->ops->join(x->backend) :
		finish_bounce(x, part, parts));
	if (!c->wants_scores)
		goto out;
	GNN_TRY(copy_rows(x, x->scores, pitch, c->scores, pitch, x->heads, c->count));
	GNN_TRY(copy_rows(x, x->scores + x->chunk_rows * pitch, pitch, x->taken, x->heads,
		x->heads, x->round->take[x->share->size]));
out:
	return rc;
}
