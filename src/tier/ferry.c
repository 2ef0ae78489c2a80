/* tier/ferry.c - see ferry.h. */
#include "tier/ferry.h"

#include "base/mem.h"

#include <string.h>

uint64_t gnn_ferry_host_bytes(uint32_t width, uint64_t block_rows)
{
	return 2 * GNN_FERRIES * block_rows * width * sizeof(float);
}

uint64_t gnn_ferry_device_bytes(uint32_t width, uint64_t block_rows)
{
	return 2 * GNN_FERRIES * block_rows * width * sizeof(float);
}

static uint64_t block_bytes(const struct gnn_ferry *f)
{
	return f->o.block_rows * f->o.width * sizeof(float);
}

static int alloc_blocks(struct gnn_ferry *f, uint32_t i)
{
	struct gnn_backend *b = f->o.backend;
	void *block;
	int rc;

	GNN_TRY(b->ops->alloc(b, &block, block_bytes(f)));
	f->there[i] = block;
	GNN_TRY(b->ops->alloc_host(b, &block, block_bytes(f)));
	f->down[i] = block;
	GNN_TRY(b->ops->alloc_host(b, &block, block_bytes(f)));
	f->up[i] = block;
out:
	return rc;
}

int gnn_ferry_init(struct gnn_ferry *f, const struct gnn_ferry_opts *o)
{
	int rc;

	GNN_ASSERT(o->block_rows > 0);
	*f = (struct gnn_ferry){.o = *o};
	for (uint32_t i = 0; i < GNN_FERRIES; i++)
		GNN_TRY(alloc_blocks(f, i));
	GNN_TRY(o->backend->ops->reserve(o->backend, GNN_STAGE_STORE, block_bytes(f)));
out:
	if (rc < 0)
		gnn_ferry_fini(f);
	return rc;
}

void gnn_ferry_fini(struct gnn_ferry *f)
{
	struct gnn_backend *b = f->o.backend;

	if (b == NULL)
		return;
	b->ops->sync(b);
	for (; f->count > 0; f->count--, f->first = (f->first + 1) % GNN_FERRIES)
		b->ops->fetched(b, f->load[f->first].ticket);
	for (uint32_t i = 0; i < GNN_FERRIES; i++) {
		b->ops->free(b, f->there[i]);
		b->ops->free_host(b, f->down[i]);
		b->ops->free_host(b, f->up[i]);
	}
	*f = (struct gnn_ferry){0};
}

/* --- down --- */

static int land_oldest(struct gnn_ferry *f)
{
	const struct gnn_ferry_load *l = &f->load[f->first];
	const float *row = f->down[f->first];
	uint32_t width = f->o.width;
	int rc;

	GNN_TRY(f->o.backend->ops->fetched(f->o.backend, l->ticket));
	for (uint64_t i = 0; i < l->count; i++, row += width)
		if (l->kind == GNN_MOVE_DEMOTE)
			memcpy(f->o.host + (uint64_t)l->moves[i].to * width, row,
				width * sizeof(float));
		else
			GNN_TRY(gnn_spill_put(f->o.spill, l->moves[i].to, row));
	f->first = (f->first + 1) % GNN_FERRIES;
	f->count--;
out:
	return rc;
}

int gnn_ferry_land(struct gnn_ferry *f)
{
	int rc = GNN_OK;

	while (f->count > 0)
		GNN_TRY(land_oldest(f));
out:
	return rc;
}

static int gather(struct gnn_ferry *f, float *to, const struct gnn_move *there, uint64_t count)
{
	struct gnn_backend *b = f->o.backend;

	return b->ops->move(b, &(struct gnn_move_args){.from = f->o.top,
		.from_pitch = f->o.width, .to = to, .to_pitch = f->o.width, .width = f->o.width,
		.moves = there, .count = count, .rule = GNN_MOVE_GATHER});
}

int gnn_ferry_down(struct gnn_ferry *f, enum gnn_move_kind kind, const struct gnn_move *moves,
	const struct gnn_move *there, uint64_t count)
{
	struct gnn_backend *b = f->o.backend;
	int rc = GNN_OK;

	for (uint64_t at = 0; at < count; at += f->o.block_rows) {
		uint32_t last = (f->first + f->count) % GNN_FERRIES;
		struct gnn_ferry_load *l;

		if (f->count == GNN_FERRIES)
			GNN_TRY(land_oldest(f));
		l = &f->load[last];
		*l = (struct gnn_ferry_load){.kind = kind, .moves = moves + at,
			.count = gnn_min_u64(f->o.block_rows, count - at)};
		GNN_TRY(gather(f, f->there[last], there + at, l->count));
		GNN_TRY(b->ops->fetch(b, f->down[last], f->there[last],
			l->count * f->o.width * sizeof(float), &l->ticket));
		f->count++;
	}
out:
	return rc;
}

int gnn_ferry_read(struct gnn_ferry *f, const struct gnn_move *moves, uint64_t count, float *to)
{
	struct gnn_backend *b = f->o.backend;
	uint64_t bytes = count * f->o.width * sizeof(float), ticket;
	const void *there;
	int rc;

	GNN_ASSERT(f->count == 0 && count <= f->o.block_rows);
	GNN_TRY(b->ops->reserve(b, GNN_STAGE_VERTICES, count * sizeof(*moves)));
	GNN_TRY(b->ops->stage(b, GNN_STAGE_VERTICES, moves, count * sizeof(*moves), &there));
	GNN_TRY(gather(f, f->there[0], there, count));
	GNN_TRY(b->ops->fetch(b, f->down[0], f->there[0], bytes, &ticket));
	GNN_TRY(b->ops->fetched(b, ticket));
	memcpy(to, f->down[0], bytes);
out:
	return rc;
}

/* --- up --- */

static int take_rows(struct gnn_ferry *f, enum gnn_move_kind kind, const struct gnn_move *moves,
	uint64_t count, float *to)
{
	uint32_t width = f->o.width;
	uint64_t asked = 0;
	int rc = GNN_OK;

	for (uint64_t i = 0; i < count; i++, to += width) {
		if (kind == GNN_MOVE_PROMOTE) {
			memcpy(to, f->o.host + (uint64_t)moves[i].from * width,
				width * sizeof(float));
			continue;
		}
		for (; asked < count && asked < i + f->o.pages_ahead; asked++)
			GNN_TRY(gnn_spill_ask(f->o.spill, moves[asked].from));
		GNN_TRY(gnn_spill_take(f->o.spill, moves[i].from, to));
	}
out:
	return rc;
}

static int send(struct gnn_ferry *f, const float *rows, const struct gnn_move *there,
	uint64_t count)
{
	struct gnn_backend *b = f->o.backend;
	uint32_t width = f->o.width;
	const void *staged;
	int rc;

	GNN_TRY(b->ops->stage(b, GNN_STAGE_STORE, rows, count * width * sizeof(float), &staged));
	GNN_TRY(b->ops->move(b, &(struct gnn_move_args){.from = staged, .from_pitch = width,
		.to = f->o.top, .to_pitch = width, .width = width, .moves = there,
		.count = count, .rule = GNN_MOVE_SCATTER}));
out:
	return rc;
}

int gnn_ferry_up(struct gnn_ferry *f, enum gnn_move_kind kind, const struct gnn_move *moves,
	const struct gnn_move *there, uint64_t count)
{
	struct gnn_backend *b = f->o.backend;
	int rc = GNN_OK;

	for (uint64_t at = 0; at < count; at += f->o.block_rows) {
		uint64_t some = gnn_min_u64(f->o.block_rows, count - at);
		uint32_t k = f->up_count % GNN_FERRIES;

		if (f->up_count >= GNN_FERRIES) /* its rows are on the device */
			GNN_TRY(b->ops->wait(b, f->up_ticket[k]));
		GNN_TRY(take_rows(f, kind, moves + at, some, f->up[k]));
		GNN_TRY(send(f, f->up[k], there + at, some));
		GNN_TRY(b->ops->mark(b, &f->up_ticket[k]));
		f->up_count++;
	}
out:
	return rc;
}
