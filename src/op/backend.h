/*
 * op/backend.h - the operations that differ between CPU and GPU, behind one vtable.
 *
 * Flow     infer, train -> [backend] -> cpu/ or cuda/
 * Owns     device, threads, scratch of the operations
 * Lends    buffers from alloc, until free
 * Thread   one caller
 * Fails    GNN_EOS memory or device; GNN_EUNAVAIL no such backend here
 *
 * Operations are ordered as issued and may return before they are done; sync waits for all. Every
 * pointer in an argument is a backend buffer but the weights of row programs and the edge batch,
 * which the backend copies where it must. Widths and pitches count floats.
 */
#ifndef GNN_OP_BACKEND_H
#define GNN_OP_BACKEND_H

#include "op/rowprog.h"

enum gnn_combine { GNN_COMBINE_SUM, GNN_COMBINE_MAX, GNN_COMBINE_SOFTMAX };

#define GNN_NO_CARRY UINT64_MAX
#define GNN_OWN_BIT  UINT32_C(0x80000000)

/*
 * Edges of one block of message rows, grouped by destination, in source order within a group.
 * An entry of `src` is a row of the block; with GNN_OWN_BIT it is the destination's own row.
 */
struct gnn_edge_batch {
	uint64_t        group_count;
	uint64_t        entry_count;
	const uint64_t *vertex; /* (group_count) destination */
	const uint64_t *slot;   /* (group_count) its row in the state; may equal `vertex` */
	const uint64_t *carry;  /* (group_count) its carry row, or GNN_NO_CARRY; NULL: none */
	const uint64_t *first;  /* (group_count + 1) into src and weight */
	const uint32_t *src;    /* (entry_count) */
	const float    *weight; /* (entry_count) or NULL */
};

/* to = program(from), rows starting at a multiple of the panel height. */
struct gnn_rows_args {
	const struct gnn_rowprog *prog;
	const void    *from;
	enum gnn_dtype from_dtype; /* f32 f16 bf16 u8, widened first */
	uint64_t       from_pitch; /* items */
	float         *to;         /* may equal from when f32 and the pitches are equal */
	uint64_t       to_pitch;
	uint64_t       rows;
	const float   *vec[GNN_ROW_VECTORS]; /* (rows) each, or NULL */
};

/*
 * SUM:     s = fmaf(w, x, s) per column of state[slot], one entry at a time in order: x, w =
 *          message[src], 1 or own[src], own_factor; times weight of the entry where there are
 *          weights. Where the group has a carry row, by Kahan's rule: y = fmaf(w, x, -c);
 *          t = s + y; c = (t - s) - y; s = t.
 * MAX:     state[slot] = max(state[slot], message[src]) per column, NaN if any is; own entries
 *          likewise from own. No weights.
 * SOFTMAX: per head k: w = exp(leaky(score_src[src][k] + score_dst[vertex][k]) - m),
 *          m = leaky(score_max[vertex][k] + score_dst[vertex][k]); state columns
 *          [k C, (k+1) C) sum w message[src], state column heads C + k sums w, both as in SUM;
 *          own entries the same from own. No weights.
 */
struct gnn_aggregate_args {
	enum gnn_combine      combine;
	struct gnn_edge_batch batch;
	uint32_t     width;    /* columns combined; SOFTMAX: heads x channels */
	const float *message;
	uint64_t     message_pitch;
	const float *own;
	uint64_t     own_pitch;
	float        own_factor;
	float       *state;
	uint64_t     state_pitch;
	float       *carry;
	uint64_t     carry_pitch;
	uint32_t     heads;
	float        slope;
	const float *score_src; /* (rows of the block, heads) */
	const float *score_dst; /* (V, heads) */
	const float *score_max; /* (V, heads): max over the messages of score_src */
	uint64_t     score_pitch;
};

struct gnn_backend;

struct gnn_backend_opts {
	uint32_t threads;
};

struct gnn_backend_ops {
	const char *name;
	int  (*create)(struct gnn_backend **out, const struct gnn_backend_opts *o);
	void (*destroy)(struct gnn_backend *b);
	int  (*alloc)(struct gnn_backend *b, void **out, uint64_t bytes);
	void (*free)(struct gnn_backend *b, void *buffer);
	/* Sets `count` floats to `value`. */
	int  (*fill)(struct gnn_backend *b, float *to, float value, uint64_t count);
	/* Between host and backend, either way; `pitch` and `width` in bytes. */
	int  (*copy)(struct gnn_backend *b, void *to, uint64_t to_pitch, const void *from,
		uint64_t from_pitch, uint64_t width, uint64_t rows);
	int  (*rows)(struct gnn_backend *b, const struct gnn_rows_args *a);
	int  (*aggregate)(struct gnn_backend *b, const struct gnn_aggregate_args *a);
	/* See gnn_backend_check_dense. */
	int  (*check_dense)(struct gnn_backend *b, uint32_t dim_in, uint32_t dim_out);
	int  (*sync)(struct gnn_backend *b);
};

/* Every backend embeds this first. */
struct gnn_backend {
	const struct gnn_backend_ops *ops;
};

extern const struct gnn_backend_ops gnn_backend_cpu;

GNN_BEGIN_DECLS

/* "auto", "cpu"; GNN_EUNAVAIL for one that is not here. */
int  gnn_backend_create (struct gnn_backend **out, const char *name,
	const struct gnn_backend_opts *o);
void gnn_backend_destroy(struct gnn_backend *b); /* NULL is fine */

/*
 * Checks that the bits of a dense row depend neither on its place in a panel nor on the thread,
 * for one shape (dim_in, dim_out); backends that find a dependence use an own kernel for it.
 */
int  gnn_backend_check_dense(struct gnn_backend *b, uint32_t dim_in, uint32_t dim_out);

GNN_END_DECLS

#endif
