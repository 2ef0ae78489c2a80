/* train/collect.c - see collect.h. */
#include "train/collect.h"

#include "op/grad.h"
#include "train/fetch.h"

int gnn_collect_init(struct gnn_collect *c, const struct gnn_train_source *s,
	struct gnn_backend *device, uint32_t threads)
{
	int rc;

	c->source = s;
	c->device = device;
	GNN_TRY(gnn_backend_create(&c->cpu, "cpu", &(struct gnn_backend_opts){
		.threads = threads}));
out:
	return rc;
}

void gnn_collect_fini(struct gnn_collect *c)
{
	gnn_fetch_close(c->fetch);
	gnn_backend_destroy(c->cpu);
	*c = (struct gnn_collect){0};
}

void gnn_collect_free(struct gnn_collect *c, struct gnn_collect_room *room)
{
	if (room->pinned)
		c->device->ops->unpin(c->device, room->room.data);
	room->pinned = false;
	gnn_room_fini(&room->room);
}

/* Room for the rows, which a device copies from fastest where it is pinned. */
static int take_rows(struct gnn_collect *c, struct gnn_collect_room *to, uint64_t floats)
{
	int rc = GNN_OK;

	if (floats * sizeof(float) <= to->room.bytes)
		return GNN_OK;
	gnn_collect_free(c, to);
	GNN_TRY(gnn_room_take(&to->room, floats, sizeof(float)));
	to->pinned = !c->device->ops->unified &&
		c->device->ops->pin(c->device, to->room.data, to->room.bytes) == GNN_OK;
out:
	return rc < 0 ? rc : GNN_OK;
}

int gnn_collect_rows(struct gnn_collect *c, const gnn_vid *id, uint64_t count,
	struct gnn_collect_room *to, float **x)
{
	const struct gnn_train_source *s = c->source;
	int rc;

	GNN_TRY(take_rows(c, to, count * s->dim));
	*x = to->room.data;
	if (s->table == NULL) {
		if (c->fetch == NULL)
			GNN_TRY(gnn_fetch_open(&c->fetch, s->store));
		return gnn_fetch_rows(c->fetch, id, count, *x);
	}
	GNN_TRY(c->cpu->ops->grad->gather(c->cpu, &(struct gnn_gather_args){.table = s->table,
		.dtype = s->dtype, .width = s->dim, .id = id, .rows = count, .to = *x}));
out:
	return rc;
}
