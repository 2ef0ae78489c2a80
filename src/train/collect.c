/* train/collect.c - see collect.h. */
#include "train/collect.h"

#include "op/grad.h"
#include "train/fetch.h"

/* Rows of one kind: in memory, or in a file that `fetch` reads. */
struct table {
	const void             *rows;  /* or NULL */
	enum gnn_dtype          dtype; /* of them */
	struct gnn_fetch      **fetch;
	struct gnn_container   *container;
	const struct gnn_array *array;
};

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
	gnn_fetch_close(c->bottom);
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
int gnn_collect_take(struct gnn_collect *c, struct gnn_collect_room *to, uint64_t floats)
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

/* Rows of a table in memory or, where that is NULL, of an array, whose file is opened once. */
static int gather(struct gnn_collect *c, const struct table *t, const gnn_vid *id,
	uint64_t count, float *to)
{
	int rc = GNN_OK;

	if (t->rows != NULL)
		return c->cpu->ops->grad->gather(c->cpu, &(struct gnn_gather_args){
			.table = t->rows, .dtype = t->dtype, .width = c->source->dim, .id = id,
			.rows = count, .to = to});
	if (*t->fetch == NULL)
		GNN_TRY(gnn_fetch_open(t->fetch, t->container, t->array));
	GNN_TRY(gnn_fetch_rows(*t->fetch, id, count, to));
out:
	return rc;
}

/* What part `i` of the rows is gathered from. */
static struct table table_of(struct gnn_collect *c, uint32_t i)
{
	const struct gnn_train_source *s = c->source;
	const struct gnn_bottom *b = s->bottom;

	if (b == NULL)
		return (struct table){s->table, s->dtype, &c->fetch,
			s->store->container, s->store->features};
	if (i == 0)
		return (struct table){b->table, GNN_F32, &c->bottom, b->container,
			b->array};
	return (struct table){
		b->table == NULL ? NULL : b->table + b->array->rows * s->dim, GNN_F32, &c->fetch,
		s->store->container, s->store->features};
}

int gnn_collect_rows(struct gnn_collect *c, const gnn_vid *id, uint64_t count,
	struct gnn_collect_room *to, float **x)
{
	const uint64_t floats = count * c->source->dim;
	const uint32_t parts = c->source->parts;
	int rc;

	GNN_TRY(gnn_collect_take(c, to, parts * floats));
	*x = to->room.data;
	for (uint32_t i = 0; i < parts; i++) {
		const struct table table = table_of(c, i);

		GNN_TRY(gather(c, &table, id, count, *x + i * floats));
	}
out:
	return rc;
}

int gnn_collect_features(struct gnn_collect *c, const gnn_vid *id, uint64_t count, float *to)
{
	const struct table table = table_of(c, 0);

	GNN_ASSERT(c->source->bottom == NULL);
	return gather(c, &table, id, count, to);
}
