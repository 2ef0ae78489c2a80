/* train/onehop.c - see onehop.h. */
#include "train/onehop.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/mem.h"
#include "op/cpu/cpu.h"
#include "op/grad.h"

#include <string.h>

/* Vertices to aggregate, and which row of a matrix each becomes. */
struct wants {
	gnn_vid  *id;
	uint64_t *row;
	uint64_t  count;
	struct gnn_room room[2];
};

struct gnn_onehop {
	struct gnn_onehop_opts o;
	const struct gnn_train_source *source;
	struct gnn_collect *collect;
	struct gnn_sampler *sampler;
	struct gnn_sample   sample;
	struct gnn_room     x;     /* rows of the sample */
	struct wants        cold, fresh;
	float    *kept;            /* (parts, hot, dim) of the super-batch at hand */
	uint64_t *step;            /* (hot) 1 + the step that `kept` was drawn by; 0: none */
};

/* A matrix whose parts stand `part` floats apart. */
struct target {
	float   *data;
	uint64_t part;
};

int gnn_onehop_create(struct gnn_onehop **out, const struct gnn_onehop_opts *o,
	const struct gnn_sampler_opts *sampler, struct gnn_collect *c)
{
	struct gnn_sampler_opts one = *sampler;
	const uint64_t hot = o->hot_count;
	struct gnn_onehop *h = NULL;
	void *block;
	int rc;

	*out = NULL;
	GNN_ASSERT(o->super_batch > 0);
	GNN_NEW(h, GNN_MEM_MISC);
	h->o = *o;
	h->source = c->source;
	h->collect = c;
	one.backend = c->cpu;
	GNN_TRY(gnn_sampler_create_last(&h->sampler, &one));
	if (hot > 0) {
		GNN_TRY(gnn_mem_pages(&block, h->source->parts * hot * h->source->dim *
			sizeof(float), GNN_MEM_STATE));
		h->kept = block;
		GNN_NEW_ARRAY(h->step, hot, GNN_MEM_STATE);
	}
	*out = h;
	h = NULL;
out:
	gnn_onehop_destroy(h);
	return rc;
}

void gnn_onehop_destroy(struct gnn_onehop *h)
{
	if (h == NULL)
		return;
	gnn_sample_fini(&h->sample);
	gnn_sampler_destroy(h->sampler);
	gnn_room_fini(&h->x);
	for (int i = 0; i < 2; i++) {
		gnn_room_fini(&h->cold.room[i]);
		gnn_room_fini(&h->fresh.room[i]);
	}
	gnn_mem_free(h->kept);
	gnn_mem_free(h->step);
	gnn_mem_free(h);
}

static int want_room(struct wants *w, uint64_t count)
{
	int rc;

	GNN_TRY(gnn_room_take(&w->room[0], count, sizeof(*w->id)));
	GNN_TRY(gnn_room_take(&w->room[1], count, sizeof(*w->row)));
	w->id = w->room[0].data;
	w->row = w->room[1].data;
	w->count = 0;
out:
	return rc;
}

static void want(struct wants *w, gnn_vid v, uint64_t row)
{
	w->id[w->count] = v;
	w->row[w->count++] = row;
}

/* Threads for work on so many rows. */
static int team_of(const struct gnn_onehop *h, uint64_t rows)
{
	return gnn_cpu_team(h->collect->cpu, rows * h->source->dim);
}

/* Sums over the block into the rows that are wanted, which begin as 0. */
static int sum(struct gnn_onehop *h, const struct wants *w, const struct target *to)
{
	const struct gnn_block *b = &h->sample.block[0];
	const uint32_t dim = h->source->dim;
	struct gnn_backend *cpu = h->collect->cpu;

#pragma omp parallel for num_threads(team_of(h, w->count)) schedule(static)
	for (uint64_t i = 0; i < w->count; i++)
		memset(to->data + w->row[i] * dim, 0, dim * sizeof(float));
	return cpu->ops->aggregate(cpu, &(struct gnn_aggregate_args){
		.combine = GNN_COMBINE_SUM, .width = dim, .message = h->x.data,
		.message_pitch = dim, .own_factor = 1.0f, .state = to->data, .state_pitch = dim,
		.batch = {.group_count = w->count, .entry_count = b->entry_count,
			.vertex = w->row, .slot = w->row, .first = b->first, .src = b->src,
			.weight = b->weight}});
}

/* The rows of the wanted vertices themselves, the sample's first, behind all aggregates. */
static void take_own(struct gnn_onehop *h, const struct wants *w, const struct target *to)
{
	const uint64_t dim = h->source->dim;
	const float *x = h->x.data;

	if (h->source->parts < 2)
		return;
#pragma omp parallel for num_threads(team_of(h, w->count)) schedule(static)
	for (uint64_t i = 0; i < w->count; i++)
		memcpy(to->data + to->part + w->row[i] * dim, x + i * dim, dim * sizeof(float));
}

/* One hop of the vertices that are wanted, drawn by `step`. */
static int aggregate(struct gnn_onehop *h, const struct wants *w, uint64_t step,
	const struct target *to, struct gnn_onehop_counts *counts)
{
	const uint64_t dim = h->source->dim;
	int rc = GNN_OK;

	if (w->count == 0)
		return GNN_OK;
	GNN_TRY(gnn_sampler_draw(h->sampler, w->id, w->count, step, &h->sample));
	GNN_TRY(gnn_room_take(&h->x, h->sample.id_count * dim, sizeof(float)));
	GNN_TRY(gnn_collect_features(h->collect, h->sample.id, h->sample.id_count, h->x.data));
	GNN_TRY(sum(h, w, to));
	take_own(h, w, to);
	counts->gathered += h->sample.id_count;
	counts->computed += w->count;
out:
	return rc;
}

/* Which vertices are drawn anew, which for the super-batch; the others are kept already. */
static int sort_out(struct gnn_onehop *h, const gnn_vid *id, uint64_t count, uint64_t first)
{
	int rc;

	GNN_TRY(want_room(&h->cold, count));
	GNN_TRY(want_room(&h->fresh, count));
	for (uint64_t i = 0; i < count; i++) {
		const uint32_t place = h->kept != NULL ? h->o.place[id[i]] : GNN_NOT_HOT;

		if (place == GNN_NOT_HOT)
			want(&h->cold, id[i], i);
		else if (h->step[place] != first + 1 && !gnn_fault_next(GNN_FAULT_REUSE).action)
			want(&h->fresh, id[i], place);
	}
out:
	return rc;
}

/* Rows of hot vertices from what is kept, each checked to be of this super-batch. */
static void take_kept(struct gnn_onehop *h, const gnn_vid *id, uint64_t count, uint64_t step,
	const struct target *from, const struct target *to, struct gnn_onehop_counts *counts)
{
	const uint64_t dim = h->source->dim;
	uint64_t oldest = 0, reused = 0;

#pragma omp parallel for num_threads(team_of(h, count)) schedule(static) \
	reduction(max : oldest) reduction(+ : reused)
	for (uint64_t i = 0; i < count; i++) {
		const uint32_t place = h->o.place[id[i]];
		uint64_t age;

		if (place == GNN_NOT_HOT)
			continue;
		age = step + 1 - h->step[place];
		GNN_ASSERT(h->step[place] > 0 && age < h->o.super_batch);
		oldest = gnn_max_u64(oldest, age);
		reused++;
		for (uint32_t p = 0; p < h->source->parts; p++)
			memcpy(to->data + p * to->part + i * dim,
				from->data + p * from->part + place * dim, dim * sizeof(float));
	}
	counts->age = gnn_max_u64(counts->age, oldest);
	counts->reused += reused;
}

int gnn_onehop_rows(struct gnn_onehop *h, const gnn_vid *id, uint64_t count, uint64_t step,
	struct gnn_collect_room *room, float **x, struct gnn_onehop_counts *counts)
{
	const uint64_t dim = h->source->dim, first = step - step % h->o.super_batch;
	const uint64_t start = gnn_clock_ns();
	struct target rows = {NULL, count * dim}, kept = {h->kept, 0};
	int rc;

	*counts = (struct gnn_onehop_counts){0};
	GNN_TRY(gnn_collect_take(h->collect, room, h->source->parts * count * dim));
	*x = rows.data = room->room.data;
	GNN_TRY(sort_out(h, id, count, first));
	GNN_TRY(aggregate(h, &h->cold, step, &rows, counts));
	if (h->kept != NULL) {
		kept.part = h->o.hot_count * dim;
		GNN_TRY(aggregate(h, &h->fresh, first, &kept, counts));
		for (uint64_t i = 0; i < h->fresh.count; i++)
			h->step[h->fresh.row[i]] = first + 1;
		take_kept(h, id, count, step, &kept, &rows, counts);
		counts->reused -= h->fresh.count;
	}
	counts->seconds = gnn_clock_s_since(start);
out:
	return rc;
}
