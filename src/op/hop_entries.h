/*
 * op/hop_entries.h - the entries of one destination of a hop: listed, and weighed.
 *
 * Flow     hop -> [hop_entries] -> sampling on the CPU and on the GPU
 * Owns     nothing
 * Lends    nothing
 * Thread   pure functions
 * Fails    never
 */
#ifndef GNN_OP_HOP_ENTRIES_H
#define GNN_OP_HOP_ENTRIES_H

#include "op/hop.h"

enum { GNN_HOP_INSERTED = 64 }; /* positions that are sorted by insertion */

/* Short lists by insertion, long ones by a heap: no recursion, no memory. */
GNN_HOST_DEVICE static inline void gnn_hop_sift(uint64_t *x, uint64_t i, uint64_t n)
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

GNN_HOST_DEVICE static inline void gnn_hop_sort(uint64_t *x, uint64_t n)
{
	if (n <= GNN_HOP_INSERTED) {
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
		gnn_hop_sift(x, i, n);
	for (uint64_t end = n; end-- > 1;) {
		const uint64_t most = x[0];

		x[0] = x[end];
		x[end] = most;
		gnn_hop_sift(x, 0, end);
	}
}

/* The sampled sources of v, `count` of them, ascending, into `to`, which is as long. */
GNN_HOST_DEVICE static inline void gnn_hop_sources(const struct gnn_hop *h, gnn_vid v,
	uint64_t *to, uint64_t count)
{
	const struct gnn_hop_list l = gnn_hop_list_of(h, v);
	const uint64_t n = l.population;

	if (n <= h->k) {
		for (uint64_t p = 0; p < n; p++)
			to[p] = gnn_hop_source(h, &l, p);
	} else if (h->sampling == GNN_SAMPLE_UNIFORM) {
		gnn_draw_distinct(to, count, n, gnn_rng_u64(h->seed, h->stream, v));
		gnn_hop_sort(to, count);
		for (uint64_t i = 0; i < count; i++)
			to[i] = gnn_hop_source(h, &l, to[i]);
	} else {
		uint64_t at = 0;

		for (uint64_t p = 0; p < n && at < count; p++) {
			const gnn_vid u = gnn_hop_source(h, &l, p);

			if (gnn_hop_takes(h, u, n))
				to[at++] = u;
		}
	}
}

/* Puts the own row of v among `count` ascending sources; there is room for one more. */
GNN_HOST_DEVICE static inline void gnn_hop_put_own(gnn_vid v, uint64_t *to, uint64_t count)
{
	uint64_t at = count;

	for (; at > 0 && to[at - 1] >= v; at--)
		to[at] = to[at - 1];
	to[at] = v;
}

/* The entries of destination v, the own row in its place. */
GNN_HOST_DEVICE static inline void gnn_hop_entries(const struct gnn_hop *h, gnn_vid v,
	uint64_t *to, uint64_t count)
{
	gnn_hop_sources(h, v, to, count - h->rule.own);
	if (h->rule.own)
		gnn_hop_put_own(v, to, count - 1);
}

/*
 * Factors of the entries of destination v, which has row i; `norm`, of rows, for GCN. Sampled
 * entries, not the own row, stand for all of theirs.
 */
GNN_HOST_DEVICE static inline void gnn_hop_weigh(const struct gnn_hop *h, gnn_vid v, uint64_t i,
	const uint32_t *src, uint64_t count, const float *norm, float *weight)
{
	const struct gnn_edge_rule *rule = &h->rule;
	const uint64_t n = gnn_rule_population(rule, &h->lists, v);
	const uint64_t sampled = count - rule->own;
	float scale = 1.0f;
	bool seen = false;

	if (n > h->k)
		scale = (float)((double)n /
			(double)(h->sampling == GNN_SAMPLE_LABOR ? h->k : sampled));
	for (uint64_t e = 0; e < count; e++) {
		/* In front of listed self-loops, where those are messages too. */
		const bool own = rule->own && src[e] == i && !seen;

		seen = seen || own;
		if (rule->weighting == GNN_WEIGH_MEAN)
			weight[e] = 1.0f / (float)count;
		else if (rule->weighting == GNN_WEIGH_SUM)
			weight[e] = own ? 1.0f : scale;
		else
			weight[e] = norm[src[e]] * norm[i] * (own ? 1.0f : scale);
	}
}

#endif
