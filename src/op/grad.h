/*
 * op/grad.h - the operations of training that inference has no use for, behind the backend.
 *
 * Flow     train -> [grad] -> cpu/ (or a GPU's twins)
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EOS memory or device
 *
 * Matrices are dense, in backend memory. Sums over rows are made of slabs whose height follows from
 * the number of rows alone, added in their order: threads change no bit.
 */
#ifndef GNN_OP_GRAD_H
#define GNN_OP_GRAD_H

#include "op/attend.h"
#include "op/backend.h"

#define GNN_NO_PLACE UINT32_MAX

/*
 * Rows of a table by id, widened to floats: to[row] = cache[place[id]], or else table[id]; with a
 * `drop` the bits are those of a dropout behind it.
 */
struct gnn_gather_args {
	const void     *table;  /* NULL: rows that the cache lacks are left as they are */
	enum gnn_dtype  dtype;  /* of table and cache */
	uint32_t        width;
	const uint64_t *id;     /* (rows); NULL: row i of the table */
	uint64_t        rows;
	float          *to;     /* (rows, width) */
	const uint64_t *row;    /* (rows) of `to` instead, distinct; NULL: i */
	const uint32_t *place;  /* by id, or GNN_NO_PLACE; NULL: no cache */
	const void     *cache;
	uint64_t       *missed; /* += rows without a place; NULL: not wanted */
	uint32_t        blocks; /* a GPU's, at most; 0: as many as the rows take */
	bool            shift;  /* a GPU's lanes start at a 128-byte line, not at the row */
	struct gnn_drop drop;   /* below 0: none */
	const uint64_t *name;   /* of each row of `to`, to the dropout */
};

/* y (rows, dim_out) = x (rows, dim_in) w^T, w (dim_out, dim_in); `add`: onto what is there. */
struct gnn_linear_args {
	const float *x, *w, *bias; /* bias: of forward only, or NULL */
	float       *y;
	uint64_t     rows;
	uint32_t     dim_in, dim_out;
	bool         add;
};

/* Gradients of the same: dx = dy w, dw += dy^T x. */
struct gnn_linear_back_args {
	const float *dy, *x, *w;
	float       *dx;      /* NULL: not wanted */
	float       *dw;      /* likewise */
	float       *dbias;   /* likewise; += column sums of dy */
	uint64_t     rows;
	uint32_t     dim_in, dim_out;
	bool         add;     /* onto dx */
};

/* to = from / (1 - p) where kept, else 0; the same call turns gradients. May be in place. */
struct gnn_dropout_args {
	const float    *from;
	float          *to;
	const uint64_t *id;   /* (rows) names each row to the generator */
	uint64_t        rows;
	uint32_t        width;
	struct gnn_drop drop;
};

/* y = act(y); back: dy *= act'(.), told from y. */
struct gnn_activate_args {
	enum gnn_act act;
	float       *y, *dy;
	uint64_t     count;
};

/*
 * How several ranks norm one batch. A row that more of them have counts where its word of `counts`
 * has `bit` set; each rank has its own share of the row's gradient.
 */
struct gnn_norm_ranks {
	int  (*add)(void *arg, double *sum, uint32_t count); /* becomes that of all ranks */
	void  *arg;
};

/*
 * Batch norm: y = gamma (x - mean) rstd + beta per column; `training` takes mean and variance of
 * the rows and moves the running ones by momentum, else the running ones hold. May be in place
 * but for back, which wants x: dx, dgamma += , dbeta += .
 */
struct gnn_batch_norm_args {
	const float *x, *gamma, *beta;
	float       *y;
	float       *mean, *rstd;       /* (width) kept for back */
	float       *running_mean, *running_var;
	const float *dy;
	float       *dx, *dgamma, *dbeta;
	uint64_t     rows;
	uint32_t     width;
	bool         training;
	const struct gnn_norm_ranks *ranks; /* in training; NULL: this one is alone */
	const uint32_t *counts;         /* (rows), with ranks */
	uint32_t     bit;
};

/* Mean over the labelled rows. Classes: label[i] < 0 is unlabelled. Many labels: 0 or 1 a cell. */
struct gnn_loss_args {
	const float   *y;        /* (rows, width) */
	float         *dy;
	const int64_t *label;    /* (rows), or NULL: */
	const uint8_t *labels;   /* (rows, width) */
	uint64_t       rows;
	uint32_t       width;
	uint64_t       total;    /* that the mean is over, of all ranks; 0: what counts here */
	double         loss;     /* out: sum over what counts */
	uint64_t       counted;  /* out: rows, or cells */
};

enum gnn_optimizer { GNN_ADAM, GNN_ADAMW, GNN_SGD };

struct gnn_update_args {
	enum gnn_optimizer kind;
	float   *w, *m, *v;
	const float *g;
	uint64_t count, step; /* steps from 1 */
	double   lr, weight_decay, momentum;
	float    scale;     /* of the gradient: clipping */
	float    change;    /* in and out: largest |change| of a weight */
};

struct gnn_grad_ops {
	int (*gather)(struct gnn_backend *b, const struct gnn_gather_args *a);
	int (*linear)(struct gnn_backend *b, const struct gnn_linear_args *a);
	int (*linear_back)(struct gnn_backend *b, const struct gnn_linear_back_args *a);
	int (*dropout)(struct gnn_backend *b, const struct gnn_dropout_args *a);
	int (*activate)(struct gnn_backend *b, const struct gnn_activate_args *a);
	int (*activate_back)(struct gnn_backend *b, const struct gnn_activate_args *a);
	int (*batch_norm)(struct gnn_backend *b, const struct gnn_batch_norm_args *a);
	int (*batch_norm_back)(struct gnn_backend *b, const struct gnn_batch_norm_args *a);
	int (*attend)(struct gnn_backend *b, const struct gnn_attend_args *a);
	int (*attend_back)(struct gnn_backend *b, const struct gnn_attend_args *a);
	int (*score)(struct gnn_backend *b, const struct gnn_score_args *a);
	int (*finish)(struct gnn_backend *b, const struct gnn_finish_args *a);
	int (*score_back)(struct gnn_backend *b, const struct gnn_score_back_args *a);
	int (*loss)(struct gnn_backend *b, struct gnn_loss_args *a);
	int (*sum_squares)(struct gnn_backend *b, const float *x, uint64_t count, double *sum);
	int (*update)(struct gnn_backend *b, struct gnn_update_args *a);
};

extern const struct gnn_grad_ops gnn_grad_cpu;

#endif
