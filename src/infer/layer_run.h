/*
 * infer/layer_run.h - one layer at work: states of a range of vertices, absorbing and finishing.
 *
 * Flow     feed -> [layer_run: absorb] -> states -> [layer_run: finish] -> rows of the next layer
 * Owns     states, carry, scores, the buffer of message rows
 * Lends    the message rows of the chunk taken last, until the next
 * Thread   one caller
 * Fails    GNN_EOS memory; what the backend fails with
 *
 * absorb takes rows and a program and does not ask where they came from: rows that other ranks
 * send enter here.
 */
#ifndef GNN_INFER_LAYER_RUN_H
#define GNN_INFER_LAYER_RUN_H

#include "infer/exchange.h"
#include "layer/conv.h"

/*
 * One reading of the graph. A softmax wants the maximum of the scores of every vertex before it can
 * combine, and scores of pairs the rows of every vertex before that; SUM and MAX only combine.
 */
enum gnn_pass_kind { GNN_PASS_ROWS, GNN_PASS_SCORES, GNN_PASS_COMBINE };

struct gnn_pass {
	enum gnn_pass_kind kind;
	uint32_t           shard;     /* COMBINE: which of the destinations */
	struct gnn_range   to;        /* COMBINE: the states in memory; else every vertex */
	bool               transform; /* the rows are h; else they are message rows already */
	struct gnn_rows    rows;
	float             *keep;      /* NULL, or where all message rows (V, width) are wanted */
	bool               keeps_own; /* what the conv keeps of h goes beside the states */
	struct gnn_rows    own;       /* OWN_ROW: the own columns, keeps_own: h; NONE: in `rows` */
};

struct gnn_layer_run_opts {
	struct gnn_backend       *backend;
	const struct gnn_conv    *conv;
	const struct gnn_degrees *degrees;
	const struct gnn_share   *share; /* of several ranks; NULL: this one is alone */
	struct gnn_draw sample_there; /* as the backend reads it */
	uint64_t chunk_rows;
	uint64_t state_rows; /* of the largest range, padded to whole panels */
	uint64_t carry_rows; /* hubs of the range with most, 0: no carry at all */
	uint64_t rows_max;   /* of a chunk or a finished block */
	bool     targets;    /* scores of pairs: no message rows of all vertices are in memory */
};

struct gnn_layer_run {
	struct gnn_layer_run_opts o;
	struct gnn_range to;      /* of the states */
	float           *message; /* (chunk_rows, message width) */
	const float     *rows;    /* message rows of the chunk taken last, and its own rows */
	uint64_t         rows_pitch;
	const float     *rows_own;
	uint64_t         rows_own_pitch;
	/* Of the chunk that is absorbed: */
	const float     *source;  /* rows that batches name: the chunk's, or all ranks' */
	uint64_t         source_pitch;
	const float     *own;     /* and its own rows */
	uint64_t         own_pitch;
	float           *state;   /* (state_rows, state_width) */
	float           *carry;   /* (carry_rows, state_width) */
	float           *scores;  /* SOFTMAX: (V, 3 heads): s, t, maximum of s; of pairs:
	                             (V, heads): maximum of the scores */
	float           *least;   /* SOFTMAX, slope < 0: (V, heads) minimum of s */
	float           *targets; /* scores of pairs: (V, width), or NULL */
	struct gnn_exchange exchange;
	float           *vec[GNN_ROW_VECTORS]; /* factors of the rows at hand */
	struct gnn_rowprog after;      /* the conv's, with the numbers found by settle */
	float           *finished;     /* (rows_max, finish width) in front of it; NULL: none */
	struct gnn_moments *moments;   /* of a block, backend memory */
	float           *joined;       /* (chunk_rows, finish's input), with rows that come late */
	const void      *kept;    /* h of the chunk, as `kept_rows` says, after a transform */
	const struct gnn_rows *kept_rows;
	const void      *offsets_there, *sources_there; /* of the chunk, as staged */
	uint64_t         messages; /* entries absorbed, own rows included */
};

GNN_BEGIN_DECLS

int  gnn_layer_run_init(struct gnn_layer_run *r, const struct gnn_layer_run_opts *o);
void gnn_layer_run_fini(struct gnn_layer_run *r); /* all zero is fine */

int  gnn_layer_run_begin (struct gnn_layer_run *r, const struct gnn_range *to); /* empty states */
/*
 * A chunk's rows are taken with its first item, and its items absorbed then. Of several ranks, take
 * sends the rows on their way, and the chunk is absorbed once they arrive: where the next chunk is
 * taken, which may be before this one's last item is absorbed, or when arrive is called. The chunk
 * stays as it is until then.
 */
int  gnn_layer_run_take  (struct gnn_layer_run *r, const struct gnn_pass *pass,
	const struct gnn_work *w);
int  gnn_layer_run_arrive(struct gnn_layer_run *r); /* has arrived before: fine */
int  gnn_layer_run_absorb(struct gnn_layer_run *r, const struct gnn_pass *pass,
	const struct gnn_work *w);
/* After a failure that the other ranks know of: nothing is on its way or at work any more. */
void gnn_layer_run_abandon(struct gnn_layer_run *r);
/* For states that stand elsewhere: batches of edges into states of state_width columns. */
int  gnn_layer_run_combine(struct gnn_layer_run *r, const struct gnn_pass *pass,
	gnn_vid first_row, const struct gnn_edge_batch *batch, float *state, float *carry);
/*
 * Where the conv has a program behind all finished rows: finds its numbers, from the states of all
 * vertices, `block` rows at a time.
 */
int  gnn_layer_run_settle(struct gnn_layer_run *r, uint64_t block);
/* Rows [first, first + rows) of the layer's output, all in the range, (rows, dim_out). */
int  gnn_layer_run_finish(struct gnn_layer_run *r, gnn_vid first, uint64_t rows, float *to);
/* The same where the conv has `late`: h of these rows as `rows` says, at most chunk_rows. */
int  gnn_layer_run_finish_late(struct gnn_layer_run *r, gnn_vid first, uint64_t count,
	const struct gnn_rows *rows, const void *h, float *to);
/* The same of states that stand elsewhere, whose vertices are those of `d` from row 0 on. */
int  gnn_layer_run_finish_states(struct gnn_layer_run *r, const struct gnn_degrees *d,
	const float *state, uint64_t rows, float *to);
/* Message rows of `rows` rows of h at `first`, as the layer before keeps them for this one. */
int  gnn_layer_run_messages(struct gnn_backend *b, const struct gnn_conv *c,
	const struct gnn_degrees *d, float *const *vec, gnn_vid first, uint64_t rows,
	const void *h, enum gnn_dtype dtype, float *to);

GNN_END_DECLS

#endif
