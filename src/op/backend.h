/*
 * op/backend.h - the operations that differ between CPU and GPU, behind one vtable.
 *
 * Flow     infer, train -> [backend] -> cpu/ or cuda/
 * Owns     device, threads, scratch of the operations
 * Lends    buffers from alloc, until free
 * Thread   one caller
 * Fails    GNN_EOS memory or device; GNN_EUNAVAIL no such backend here
 *
 * Operations are ordered as issued and may return before they are done; mark and wait order the
 * host behind them. Every pointer in an argument is a backend buffer, or what stage made of host
 * memory; weights of row programs are host memory that stays, which a backend may keep copies of.
 * Widths and pitches count floats.
 */
#ifndef GNN_OP_BACKEND_H
#define GNN_OP_BACKEND_H

#include "op/combine.h"
#include "op/moves.h"
#include "op/norm.h"
#include "op/places.h"
#include "op/rowprog.h"
#include "op/whole.h"

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

struct gnn_backend;

struct gnn_backend_opts {
	uint32_t threads;
	uint64_t memory_bytes; /* device memory that may be taken; 0: what is free */
	struct gnn_backend *beside; /* whose limit holds for both, of the same kind; or NULL */
	uint32_t device;  /* which of those that are visible, counted in a circle */
	uint32_t sharers; /* programs that share what is free of the device; 0: this one alone */
};

/* Which device it is; all empty where there is none. */
struct gnn_device_id {
	char    name[64], bus[32]; /* what it is called; PCI bus id */
	uint8_t uuid[16];
	int32_t numa;              /* -1: not known */
};

enum { GNN_FETCHES_MAX = 4 };

enum gnn_stage_kind { GNN_STAGE_ROWS, GNN_STAGE_OWN, GNN_STAGE_OFFSETS, GNN_STAGE_EDGES,
	GNN_STAGE_WEIGHTS, GNN_STAGE_SOURCES, GNN_STAGE_MOVES, GNN_STAGE_PROGRAM, GNN_STAGE_STORE,
	GNN_STAGE_VERTICES, GNN_STAGE_KINDS };

struct gnn_backend_ops {
	const char *name;
	uint32_t    panel_rows; /* height of dense panels; chunks are multiples of it */
	bool        unified;    /* host memory is backend memory: stage lends the same pointer */
	int  (*create)(struct gnn_backend **out, const struct gnn_backend_opts *o);
	void (*destroy)(struct gnn_backend *b);
	int  (*alloc)(struct gnn_backend *b, void **out, uint64_t bytes);
	void (*free)(struct gnn_backend *b, void *buffer);
	/* Host memory that copies fast to and from the backend. */
	int  (*alloc_host)(struct gnn_backend *b, void **out, uint64_t bytes);
	void (*free_host)(struct gnn_backend *b, void *buffer);
	/*
	 * Host memory that others own made as fast as alloc_host's, for reading; 0 or GNN_SKIPPED
	 * when the system refuses, with the reason as text: copies are slower then.
	 */
	int  (*pin)(struct gnn_backend *b, const void *host, uint64_t bytes);
	void (*unpin)(struct gnn_backend *b, const void *host);
	/* Sets `count` floats to `value`. */
	int  (*fill)(struct gnn_backend *b, float *to, float value, uint64_t count);
	/* Between host and backend or within it; bytes. Of width 0 or no rows `to` may be NULL. */
	int  (*copy)(struct gnn_backend *b, void *to, uint64_t to_pitch, const void *from,
		uint64_t from_pitch, uint64_t width, uint64_t rows);
	/*
	 * A range of host memory for the operations that follow. The host memory must stay until a
	 * mark issued after the stage is reached; what is lent stays until the next but one stage
	 * of its kind. Not unified backends copy, overlapped with what was issued before. reserve
	 * says the largest range of a kind before; again for a larger one, with
	 * nothing lent of the kind.
	 */
	int  (*reserve)(struct gnn_backend *b, enum gnn_stage_kind kind, uint64_t bytes);
	int  (*stage)(struct gnn_backend *b, enum gnn_stage_kind kind, const void *host,
		uint64_t bytes, const void **out);
	/* A point in the order of operations; wait returns once all before it is done. */
	int  (*mark)(struct gnn_backend *b, uint64_t *ticket);
	int  (*wait)(struct gnn_backend *b, uint64_t ticket);
	/*
	 * Backend memory into host memory from alloc_host, beside the operations that follow: both
	 * stay as they are until `fetched`, which waits for this ticket. At most
	 * GNN_FETCHES_MAX are on their way.
	 */
	int  (*fetch)(struct gnn_backend *b, void *host, const void *from, uint64_t bytes,
		uint64_t *ticket);
	int  (*fetched)(struct gnn_backend *b, uint64_t ticket);
	int  (*rows)(struct gnn_backend *b, const struct gnn_rows_args *a);
	int  (*move)(struct gnn_backend *b, const struct gnn_move_args *a);
	int  (*factors)(struct gnn_backend *b, const struct gnn_factors_args *a);
	int  (*aggregate)(struct gnn_backend *b, const struct gnn_aggregate_args *a);
	int  (*moments)(struct gnn_backend *b, const struct gnn_moments_args *a);
	int  (*merge)(struct gnn_backend *b, const struct gnn_merge_args *a);
	/* See gnn_backend_check_dense. */
	int  (*check_dense)(struct gnn_backend *b, uint32_t dim_in, uint32_t dim_out);
	int  (*sync)(struct gnn_backend *b);
	/* Optional: groups edges, valid until the next; prepare first; else infer/program.h does */
	int  (*prepare)(struct gnn_backend *b, const struct gnn_graph_info *g);
	int  (*group)(struct gnn_backend *b, const struct gnn_edge_list *l,
		struct gnn_edge_batch *out);
	uint64_t (*peak_bytes)(const struct gnn_backend *b); /* device memory; 0 when unified */
	uint64_t (*room_bytes)(const struct gnn_backend *b); /* still to be had; not if unified */
	/*
	 * Optional, for ranks. fork: the stream of the device where others issue work behind all
	 * that was issued so far; join: what follows is behind that work. watch: waits of the host
	 * ask `check` meanwhile, for the first time or again, and end with its status when it is a
	 * failure.
	 */
	int  (*fork)(struct gnn_backend *b, void **stream);
	int  (*join)(struct gnn_backend *b);
	void (*watch)(struct gnn_backend *b, int (*check)(void *arg, bool first), void *arg);
	void (*identify)(const struct gnn_backend *b, struct gnn_device_id *id);
	const struct gnn_grad_ops *grad; /* op/grad.h: what training takes; NULL: none here */
	const struct gnn_sample_ops *sample; /* op/sample.h: likewise */
	const struct gnn_place_ops *places; /* op/places.h: what reordering takes */
};

/* Every backend embeds this first. */
struct gnn_backend {
	const struct gnn_backend_ops *ops;
};

extern const struct gnn_backend_ops gnn_backend_cpu;
extern const struct gnn_backend_ops gnn_backend_cuda; /* defined in builds with CUDA */

GNN_BEGIN_DECLS

/* "auto", "cpu", "cuda"; GNN_EUNAVAIL for one that is not here. */
int  gnn_backend_create (struct gnn_backend **out, const char *name,
	const struct gnn_backend_opts *o);
void gnn_backend_destroy(struct gnn_backend *b); /* NULL is fine */

/* Host memory as the backend reads it: itself or a copy; NULL for NULL. unmirror takes NULL. */
int  gnn_backend_mirror(struct gnn_backend *b, const void **to, const void *from, uint64_t bytes);
void gnn_backend_unmirror(struct gnn_backend *b, const void *there);

/* What the BLAS of the CPU backend calls itself: version and the kernel it chose. */
const char *gnn_backend_blas(void);

/* Whether bits of a dense row depend on place in a panel or thread: if so an own kernel is used. */
int  gnn_backend_check_dense(struct gnn_backend *b, uint32_t dim_in, uint32_t dim_out);

GNN_END_DECLS

#endif
