/* infer/program.c - see program.h. */
#include "infer/program.h"

#include "base/mem.h"

#include <omp.h>
#include <string.h>

enum { LANE_ENTRIES = 1 << 14 }; /* below, waking a thread takes longer than it helps */
enum { LOOK_AHEAD = 16 }; /* groups whose lists are asked for before their turn */
enum { SAMPLE_BLOCK = 64 }; /* edges whose thresholds are asked for ahead of their turn */
enum { DIGIT_BITS_MAX = 11 }; /* 2048 counters stay in the first-level cache */

uint64_t gnn_program_bytes(uint64_t entries, uint64_t vertices)
{
	return entries * 4 + (gnn_min_u64(entries, vertices) + 1) * 28;
}

int gnn_program_init(struct gnn_program *p, uint64_t entries, uint64_t vertices)
{
	uint64_t groups = gnn_min_u64(entries, vertices) + 1;
	int rc;

	*p = (struct gnn_program){0};
	GNN_NEW_PAGES(p->vertex, groups, GNN_MEM_TOPOLOGY);
	GNN_NEW_PAGES(p->carry, groups, GNN_MEM_TOPOLOGY);
	GNN_NEW_PAGES(p->first, groups, GNN_MEM_TOPOLOGY);
	GNN_NEW_PAGES(p->src, entries, GNN_MEM_TOPOLOGY);
	GNN_NEW_PAGES(p->next_, groups, GNN_MEM_TOPOLOGY);
out:
	if (rc < 0)
		gnn_program_fini(p);
	return rc;
}

int gnn_program_weigh(struct gnn_program *p, uint64_t entries)
{
	int rc;

	GNN_NEW_PAGES(p->weight, entries, GNN_MEM_TOPOLOGY);
out:
	return rc;
}

void gnn_program_fini(struct gnn_program *p)
{
	gnn_mem_free(p->next_);
	gnn_mem_free(p->vertex);
	gnn_mem_free(p->carry);
	gnn_mem_free(p->first);
	gnn_mem_free(p->src);
	gnn_mem_free(p->weight);
	*p = (struct gnn_program){0};
}

int gnn_grouper_init(struct gnn_grouper *g, const struct gnn_degrees *d,
	const struct gnn_range *to, uint64_t rows, uint64_t entries, bool drop_loops)
{
	uint32_t vertex_bits = gnn_index_bits(to->count);
	int rc;

	*g = (struct gnn_grouper){.degrees = d, .to = *to, .drop_loops = drop_loops,
		.capacity = entries};
	g->row_bits = gnn_index_bits(rows) + 1;
	GNN_ASSERT(rows <= GNN_OWN_BIT && vertex_bits + g->row_bits <= 64);
	g->digits = (vertex_bits + DIGIT_BITS_MAX - 1) / DIGIT_BITS_MAX;
	g->digit_bits = (vertex_bits + g->digits - 1) / g->digits;
	GNN_NEW_PAGES(g->entry, entries, GNN_MEM_TOPOLOGY);
	GNN_NEW_PAGES(g->spare, entries, GNN_MEM_TOPOLOGY);
	GNN_TRY(gnn_grouper_share(g, 1));
out:
	if (rc < 0)
		gnn_grouper_fini(g);
	return rc;
}

uint64_t gnn_grouper_lane_bytes(void)
{
	return ((UINT64_C(1) << DIGIT_BITS_MAX) + 1) * sizeof(uint64_t);
}

int gnn_grouper_share(struct gnn_grouper *g, uint32_t lanes)
{
	int rc;

	GNN_ASSERT(lanes > 0 && g->count == 0);
	gnn_mem_free(g->start);
	gnn_mem_free(g->groups);
	g->start = g->groups = NULL;
	g->lanes = lanes;
	GNN_NEW_ARRAY(g->start, (uint64_t)lanes << g->digit_bits, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(g->groups, lanes, GNN_MEM_TOPOLOGY);
out:
	return rc;
}

void gnn_grouper_fini(struct gnn_grouper *g)
{
	gnn_mem_free(g->start);
	gnn_mem_free(g->groups);
	gnn_mem_free(g->entry);
	gnn_mem_free(g->spare);
	gnn_mem_free(g->weight);
	gnn_mem_free(g->weight_spare);
	*g = (struct gnn_grouper){0};
}

int gnn_grouper_weigh(struct gnn_grouper *g, const float *own_weights)
{
	int rc;

	GNN_ASSERT(g->count == 0 && g->weight == NULL);
	g->own_weights = own_weights;
	GNN_NEW_PAGES(g->weight, g->capacity, GNN_MEM_TOPOLOGY);
	GNN_NEW_PAGES(g->weight_spare, g->capacity, GNN_MEM_TOPOLOGY);
out:
	return rc;
}

void gnn_grouper_sample(struct gnn_grouper *g, const struct gnn_draw *s, bool drawn)
{
	GNN_ASSERT(g->count == 0 && s->fanout != 0);
	g->sample = *s;
	g->drawn = drawn;
	g->source = UINT64_MAX;
}

void gnn_grouper_own(struct gnn_grouper *g, gnn_vid v, uint32_t row)
{
	GNN_ASSERT(g->count < g->capacity && v - g->to.first < g->to.count);
	if (g->weight != NULL)
		g->weight[g->count] = g->own_weights != NULL ? g->own_weights[v] : 1.0f;
	g->entry[g->count++] = ((v - g->to.first) << g->row_bits) |
		(UINT64_C(1) << (g->row_bits - 1)) | row;
}

static inline uint64_t neighbor_at(const void *neighbors, bool wide, uint64_t i)
{
	return wide ? ((const uint64_t *)neighbors)[i] : ((const uint32_t *)neighbors)[i];
}

/*
 * The neighbours of one row as entries; returns the largest, to be checked once. One loop for each
 * set of flags, which are constants where it is called.
 */
static inline __attribute__((always_inline)) uint64_t append(struct gnn_grouper *g, gnn_vid drop,
	uint32_t row, const void *neighbors, const float *weights, uint64_t count,
	const bool wide, const bool weighted)
{
	uint64_t *to = g->entry + g->count, kept = 0, largest = 0;
	float *weight = g->weight + (weighted ? g->count : 0);
	const gnn_vid first = g->to.first;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t u = neighbor_at(neighbors, wide, i) - first;

		largest = u > largest ? u : largest;
		to[kept] = (u << g->row_bits) | row;
		if (weighted)
			weight[kept] = weights[i];
		kept += u != drop;
	}
	g->count += kept;
	return largest;
}

static void prefetch_block(const uint64_t *threshold, const void *neighbors, bool wide,
	uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		__builtin_prefetch(&threshold[neighbor_at(neighbors, wide, i)]);
}

/* As append, of neighbours known to be in the range: those whose sample the edge is in. */
static void append_sampled(struct gnn_grouper *g, gnn_vid v, uint32_t row, const void *neighbors,
	const float *weights, uint64_t count, bool wide)
{
	const struct gnn_draw *s = &g->sample;
	uint64_t first = gnn_draw_source(s, v, 0), source;
	gnn_vid drop = g->drop_loops ? v : UINT64_MAX;

	if (v != g->source)
		g->last = UINT64_MAX;
	g->source = v;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t u = neighbor_at(neighbors, wide, i);

		if (i % SAMPLE_BLOCK == 0)
			prefetch_block(s->threshold, neighbors, wide, i,
				gnn_min_u64(i + SAMPLE_BLOCK, count));
		g->copy = u == g->last ? g->copy + 1 : 0;
		g->last = u;
		source = g->copy == 0 ? first : gnn_draw_source(s, v, g->copy);
		if (u == drop || !gnn_draw_keeps(s, source, u))
			continue;
		g->entry[g->count] = ((u - g->to.first) << g->row_bits) | row;
		if (weights != NULL)
			g->weight[g->count] = weights[i];
		g->count++;
	}
}

/* The farthest neighbour from the first vertex of the range. */
static uint64_t farthest(const struct gnn_grouper *g, const void *neighbors, bool wide,
	uint64_t count)
{
	uint64_t largest = 0;

	for (uint64_t i = 0; i < count; i++)
		largest = gnn_max_u64(largest, neighbor_at(neighbors, wide, i) - g->to.first);
	return largest;
}

/* `largest` counts from the first vertex of the range. */
static int check_neighbors(const struct gnn_grouper *g, gnn_vid v, uint64_t largest)
{
	if (largest < g->to.count)
		return GNN_OK;
	largest += g->to.first;
	if (largest >= g->degrees->vertices)
		return gnn_err(GNN_EDATA, "topology/out/neighbors: vertex %llu has a neighbour "
			"%llu, the graph has %llu vertices", (unsigned long long)v,
			(unsigned long long)largest, (unsigned long long)g->degrees->vertices);
	return gnn_err(GNN_EDATA, "topology/out/neighbors: the list of vertex %llu does not ascend "
		"at %llu", (unsigned long long)v, (unsigned long long)largest);
}

int gnn_grouper_edges(struct gnn_grouper *g, gnn_vid v, uint32_t row, const void *neighbors,
	const float *weights, enum gnn_dtype dtype, uint64_t count)
{
	gnn_vid drop = g->drop_loops ? v - g->to.first : UINT64_MAX;
	bool sampled = g->sample.fanout != 0 && !g->drawn;
	uint64_t largest;
	int rc;

	if (count == 0)
		return GNN_OK;
	GNN_ASSERT(count <= g->capacity - g->count && (weights != NULL) == (g->weight != NULL));
	if (sampled)
		largest = farthest(g, neighbors, dtype == GNN_U64, count);
	else if (dtype == GNN_U32 && weights == NULL)
		largest = append(g, drop, row, neighbors, NULL, count, false, false);
	else if (dtype == GNN_U32)
		largest = append(g, drop, row, neighbors, weights, count, false, true);
	else if (weights == NULL)
		largest = append(g, drop, row, neighbors, NULL, count, true, false);
	else
		largest = append(g, drop, row, neighbors, weights, count, true, true);
	GNN_TRY(check_neighbors(g, v, largest));
	if (sampled)
		append_sampled(g, v, row, neighbors, weights, count, dtype == GNN_U64);
out:
	return rc;
}

/* Entries [begin, end) of a lane. */
struct lane {
	uint64_t begin, end;
	uint32_t index, count;
};

static struct lane this_lane(const struct gnn_grouper *g)
{
	const uint64_t index = (uint64_t)omp_get_thread_num();
	const uint64_t count = (uint64_t)omp_get_num_threads();

	return (struct lane){g->count * index / count, g->count * (index + 1) / count,
		(uint32_t)index, (uint32_t)count};
}

static void count_digits(const struct gnn_grouper *g, const struct lane *l, uint32_t shift)
{
	const uint64_t mask = (UINT64_C(1) << g->digit_bits) - 1, *entry = g->entry;
	uint64_t *start = g->start + ((uint64_t)l->index << g->digit_bits);

	memset(start, 0, (mask + 1) * sizeof(*start));
	for (uint64_t i = l->begin; i < l->end; i++)
		start[(entry[i] >> shift) & mask]++;
}

/* Counts become places: digit by digit, within one lane by lane. */
static void place_digits(const struct gnn_grouper *g, uint32_t lanes)
{
	uint64_t sum = 0;

	for (uint64_t d = 0; d >> g->digit_bits == 0; d++)
		for (uint64_t l = 0; l < lanes; l++) {
			uint64_t *start = &g->start[(l << g->digit_bits) + d], n = *start;

			*start = sum;
			sum += n;
		}
}

static void move_entries(const struct gnn_grouper *g, const struct lane *l, uint32_t shift)
{
	const uint64_t mask = (UINT64_C(1) << g->digit_bits) - 1, *from = g->entry;
	uint64_t *start = g->start + ((uint64_t)l->index << g->digit_bits), *to = g->spare;

	for (uint64_t i = l->begin; g->weight == NULL && i < l->end; i++)
		to[start[(from[i] >> shift) & mask]++] = from[i];
	for (uint64_t i = l->begin; g->weight != NULL && i < l->end; i++) {
		uint64_t at = start[(from[i] >> shift) & mask]++;

		to[at] = from[i];
		g->weight_spare[at] = g->weight[i];
	}
}

static void swap_entries(struct gnn_grouper *g)
{
	uint64_t *entry = g->entry;
	float *weight = g->weight;

	g->entry = g->spare;
	g->spare = entry;
	g->weight = g->weight_spare;
	g->weight_spare = weight;
}

/* Stable passes, one a digit; called by all threads of a team. */
static void sort_entries(struct gnn_grouper *g, const struct lane *l)
{
	for (uint32_t d = 0; d < g->digits; d++) {
		const uint32_t shift = g->row_bits + d * g->digit_bits;

		count_digits(g, l, shift);
#pragma omp barrier
#pragma omp single
		place_digits(g, l->count);
		move_entries(g, l, shift);
#pragma omp barrier
#pragma omp single
		swap_entries(g);
	}
}

static uint64_t carry_of(const struct gnn_grouper *g, gnn_vid v)
{
	uint64_t row = gnn_degrees_carry(g->degrees, v);

	return row == GNN_NO_CARRY ? row : row - g->to.carry_first;
}

/* The weights of the edges, times population / sample where samples are scaled. */
static void weigh_entries(const struct gnn_grouper *g, struct gnn_program *p)
{
	for (uint64_t i = 0; i < g->count; i++)
		p->weight[i] = g->weight != NULL ? g->weight[i] : 1.0f;
	for (uint64_t k = 0; g->sample.scaled && k < p->batch.group_count; k++) {
		float scale = gnn_draw_scale(&g->sample, g->to.first + p->vertex[k]);

		for (uint64_t i = p->first[k]; i < p->first[k + 1]; i++)
			p->weight[i] *= (p->src[i] & GNN_OWN_BIT) != 0 ? 1.0f : scale;
	}
}

/* Whether entry i is the first of its destination. */
static bool begins_group(const struct gnn_grouper *g, uint64_t i)
{
	return i == 0 || g->entry[i] >> g->row_bits != g->entry[i - 1] >> g->row_bits;
}

/* How many groups begin in a lane; then, one after the other, which is the first. */
static void count_groups(const struct gnn_grouper *g, const struct lane *l)
{
	uint64_t groups = 0;

	for (uint64_t i = l->begin; i < l->end; i++)
		groups += begins_group(g, i);
	g->groups[l->index] = groups;
}

static void place_groups(const struct gnn_grouper *g, uint32_t lanes)
{
	uint64_t sum = 0;

	for (uint32_t l = 0; l < lanes; l++) {
		uint64_t n = g->groups[l];

		g->groups[l] = sum;
		sum += n;
	}
}

/* Returns how many groups begin in this lane and those before it. */
static uint64_t write_groups(const struct gnn_grouper *g, const struct lane *l,
	struct gnn_program *p)
{
	const uint64_t own = UINT64_C(1) << (g->row_bits - 1);
	uint64_t group = g->groups[l->index];

	for (uint64_t i = l->begin; i < l->end; i++) {
		uint64_t e = g->entry[i], v = e >> g->row_bits;

		if (begins_group(g, i)) {
			p->vertex[group] = v;
			p->carry[group] = carry_of(g, g->to.first + v);
			if (g->now != NULL)
				p->next_[group] = g->now[g->to.first + v];
			p->first[group++] = i;
		}
		p->src[i] = (uint32_t)(e & (own - 1)) | ((e & own) != 0 ? GNN_OWN_BIT : 0);
	}
	return group;
}

/* Messages of a group: all but the own row. */
static uint64_t messages_of(const struct gnn_program *p, uint64_t group)
{
	uint64_t count = 0;

	for (uint64_t i = p->first[group]; i < p->first[group + 1]; i++)
		count += (p->src[i] & GNN_OWN_BIT) == 0;
	return count;
}

/* What each destination waits for then; each is in one group only. */
static void look_ahead(const struct gnn_grouper *g, const struct lane *l, struct gnn_program *p,
	uint64_t groups)
{
	const struct gnn_inlists_cursor *c = g->cursor;
	uint64_t end = groups * (l->index + 1) / l->count;

	for (uint64_t k = groups * l->index / l->count; k < end; k++) {
		if (k + LOOK_AHEAD < end) {
			gnn_vid v = g->to.first + p->vertex[k + LOOK_AHEAD];

			__builtin_prefetch(&c->received[v], 1);
			__builtin_prefetch(&c->lists->offset[v]);
		}
		p->next_[k] = gnn_inlists_advance(c, g->to.first + p->vertex[k],
			messages_of(p, k));
	}
}

/* Where the groups of each lane go; called by all threads of a team. */
static void share_groups(const struct gnn_grouper *g, const struct lane *l)
{
	if (l->count == 1) {
		g->groups[0] = 0;
		return;
	}
	count_groups(g, l);
#pragma omp barrier
#pragma omp single
	place_groups(g, l->count);
}

void gnn_grouper_end(struct gnn_grouper *g, struct gnn_program *p)
{
	const uint64_t lanes = gnn_min_u64(g->lanes, 1 + g->count / LANE_ENTRIES);
	uint64_t groups = 0;

#pragma omp parallel num_threads((int)lanes)
	{
		const struct lane l = this_lane(g);
		uint64_t end;

		sort_entries(g, &l);
		share_groups(g, &l);
		end = write_groups(g, &l, p);
		if (l.index + 1 == l.count) {
			groups = end;
			p->first[groups] = g->count;
		}
#pragma omp barrier
		if (g->cursor != NULL)
			look_ahead(g, &l, p, groups);
	}
	p->batch = (struct gnn_edge_batch){.group_count = groups, .entry_count = g->count,
		.vertex = p->vertex, .slot = p->vertex, .carry = p->carry, .first = p->first,
		.src = p->src, .weight = p->weight};
	GNN_ASSERT((p->weight != NULL) == (g->weight != NULL || g->sample.scaled));
	if (p->weight != NULL)
		weigh_entries(g, p);
	p->next = g->now != NULL || g->cursor != NULL ? p->next_ : NULL;
	g->count = 0;
}
