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
#include "op/hop_sort.h"

/* Entries of one destination: sources, and the weights of their edges or NULL. */
struct gnn_hop_entry_list {
	uint64_t *to;
	float    *weight;
};

GNN_HOST_DEVICE static inline void gnn_hop_put(const struct gnn_hop *h,
	const struct gnn_hop_list *l, uint64_t position, const struct gnn_hop_entry_list *e,
	uint64_t at)
{
	const gnn_eid edge = gnn_hop_edge(l, position);

	e->to[at] = gnn_lists_at(&h->lists, edge);
	if (e->weight != NULL)
		e->weight[at] = h->lists.weight[edge];
}

/* The sampled sources of v, `count` of them, ascending, into lists as long. */
GNN_HOST_DEVICE static inline void gnn_hop_sources(const struct gnn_hop *h, gnn_vid v,
	const struct gnn_hop_entry_list *to, uint64_t count)
{
	const struct gnn_hop_list l = gnn_hop_list_of(h, v);
	const uint64_t n = l.population;

	if (n <= h->k) {
		for (uint64_t p = 0; p < n; p++)
			gnn_hop_put(h, &l, p, to, p);
	} else if (h->sampling == GNN_SAMPLE_UNIFORM) {
		gnn_draw_distinct(to->to, count, n, gnn_rng_u64(h->seed, h->stream, v));
		gnn_hop_sort(to->to, count);
		for (uint64_t i = 0; i < count; i++)
			gnn_hop_put(h, &l, to->to[i], to, i);
	} else {
		uint64_t at = 0;

		for (uint64_t p = 0; p < n && at < count; p++) {
			if (gnn_hop_takes(h, gnn_hop_source(h, &l, p), n))
				gnn_hop_put(h, &l, p, to, at++);
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

/* The same for weights, of `count` sources that have the own one among them by now. */
GNN_HOST_DEVICE static inline void gnn_hop_put_own_weight(const struct gnn_hop *h, gnn_vid v,
	const struct gnn_hop_entry_list *e, uint64_t count)
{
	uint64_t at = count - 1;

	for (; e->to[at] != v; at--)
		e->weight[at] = e->weight[at - 1];
	e->weight[at] = h->lists.own[v];
}

/* The entries of destination v, the own row in its place; weights where the lists have them. */
GNN_HOST_DEVICE static inline void gnn_hop_entries(const struct gnn_hop *h, gnn_vid v,
	uint64_t *to, float *weight, uint64_t count)
{
	const struct gnn_hop_entry_list e = {to, weight};

	gnn_hop_sources(h, v, &e, count - h->rule.own);
	if (h->rule.own)
		gnn_hop_put_own(v, to, count - 1);
	if (h->rule.own && weight != NULL)
		gnn_hop_put_own_weight(h, v, &e, count);
}

/*
 * Factors of the entries of destination v, which has row i; `norm`, of rows, for GCN. Sampled
 * entries, not the own row, stand for all of theirs. Where edges have weights these stand in
 * `weight` before.
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
			weight[e] = norm[src[e]] * norm[i] * (own ? 1.0f : scale) *
				(h->lists.weight != NULL ? weight[e] : 1.0f);
	}
}

#endif
