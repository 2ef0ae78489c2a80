/*
 * op/hop.h - one hop of a sample: which in-edges of a vertex take part, and what they weigh.
 *
 * Flow     train/sampler -> [hop] -> sampling on the CPU and on the GPU
 * Owns     nothing; plain data with borrowed arrays
 * Lends    nothing
 * Thread   pure functions
 * Fails    never
 *
 * What is drawn depends on (seed, stream, vertex) alone; the stream names step and hop.
 *   uniform  k distinct in-edges of each destination (op/distinct.h)
 *   labor    an in-edge u -> v is taken where u's number of this hop is below k / in-degree, so
 *            that destinations share sources
 */
#ifndef GNN_OP_HOP_H
#define GNN_OP_HOP_H

#include "op/distinct.h"
#include "op/lists.h"
#include "op/norm.h"

enum gnn_sampling { GNN_SAMPLE_UNIFORM, GNN_SAMPLE_LABOR };

enum gnn_weighting {
	GNN_WEIGH_NONE, /* attention finds its own */
	GNN_WEIGH_GCN,  /* w (deg u deg v)^-1/2 by full degrees, sampled ones scaled up; w: of
	                   the edge, 1 without weights */
	GNN_WEIGH_MEAN, /* 1 / sampled count */
	GNN_WEIGH_SUM,  /* 1, sampled ones scaled up */
};

/* What a convolution makes of the listed in-edges. */
struct gnn_edge_rule {
	bool drop_loops; /* listed self-loops are no messages */
	bool own;        /* the own row is one */
	enum gnn_weighting weighting;
};

struct gnn_hop {
	struct gnn_lists     lists;
	struct gnn_edge_rule rule;
	enum gnn_sampling    sampling;
	uint64_t             k;
	uint64_t             seed, stream;
};

/* In-edges that count as messages of v, own row apart; and its degree for GCN. */
GNN_HOST_DEVICE static inline uint64_t gnn_rule_population(const struct gnn_edge_rule *r,
	const struct gnn_lists *l, gnn_vid v)
{
	return gnn_lists_degree(l, v) - (r->drop_loops ? gnn_lists_loops(l, v) : 0);
}

/* deg^-1/2 of GCN. */
GNN_HOST_DEVICE static inline float gnn_rule_norm(const struct gnn_edge_rule *r,
	const struct gnn_lists *l, gnn_vid v)
{
	const double degree = l->weight != NULL ? (double)l->degree[v]
		: (double)(gnn_rule_population(r, l, v) + r->own);

	return gnn_norm_value(GNN_NORM_RSQRT_IN, degree);
}

/* The messages of one vertex: positions of its list without those that are dropped. */
struct gnn_hop_list {
	uint64_t population;
	uint64_t first;       /* edge */
	uint64_t lo, dropped; /* positions [lo, lo + dropped) of the list are no messages */
};

GNN_HOST_DEVICE static inline struct gnn_hop_list gnn_hop_list_of(const struct gnn_hop *h,
	gnn_vid v)
{
	struct gnn_hop_list l;

	l.first = h->lists.first[v];
	l.dropped = h->rule.drop_loops ? gnn_lists_loops(&h->lists, v) : 0;
	l.lo = l.dropped == 0 ? 0 : gnn_lists_find(&h->lists, v, v) - l.first;
	l.population = gnn_lists_degree(&h->lists, v) - l.dropped;
	return l;
}

GNN_HOST_DEVICE static inline gnn_eid gnn_hop_edge(const struct gnn_hop_list *l, uint64_t position)
{
	return l->first + position + (position >= l->lo ? l->dropped : 0);
}

GNN_HOST_DEVICE static inline gnn_vid gnn_hop_source(const struct gnn_hop *h,
	const struct gnn_hop_list *l, uint64_t position)
{
	return gnn_lists_at(&h->lists, gnn_hop_edge(l, position));
}

/* Whether labor takes the edge from u into a vertex with `population` in-edges. */
GNN_HOST_DEVICE static inline bool gnn_hop_takes(const struct gnn_hop *h, gnn_vid u,
	uint64_t population)
{
	return gnn_rng_below(gnn_rng_u64(h->seed, h->stream, u), population) < h->k;
}

/* Whether what is taken of a list cannot be told from its length alone. */
GNN_HOST_DEVICE static inline bool gnn_hop_looks(const struct gnn_hop *h, uint64_t population)
{
	return population > h->k && h->sampling == GNN_SAMPLE_LABOR;
}

/* Messages of v that take part, the own row apart. */
GNN_HOST_DEVICE static inline uint64_t gnn_hop_count(const struct gnn_hop *h, gnn_vid v)
{
	const uint64_t n = gnn_rule_population(&h->rule, &h->lists, v);
	uint64_t count = 0;
	struct gnn_hop_list l;

	if (!gnn_hop_looks(h, n))
		return n < h->k ? n : h->k;
	l = gnn_hop_list_of(h, v);
	for (uint64_t p = 0; p < n; p++)
		count += gnn_hop_takes(h, gnn_hop_source(h, &l, p), n);
	return count;
}

#endif
