/*
 * order/order.h - orders of the vertices of a store, and how good each is.
 *
 * Flow     store -> lists, bootstrap -> [order] -> a rank each -> relabel
 * Owns     the lists, the places of the backend and all work memory while it runs
 * Lends    nothing
 * Thread   one caller; `threads` inside, whose number changes no bit
 * Fails    as the lists; GNN_EUSAGE an unknown name; GNN_EOS memory, of V at least
 *
 * An order is one file, order_<name>.c, with one gnn_order, and one row of the table in order.c.
 * It fills rank[v], the place of each vertex, which is one to one.
 */
#ifndef GNN_ORDER_ORDER_H
#define GNN_ORDER_ORDER_H

#include "order/spread.h"

struct gnn_order_report;

struct gnn_order_opts {
	struct gnn_store *store;
	const char *name;
	const char *bootstrap;  /* of taurus */
	uint64_t    iterations; /* of taurus, at most; at least 1 */
	uint64_t    seed;       /* of random */
	uint64_t    memory_bytes;
	uint32_t    threads;
	const char *backend;    /* "auto", "cpu", "cuda": what measures, and iterates */
	uint64_t    gpu_memory; /* as of gnn_backend_opts */
};

/* What an order works with. */
struct gnn_order_work {
	const struct gnn_order_opts *o;
	struct gnn_backend          *backend;
	struct gnn_lists            *lists;
	struct gnn_places           *places;
	uint64_t                     vertices;
	struct gnn_order_report     *report;
};

struct gnn_order {
	const char *name;
	bool        at_random;    /* follows edges: lists at random */
	bool        moves;        /* takes centres and keys, which the places have */
	uint64_t    vertex_bytes; /* of work memory beside them */
	int       (*make)(const struct gnn_order_work *w, uint64_t *rank);
};

extern const struct gnn_order gnn_order_original, gnn_order_random, gnn_order_rcm,
	gnn_order_atlas, gnn_order_taurus;

struct gnn_order_step {
	struct gnn_spread spread;
	double            wall_s;
};

struct gnn_order_report {
	struct gnn_spread      before, after;
	double                 wall_s;      /* reading lists, measuring, ordering */
	/* Of taurus. */
	struct gnn_order_step  bootstrap;
	struct gnn_order_step *iteration;   /* (iterations), freed by fini */
	uint64_t               iterations;
	uint64_t               best;        /* iteration whose order it is; 0: the bootstrap's */
	bool                   converged;   /* the last iteration changed nothing */
	bool                   resident;    /* lists were in memory */
	uint64_t               read_bytes;  /* of the topology */
	const char            *backend;     /* that measured; static */
	uint64_t               peak_device_bytes;
};

GNN_BEGIN_DECLS

/* rank[v], of (V), is where vertex v of the store goes. */
int  gnn_order_make(const struct gnn_order_opts *o, uint64_t *rank, struct gnn_order_report *r);
void gnn_order_report_fini(struct gnn_order_report *r);
const struct gnn_order *gnn_order_find(const char *name); /* NULL: there is none */
/* Whether every rank below `vertices` comes once. */
int  gnn_order_check(const uint64_t *rank, uint64_t vertices, bool *one_to_one);
/* For orders: a line of the metrics file. */
void gnn_order_tell(const char *order, uint64_t iteration, const struct gnn_order_step *s);

GNN_END_DECLS

#endif
