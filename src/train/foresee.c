/* train/foresee.c - see foresee.h. */
#include "train/foresee.h"

#include "base/log.h"
#include "base/mem.h"
#include "train/batch.h"

#include <stdio.h>

enum {
	BATCHES_A_WORKER = 2, PLACES = 3, /* as batch.c and carrier.c hold them */
	STRIPS_BYTES = 8 << 20,           /* of a device, for rows on their way */
	STATE_COPIES = 4,                 /* of weights: the best ones, a checkpoint on its way */
};

static uint64_t room_of(uint64_t count, uint64_t item_bytes)
{
	return count * item_bytes + count * item_bytes / 4;
}

static uint64_t block_bytes(const struct gnn_block *b)
{
	const bool turned = b->back_first != NULL;
	const uint64_t weights = b->weight != NULL ? 1 : 0;
	const uint64_t words = 1 + weights + (turned ? 2 + weights : 0);
	const uint64_t firsts = b->dst_count + 1 + (turned ? b->src_count + 1 : 0);

	if (gnn_block_is_bare(b))
		return 0;
	return room_of(firsts, sizeof(uint64_t)) +
		room_of(b->entry_count * words, sizeof(uint32_t));
}

/* Vertices whose rows of features, or aggregates, come with a batch. */
static uint64_t rows_of(const struct gnn_foresee_opts *o, const struct gnn_sample *s)
{
	return o->layerwise && !o->mixed ? s->block[0].dst_count : s->id_count;
}

/* One batch: ids, blocks, rows, labels, seeds, the gradient of the scores. */
static uint64_t batch_bytes(const struct gnn_foresee_opts *o, const struct gnn_batch *batch)
{
	const struct gnn_train_source *source = o->batches->source;
	const struct gnn_sample *s = &batch->sample;
	const uint64_t parts = o->mixed ? 1 : source->parts;
	const uint64_t label = source->label != NULL ? sizeof(int64_t) : source->classes;
	uint64_t bytes = room_of(s->id_count + s->block[0].entry_count, sizeof(gnn_vid)) +
		room_of(parts * rows_of(o, s) * source->dim, sizeof(float)) +
		room_of(batch->seed_count, label + sizeof(gnn_vid)) +
		room_of(batch->seed_count * source->classes, sizeof(float));

	for (uint32_t l = o->layerwise && !o->mixed ? 1 : 0; l < s->layers; l++)
		bytes += block_bytes(&s->block[l]);
	return bytes;
}

/* A table of all vertices, the entries of a hop, norms of rows. */
static uint64_t sampler_bytes(const struct gnn_foresee_opts *o, const struct gnn_sample *s)
{
	return o->batches->source->lists->vertices * sizeof(uint32_t) +
		room_of(s->block[0].entry_count, sizeof(gnn_vid)) +
		room_of(s->id_count, sizeof(float));
}

/* Rows of hot vertices of this super-batch and the next, their aggregates beside them. */
static uint64_t shelf_bytes(const struct gnn_foresee_opts *o, const struct gnn_sample *s)
{
	const struct gnn_net_shape *shape = gnn_net_shape_of(o->batches->net);
	const uint64_t count = gnn_min_u64(o->hot->count,
		o->super_batch * s->block[0].dst_count);
	const uint64_t aggregates = shape->arch == GNN_ARCH_GCN || shape->arch == GNN_ARCH_SAGE
		? (uint64_t)gnn_net_parts(shape->arch) * o->batches->source->dim : 0;

	return 2 * room_of(count * (gnn_shape_out(shape, 0) + aggregates), sizeof(float));
}

/* The last hop of a layer that the CPU aggregates: its block and its rows of features. */
static uint64_t onehop_bytes(const struct gnn_foresee_opts *o, const struct gnn_sample *s)
{
	return sampler_bytes(o, s) + block_bytes(&s->block[0]) +
		room_of(s->id_count * o->batches->source->dim, sizeof(float));
}

/* What is drawn and gathered for rows of hot vertices that are late, beside the batch. */
static uint64_t late_bytes(const struct gnn_foresee_opts *o, const struct gnn_sample *s)
{
	const bool unified = o->batches->backend->ops->unified;
	const uint64_t words = 3 * s->block[0].dst_count;
	const uint64_t one = block_bytes(&s->block[0]) + room_of(words, sizeof(uint64_t)) +
		room_of(s->id_count, sizeof(gnn_vid));

	return !unified ? (PLACES - 1) * one : one + sampler_bytes(o, s) +
		room_of(s->id_count * o->batches->source->dim, sizeof(float));
}

static void load_layers(struct gnn_foreseen *f, const struct gnn_foresee_opts *o,
	const struct gnn_sample *s)
{
	const struct gnn_net *n = o->batches->net;
	struct gnn_block bare = {0};

	f->load.dropped = o->gathers;
	gnn_block_bare(&bare, s->block[0].dst_count);
	for (uint32_t l = 0; l < s->layers; l++)
		gnn_net_load_layer(&f->load, n, l,
			l == 0 && o->layerwise && !o->mixed ? &bare : &s->block[l], true);
	if (o->mixed)
		gnn_net_load_mix(&f->load, n, s->block[0].dst_count,
			gnn_min_u64(o->hot->count, s->block[0].dst_count));
	f->layers = gnn_net_load_bytes(&f->load);
}

static void count(struct gnn_foreseen *f, const struct gnn_foresee_opts *o,
	const struct gnn_batch *batch)
{
	const struct gnn_sample *s = &batch->sample;
	const bool unified = o->batches->backend->ops->unified;
	const uint64_t workers = gnn_max_u64(o->batches->workers, 1);
	const bool apart = o->layerwise && !o->mixed;

	f->seeds = batch->seed_count;
	f->rows = s->id_count;
	for (uint32_t l = 0; l < s->layers; l++)
		f->edges += s->block[l].entry_count;
	load_layers(f, o, s);
	f->batches = batch_bytes(o, batch);
	if (unified) {
		f->batches *= workers * BATCHES_A_WORKER;
		f->others = workers * (sampler_bytes(o, s) + (apart ? onehop_bytes(o, s) : 0)) +
			gnn_net_load_scratch(&f->load, o->batches->threads) +
			STATE_COPIES * gnn_net_params(o->batches->net)->floats * sizeof(float);
	} else {
		f->batches *= !o->pipeline ? 1 : o->mixed ? PLACES - 1 : PLACES;
		f->others = STRIPS_BYTES + (o->samples ? sampler_bytes(o, s) : 0);
	}
	if (o->mixed)
		f->others += shelf_bytes(o, s);
	if (o->late)
		f->others += late_bytes(o, s);
}

int gnn_foresee(struct gnn_foreseen *f, const struct gnn_foresee_opts *o, uint64_t batch_size)
{
	struct gnn_batches_opts one = *o->batches;
	struct gnn_batches *batches = NULL;
	struct gnn_batch *batch;
	int rc;

	*f = (struct gnn_foreseen){0};
	one.batch_size = batch_size;
	one.first_step = 0;
	one.last_step = 1;
	one.workers = 0;
	one.collect = one.bare = false;
	one.onehop = NULL;
	one.plans = NULL;
	one.sampler.bare = one.source->bottom != NULL;
	GNN_TRY(gnn_batches_start(&batches, &one));
	GNN_TRY(gnn_batches_next(batches, &batch));
	count(f, o, batch);
	gnn_batches_put(batches, batch);
out:
	gnn_batches_stop(batches);
	return rc;
}

uint64_t gnn_foresee_room(const struct gnn_backend *b)
{
	struct gnn_mem_stats mem;

	if (!b->ops->unified)
		return b->ops->room_bytes(b);
	gnn_mem_stats(&mem);
	if (mem.limit_bytes == 0)
		return UINT64_MAX;
	return mem.limit_bytes - gnn_min_u64(mem.limit_bytes, mem.held_bytes);
}

/* The largest half, quarter ... of the batch size that fits; 0: none. */
static int find_size(const struct gnn_foresee_opts *o, uint64_t room, uint64_t *size)
{
	struct gnn_foreseen f;
	int rc;

	for (*size = o->batches->batch_size / 2; *size > 0; *size /= 2) {
		GNN_TRY(gnn_foresee(&f, o, *size));
		if (gnn_foreseen_bytes(&f) <= room)
			break;
	}
	rc = GNN_OK;
out:
	return rc;
}

static int refuse(const struct gnn_foreseen *f, const struct gnn_foresee_opts *o, uint64_t room)
{
	const bool host = o->batches->backend->ops->unified;
	const uint64_t wanted = gnn_foreseen_bytes(f);
	char smaller[64] = "";
	uint64_t size;
	int rc;

	GNN_TRY(find_size(o, room, &size));
	if (size > 0)
		snprintf(smaller, sizeof(smaller), ", or --batch-size %llu",
			(unsigned long long)size);
	return gnn_err(GNN_EOS, "%llu seeds reach %llu vertices by %llu edges: batches are "
		"foreseen to take %.1f MiB of %s memory, the layers %.1f, all else %.1f; %.1f MiB "
		"are left: %.1f MiB more of --%s-memory would suffice%s",
		(unsigned long long)f->seeds, (unsigned long long)f->rows,
		(unsigned long long)f->edges, (double)f->batches / 0x1p20,
		host ? "host" : "device", (double)f->layers / 0x1p20, (double)f->others / 0x1p20,
		(double)room / 0x1p20, (double)(wanted - room) / 0x1p20 + .1,
		host ? "host" : "gpu", smaller);
out:
	return rc;
}

int gnn_foresee_check(struct gnn_foreseen *f, const struct gnn_foresee_opts *o)
{
	const uint64_t room = gnn_foresee_room(o->batches->backend);
	int rc = gnn_foresee(f, o, o->batches->batch_size);

	if (rc == GNN_OK && gnn_foreseen_bytes(f) > room)
		rc = refuse(f, o, room);
	if (rc == GNN_OK)
		gnn_log(GNN_LOG_DEBUG, "train", "%llu seeds reach %llu vertices by %llu edges: "
			"batches take %.1f MiB, the layers %.1f, all else %.1f",
			(unsigned long long)f->seeds, (unsigned long long)f->rows,
			(unsigned long long)f->edges, (double)f->batches / 0x1p20,
			(double)f->layers / 0x1p20, (double)f->others / 0x1p20);
	return gnn_comm_agree(o->comm, rc);
}
