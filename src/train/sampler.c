/* train/sampler.c - see sampler.h. */
#include "train/sampler.h"

#include "base/mem.h"
#include "train/draw.h"

#include <omp.h>
#include <string.h>

enum { AHEAD = 16, POSITIONS_INLINE = 64 };

#define NO_ROW UINT32_MAX

struct gnn_sampler {
	struct gnn_sampler_opts o;
	uint64_t        fanout[GNN_BLOCKS_MAX];
	uint32_t       *row;   /* (V) of the batch at hand, NO_ROW between batches */
	struct gnn_room entry; /* ids of the entries of the hop at work */
	struct gnn_room norm;  /* GCN: deg^-1/2 of each row */
};

/* What one hop draws with. */
struct hop {
	const struct gnn_sampler *s;
	uint64_t k;
	uint64_t stream;
	const gnn_vid *id;
	gnn_vid       *entry;
};

int gnn_sampler_create(struct gnn_sampler **out, const struct gnn_sampler_opts *o)
{
	struct gnn_sampler *s = NULL;
	int rc;

	*out = NULL;
	GNN_ASSERT(o->layers > 0 && o->layers <= GNN_BLOCKS_MAX && o->dependency > 0);
	GNN_NEW(s, GNN_MEM_MISC);
	s->o = *o;
	memcpy(s->fanout, o->fanout, o->layers * sizeof(*s->fanout));
	s->o.fanout = s->fanout;
	GNN_NEW_ARRAY(s->row, o->lists->vertices, GNN_MEM_TOPOLOGY);
	memset(s->row, 0xff, o->lists->vertices * sizeof(*s->row));
	*out = s;
	s = NULL;
out:
	gnn_sampler_destroy(s);
	return rc;
}

void gnn_sampler_destroy(struct gnn_sampler *s)
{
	if (s == NULL)
		return;
	gnn_mem_free(s->row);
	gnn_room_fini(&s->entry);
	gnn_room_fini(&s->norm);
	gnn_mem_free(s);
}

void gnn_sample_fini(struct gnn_sample *s)
{
	for (uint32_t l = 0; l < GNN_BLOCKS_MAX; l++)
		gnn_block_fini(&s->block[l]);
	gnn_room_fini(&s->room);
}

/* Threads that so many vertices or edges are worth. */
static int team_of(const struct gnn_sampler *s, uint64_t items)
{
	return (int)gnn_min_u64(s->o.threads, 1 + items / 1024);
}

/* Positions of v's list that are no messages: [*lo, *lo + the count returned). */
static uint64_t dropped(const struct gnn_sampler *s, gnn_vid v, uint64_t *lo)
{
	const uint64_t loops = s->o.rule.drop_loops ? gnn_lists_loops(s->o.lists, v) : 0;

	*lo = loops == 0 ? 0 : gnn_lists_find(s->o.lists, v, v) - s->o.lists->first[v];
	return loops;
}

static gnn_vid source_at(const struct gnn_sampler *s, gnn_vid v, uint64_t position, uint64_t lo,
	uint64_t loops)
{
	return gnn_lists_at(s->o.lists,
		s->o.lists->first[v] + position + (position >= lo ? loops : 0));
}

/* Whether labor takes the edge from u into a vertex with `population` in-edges. */
static bool is_taken(const struct hop *h, gnn_vid u, uint64_t population)
{
	const uint64_t draw = gnn_rng_u64(h->s->o.seed, h->stream, u);

	return gnn_rng_below(draw, population) < h->k;
}

/* Messages of v that take part, the own row apart. */
static uint64_t count_sampled(const struct hop *h, gnn_vid v)
{
	const struct gnn_sampler *s = h->s;
	const uint64_t n = gnn_rule_population(&s->o.rule, s->o.lists, v);
	uint64_t lo, loops, count = 0;

	if (n <= h->k)
		return n;
	if (s->o.sampling == GNN_SAMPLE_UNIFORM)
		return h->k;
	loops = dropped(s, v, &lo);
	for (uint64_t p = 0; p < n; p++)
		count += is_taken(h, source_at(s, v, p, lo, loops), n);
	return count;
}

/* Short lists by insertion, long ones by a heap: no recursion, no memory. */
static void sift(uint64_t *x, uint64_t i, uint64_t n)
{
	const uint64_t value = x[i];

	for (uint64_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && x[child + 1] > x[child])
			child++;
		if (x[child] <= value)
			break;
		x[i] = x[child];
	}
	x[i] = value;
}

static void sort_positions(uint64_t *x, uint64_t n)
{
	if (n <= POSITIONS_INLINE) {
		for (uint64_t i = 1; i < n; i++) {
			const uint64_t value = x[i];
			uint64_t j = i;

			for (; j > 0 && x[j - 1] > value; j--)
				x[j] = x[j - 1];
			x[j] = value;
		}
		return;
	}
	for (uint64_t i = n / 2; i-- > 0;)
		sift(x, i, n);
	for (uint64_t end = n; end-- > 1;) {
		const uint64_t most = x[0];

		x[0] = x[end];
		x[end] = most;
		sift(x, 0, end);
	}
}

/* The sampled sources of v, `count` of them, ascending, into `to`, which is as long. */
static void list_sampled(const struct hop *h, gnn_vid v, gnn_vid *to, uint64_t count)
{
	const struct gnn_sampler *s = h->s;
	const uint64_t n = gnn_rule_population(&s->o.rule, s->o.lists, v);
	uint64_t lo, loops = dropped(s, v, &lo);

	if (n <= h->k) {
		for (uint64_t p = 0; p < n; p++)
			to[p] = source_at(s, v, p, lo, loops);
	} else if (s->o.sampling == GNN_SAMPLE_UNIFORM) {
		gnn_draw_distinct(to, count, n, gnn_rng_u64(s->o.seed, h->stream, v));
		sort_positions(to, count);
		for (uint64_t i = 0; i < count; i++)
			to[i] = source_at(s, v, to[i], lo, loops);
	} else {
		uint64_t at = 0;

		for (uint64_t p = 0; p < n; p++) {
			const gnn_vid u = source_at(s, v, p, lo, loops);

			if (is_taken(h, u, n))
				to[at++] = u;
		}
		GNN_ASSERT(at == count);
	}
}

/* The entries of destination i: its sample, and its own row in its place. */
static void list_entries(const struct hop *h, const struct gnn_block *b, uint64_t i)
{
	const bool own = h->s->o.rule.own;
	gnn_vid *to = h->entry + b->first[i];
	const uint64_t count = b->first[i + 1] - b->first[i] - own;
	const gnn_vid v = h->id[i];
	uint64_t at = count;

	list_sampled(h, v, to, count);
	if (!own)
		return;
	for (; at > 0 && to[at - 1] >= v; at--)
		to[at] = to[at - 1];
	to[at] = v;
}

static int list_hop(struct gnn_sampler *s, struct hop *h, struct gnn_block *b, uint64_t dst_count)
{
	const bool weighted = s->o.rule.weighting != GNN_WEIGH_NONE;
	uint64_t entries = 0;
	int rc;

	GNN_TRY(gnn_block_size(b, dst_count, 0, weighted));
#pragma omp parallel for num_threads(team_of(s, dst_count)) schedule(dynamic, 256)
	for (uint64_t i = 0; i < dst_count; i++)
		b->first[i + 1] = count_sampled(h, h->id[i]) + s->o.rule.own;
	b->first[0] = 0;
	for (uint64_t i = 0; i < dst_count; i++)
		b->first[i + 1] += b->first[i];
	entries = b->first[dst_count];
	GNN_TRY(gnn_room_take(&s->entry, entries, sizeof(gnn_vid)));
	GNN_TRY(gnn_block_size(b, dst_count, entries, weighted));
	h->entry = s->entry.data;
#pragma omp parallel for num_threads(team_of(s, dst_count)) schedule(dynamic, 256)
	for (uint64_t i = 0; i < dst_count; i++)
		list_entries(h, b, i);
out:
	return rc;
}

/* Room for `count` ids, those that are there kept. */
static int grow_ids(struct gnn_sample *to, uint64_t count)
{
	struct gnn_room next = {0};
	int rc;

	if (count * sizeof(gnn_vid) <= to->room.bytes)
		return GNN_OK;
	rc = gnn_room_take(&next, count, sizeof(gnn_vid));
	if (rc < 0)
		return rc;
	if (to->id_count > 0)
		memcpy(next.data, to->id, to->id_count * sizeof(gnn_vid));
	gnn_room_fini(&to->room);
	to->room = next;
	to->id = next.data;
	return rc;
}

/* Numbers the sources: destinations are the first rows, others as they come. */
static int number_rows(struct gnn_sampler *s, const struct hop *h, struct gnn_block *b,
	struct gnn_sample *to)
{
	uint64_t count = to->id_count;
	int rc;

	GNN_TRY(grow_ids(to, count + b->entry_count));
	for (uint64_t e = 0; e < b->entry_count; e++) {
		const gnn_vid u = h->entry[e];

		if (e + AHEAD < b->entry_count)
			__builtin_prefetch(&s->row[h->entry[e + AHEAD]], 1);
		if (s->row[u] == NO_ROW) {
			s->row[u] = (uint32_t)count;
			to->id[count++] = u;
		}
		b->src[e] = s->row[u];
	}
	to->id_count = count;
	b->src_count = count;
	if (count >= GNN_OWN_BIT)
		GNN_FAIL(GNN_ECONFIG, "a batch of %llu vertices is too large: give a smaller "
			"--batch-size or --fanout", (unsigned long long)count);
out:
	return rc;
}

/* Factors of destination i's entries; sampled ones, not the own row, stand for all of theirs. */
static void weigh_entries(const struct hop *h, struct gnn_block *b, const float *norm, uint64_t i)
{
	const struct gnn_edge_rule *rule = &h->s->o.rule;
	const uint64_t count = b->first[i + 1] - b->first[i];
	const uint64_t n = gnn_rule_population(rule, h->s->o.lists, h->id[i]);
	const uint64_t sampled = count - rule->own;
	float scale = 1.0f;
	bool seen = false;

	if (n > h->k)
		scale = (float)((double)n / (double)(h->s->o.sampling == GNN_SAMPLE_LABOR ? h->k
			: sampled));
	for (uint64_t e = b->first[i]; e < b->first[i + 1]; e++) {
		/* In front of listed self-loops, where those are messages too. */
		const bool own = rule->own && b->src[e] == i && !seen;

		seen |= own;
		if (rule->weighting == GNN_WEIGH_MEAN)
			b->weight[e] = 1.0f / (float)count;
		else if (rule->weighting == GNN_WEIGH_SUM)
			b->weight[e] = own ? 1.0f : scale;
		else
			b->weight[e] = norm[b->src[e]] * norm[i] * (own ? 1.0f : scale);
	}
}

static int weigh(struct gnn_sampler *s, const struct hop *h, struct gnn_block *b)
{
	const struct gnn_edge_rule *rule = &s->o.rule;
	float *norm = NULL;
	int rc = GNN_OK;

	if (rule->weighting == GNN_WEIGH_NONE)
		return GNN_OK;
	if (rule->weighting == GNN_WEIGH_GCN) {
		GNN_TRY(gnn_room_take(&s->norm, b->src_count, sizeof(float)));
		norm = s->norm.data;
#pragma omp parallel for num_threads(team_of(s, b->src_count)) schedule(static)
		for (uint64_t i = 0; i < b->src_count; i++)
			norm[i] = gnn_rule_norm(rule, s->o.lists, h->id[i]);
	}
#pragma omp parallel for num_threads(team_of(s, b->dst_count)) schedule(static)
	for (uint64_t i = 0; i < b->dst_count; i++)
		weigh_entries(h, b, norm, i);
out:
	return rc;
}

static int draw_hop(struct gnn_sampler *s, uint32_t hop, uint64_t step, struct gnn_sample *to)
{
	struct gnn_block *b = &to->block[s->o.layers - 1 - hop];
	struct hop h = {.s = s, .k = s->fanout[hop], .id = to->id};
	int rc;

	h.stream = gnn_draw_stream(s->o.sampling == GNN_SAMPLE_LABOR ? step / s->o.dependency
		: step, hop);
	GNN_TRY(list_hop(s, &h, b, to->id_count));
	GNN_TRY(number_rows(s, &h, b, to));
	h.id = to->id;
	GNN_TRY(weigh(s, &h, b));
out:
	return rc;
}

int gnn_sampler_draw(struct gnn_sampler *s, const gnn_vid *seeds, uint64_t count, uint64_t step,
	struct gnn_sample *to)
{
	int rc;

	to->layers = s->o.layers;
	to->id_count = 0;
	GNN_TRY(grow_ids(to, count));
	for (uint64_t i = 0; i < count; i++) {
		GNN_ASSERT(seeds[i] < s->o.lists->vertices && s->row[seeds[i]] == NO_ROW);
		s->row[seeds[i]] = (uint32_t)i;
		to->id[i] = seeds[i];
	}
	to->id_count = count;
	for (uint32_t hop = 0; hop < s->o.layers; hop++)
		GNN_TRY(draw_hop(s, hop, step, to));
out:
	for (uint64_t i = 0; i < to->id_count; i++)
		s->row[to->id[i]] = NO_ROW;
	return rc;
}
