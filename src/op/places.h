/*
 * op/places.h - an order of the vertices: how far it spreads their lists, where these pull them.
 *
 * Flow     in-lists, places -> [places] -> spread, centres;
 *          out-lists, centres -> [places] -> places
 * Owns     places, the best of them, centres, keys; on a device the lists too where they fit
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EOS memory or device
 *
 * The in-neighbours N(v) of v are the listed ones, duplicates each, and v itself: its own row is an
 * event too. d(v) is their number. With place p, v is active from min p(N(v)) to max p(N(v)).
 *   span        C = sum over v of max p(N(v)) - min p(N(v)): rows kept, summed over all steps
 *   dispersion  J = sum over v of 1/d(v) sum over u in N(v) of (p(u) - mean p(N(v)))^2
 *   bandwidth   B = the largest |p(u) - p(v)| of an edge
 *   peak        the most vertices active at a time; the mean is C / V
 * The centre of v is mean p(N(v)), of weight 1/d(v). v is pulled to the weighted mean of the
 * centres of its out-neighbours and its own. All backends give the same bits (op/places_fold.h).
 */
#ifndef GNN_OP_PLACES_H
#define GNN_OP_PLACES_H

#include "base/err.h"

struct gnn_backend;
struct gnn_place_ops;

enum gnn_direction { GNN_OUT, GNN_IN, GNN_DIRECTIONS };

struct gnn_spread {
	uint64_t span;
	double   dispersion;
	uint64_t bandwidth;
	uint64_t peak_active;
	double   mean_active;
};

struct gnn_places_opts {
	uint64_t vertices, edges;
	uint64_t longest; /* list of either direction */
	bool     moves;   /* prepare will come */
	bool     wide;    /* neighbours are u64 */
};

/* Every backend embeds this first. */
struct gnn_places {
	const struct gnn_place_ops *ops;
	struct gnn_places_opts      o;
	bool holds[GNN_DIRECTIONS]; /* lists are on the device: they need not be read again */
	bool reads;                 /* lists will not be held: host memory is read each time */
};

/* Lists of the vertices [first, end), in host memory; with what the places hold, all of them. */
struct gnn_place_lists {
	gnn_vid         first, end;
	const uint64_t *offsets; /* (V + 1) of all vertices */
	const uint32_t *narrow;  /* neighbours from the first vertex on: one of the two */
	const uint64_t *wide;
};

struct gnn_place_ops {
	uint64_t measure_bytes, move_bytes; /* of host memory a vertex, to measure and to move */
	/* Whether the memory is there, roughly: GNN_EOS says why not. */
	int  (*fits)(struct gnn_backend *b, const struct gnn_places_opts *o);
	int  (*create)(struct gnn_places **out, struct gnn_backend *b,
		const struct gnn_places_opts *o);
	void (*destroy)(struct gnn_places *r);
	/* The places (V), one to one; a backend may work in them until it is destroyed. */
	int  (*put)(struct gnn_places *r, uint64_t *place);
	/* Measures: begin, the in-lists in order, end. After prepare the centres are kept. */
	int  (*begin)(struct gnn_places *r);
	int  (*spread)(struct gnn_places *r, const struct gnn_place_lists *in);
	int  (*end)(struct gnn_places *r, struct gnn_spread *out);
	int  (*prepare)(struct gnn_places *r); /* for what follows */
	int  (*keep)(struct gnn_places *r);    /* the places as they stand are the best */
	int  (*get)(struct gnn_places *r, uint64_t *place); /* (V) what was kept */
	/* Moves: the out-lists in order, then sort gives each vertex its new place. */
	int  (*pull)(struct gnn_places *r, const struct gnn_place_lists *out);
	int  (*sort)(struct gnn_places *r, bool *changed);
};

extern const struct gnn_place_ops gnn_places_cpu;

#endif
