/*
 * graph/gen.h - graphs drawn from a seed, of any size: edges, labels, features, splits.
 *
 * Flow     options -> init -> [gen] -> edges, rows -> builder
 * Owns     nothing: every draw is a function of the recipe and its number
 * Lends    nothing
 * Thread   constant once set up; drawing uses `threads` inside
 * Fails    GNN_ECONFIG a recipe that contradicts itself
 *
 * A kind draws in *places*, where communities and hubs lie side by side; a keyed permutation makes
 * ids of them, so that order says nothing. The same graph whatever the threads and the machine:
 * all draws are counted, and integers up to the last scaling.
 */
#ifndef GNN_GRAPH_GEN_H
#define GNN_GRAPH_GEN_H

#include "base/err.h"
#include "base/shuffle.h"

struct gnn_gen;

/* A family of graphs: one file and one row of the table in gen.c. */
struct gnn_gen_kind {
	const char *name;
	/* Edges [first, first + count), as places. */
	void     (*edges)(const struct gnn_gen *g, gnn_eid first, uint64_t count, gnn_vid *src,
		gnn_vid *dst);
	/* What the class of a place is taken from, modulo the number of classes. */
	uint64_t (*group)(const struct gnn_gen *g, gnn_vid place);
};

extern const struct gnn_gen_kind gnn_gen_rmat, gnn_gen_sbm, gnn_gen_power;

/* What the numbers of a recipe are drawn for; the stream of base/rng.h. */
enum gnn_gen_stream {
	GNN_GEN_EDGE = 1,
	GNN_GEN_ID,
	GNN_GEN_GROUP,
	GNN_GEN_CENTRE,
	GNN_GEN_NOISE,
	GNN_GEN_SPLIT,
};

struct gnn_gen_opts {
	const char    *kind;        /* "rmat", "sbm", "power" */
	uint64_t       vertices, edges;
	uint64_t       classes;     /* 0: no labels, all vertices alike */
	uint64_t       communities; /* sbm; 0: as many as classes */
	double         mixing;      /* sbm: share of the edges that leave their community */
	uint64_t       feat_dim;    /* 0: no features */
	enum gnn_dtype dtype;       /* f32 f16 bf16 u8 */
	double         noise;       /* beside a centre of +-1; NaN: see gen.c */
	uint64_t       train_count; /* 0: 60 % */
	uint64_t       seed;
	bool           shuffle;     /* ids say nothing about places */
	uint32_t       threads;
};

/* The recipe, complete. Plain data. */
struct gnn_gen {
	struct gnn_gen_opts        o;    /* nothing left to default */
	const struct gnn_gen_kind *kind;
	struct gnn_shuffle         id, split;
	uint64_t                   split_count[3]; /* train, valid, test */
};

GNN_BEGIN_DECLS

int  gnn_gen_init (struct gnn_gen *g, const struct gnn_gen_opts *o);
void gnn_gen_edges(const struct gnn_gen *g, gnn_eid first, uint64_t count, gnn_vid *src,
	gnn_vid *dst);
uint64_t gnn_gen_label(const struct gnn_gen *g, gnn_vid v);
/* Rows [first, first + rows) of the features, as stored. */
void gnn_gen_features(const struct gnn_gen *g, gnn_vid first, uint64_t rows, void *to);
/* 0 train, 1 valid, 2 test, 3 none. */
uint32_t gnn_gen_split(const struct gnn_gen *g, gnn_vid v);

GNN_END_DECLS

#endif
