/*
 * infer/plan.h - what is kept where within and between layers, and how much memory it takes.
 *
 * Flow     planner -> [plan] -> infer
 * Owns     nothing
 * Lends    nothing
 * Thread   plain data
 * Fails    never
 *
 * resident     states of all vertices and the next layer's input stand in memory
 * tiered       states in stores, evicted to scratch and reloaded; each row goes on as soon as it is
 *              done, and comes to the next layer and to the result by way of runs
 * partitioned  states of one shard of the destinations; a pass over the rows for each shard;
 *              message rows that are narrower than the layer's input are kept in scratch for the
 *              later passes, and so are the inputs of later layers and the result
 *
 * Between layers the narrower of h and the next layer's message rows is kept. Scores of pairs
 * take the rows of all targets, which stand in memory in either plan. Of features that lie in
 * another order than the vertices the narrower of the two goes to runs before layer 0, in any plan.
 */
#ifndef GNN_INFER_PLAN_H
#define GNN_INFER_PLAN_H

#include "infer/kept.h"
#include "infer/layer_run.h"
#include "infer/opts.h"
#include "tier/control.h"

struct gnn_layer_plan {
	enum gnn_rows_kind input;    /* STORE, MEMORY, FILE or RUNS */
	enum gnn_dtype     input_dtype;
	enum gnn_rows_kind messages; /* kept for later passes; NONE: made again, or the input */
	bool     input_message;      /* the input already is message rows */
	bool     targets;            /* scores of pairs: rows of all targets stand in memory */
	uint32_t input_width;        /* items */
	uint32_t input_own;          /* of them own columns behind the message */
	uint32_t shards;
	uint64_t chunk_rows;
	uint64_t state_rows, carry_rows; /* of the largest shard */
	/*
	 * Tiered: rows of the store where sums are made, of them pinned; of the store in host
	 * memory below it, where the backend has a memory of its own; pages of the spill.
	 */
	uint32_t top_slots, pin_slots, pin_degree, host_slots;
	uint64_t page_bytes;
	uint32_t streams;
	/* Bytes, by where they are. */
	uint64_t state_bytes, carry_bytes, message_bytes, input_bytes;
	uint64_t score_bytes;         /* and what else all vertices have in any plan */
	uint64_t store_bytes;         /* the store in host memory, and control of all slots */
	uint64_t buffer_bytes;        /* host memory beside them */
	uint64_t device_buffer_bytes; /* and device memory */
};

enum {
	GNN_IN_FLIGHT_MAX = 16,
	GNN_PLAN_PAGES_AHEAD = 64, /* of the spill, read before they are asked for */
};

struct gnn_plan {
	enum gnn_plan_kind kind;
	uint32_t layer_count;
	struct gnn_layer_plan layer[GNN_LAYERS_MAX];
	uint32_t ahead;       /* work items that circulate */
	uint32_t in_flight;   /* of them, issued to the backend at most */
	uint64_t chunk_bytes; /* the ceiling in force */
	uint32_t level;       /* times that buffers were halved */
	uint64_t entries;     /* of a work item */
	uint64_t read_bytes;  /* on their way from each array */
	uint64_t list_bytes;  /* of a piece of neighbours */
	uint64_t slot_bytes;  /* of a scratch writer */
	uint64_t arena_bytes; /* of rows that are sorted into one run */
	uint64_t spill_bytes; /* of pages of the spill in memory */
	uint64_t ferry_bytes; /* of rows that cross between host and device at once */
	bool     next_scratch; /* next uses are read from scratch: in-lists do not fit memory */
	bool     never_evicts; /* estimated as if the order of the vertices were ideal */
	uint64_t next_piece_bytes;
	uint64_t in_list_bytes; /* where they are in memory, with what sorts them */
	uint64_t finish_rows; /* rows finished at a time, whole panels */
	/* Features in another order: how many at a time, whole panels; 0: there are none. */
	uint64_t permute_rows;
	uint64_t permute_arena_bytes; /* of rows of them that are sorted into one run */
	uint64_t host_bytes, device_bytes; /* at the peak */
	uint64_t host_budget, device_budget; /* for the plan; UINT64_MAX: none */
	uint64_t host_taken, device_taken;   /* by what is loaded, or will be, beside it */
	uint32_t peak_layer;
};

GNN_BEGIN_DECLS

const char *gnn_plan_name(enum gnn_plan_kind kind);
uint64_t gnn_plan_panels(const struct gnn_infer_opts *o); /* of dense rows in the graph */
/* Of the rank that has most of them: what all ranks must cut alike is cut by it. */
uint64_t gnn_plan_most_panels(const struct gnn_infer_opts *o);
uint32_t gnn_plan_passes(const struct gnn_plan *p, uint32_t layer, const struct gnn_conv *c);
/* What pass `index` does; *shard is that of COMBINE. */
enum gnn_pass_kind gnn_plan_pass(const struct gnn_plan *p, uint32_t layer,
	const struct gnn_conv *c, uint32_t index, uint32_t *shard);
struct gnn_range gnn_plan_range(const struct gnn_plan *p, uint32_t layer, uint32_t shard,
	uint32_t panel_rows, const struct gnn_degrees *d);
/* Rows of the chunks that a shard touches. */
uint64_t gnn_plan_touched_rows(const struct gnn_plan *p, uint32_t layer, uint32_t shard,
	const struct gnn_infer_opts *o);
/* Of a layer's input, of its kept message rows, and of rows for the result. */
struct gnn_kept_opts gnn_plan_input(const struct gnn_plan *p, uint32_t layer,
	const struct gnn_infer_opts *o);
struct gnn_kept_opts gnn_plan_messages(const struct gnn_plan *p, uint32_t layer,
	const struct gnn_infer_opts *o);
struct gnn_kept_opts gnn_plan_output(const struct gnn_plan *p, uint32_t layer,
	const struct gnn_infer_opts *o);
/* Whether the rows of a layer wait in scratch for the result. */
bool gnn_plan_keeps_output(const struct gnn_plan *p, uint32_t layer,
	const struct gnn_infer_opts *o);
/* Of a tiered layer, all but the in-lists. */
struct gnn_control_opts gnn_plan_control(const struct gnn_plan *p, uint32_t layer,
	const struct gnn_infer_opts *o, const struct gnn_degrees *d);
/* Rows of a layer's states that cross at once between the top store and those below it. */
uint64_t gnn_plan_ferry_rows(const struct gnn_plan *p, const struct gnn_conv *c);
/* All but the rows, the range and the first row. */
struct gnn_feed_opts gnn_plan_feed(const struct gnn_plan *p, uint32_t layer,
	const struct gnn_infer_opts *o, const struct gnn_degrees *d);

GNN_END_DECLS

#endif
