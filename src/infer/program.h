/*
 * infer/program.h - the control plane: edges of a chunk grouped by destination.
 *
 * Flow     feed (edges in source order) -> [program] -> executor (gnn_edge_batch)
 * Owns     the sort buffers of a grouper; the arrays of a program
 * Lends    nothing
 * Thread   a grouper belongs to one thread, which may ask others to help; a program to who holds it
 * Fails    GNN_EDATA a neighbour outside the graph; GNN_EOS memory
 *
 * An entry is one 64-bit word, destination (from the range's first) above, row of the chunk below,
 * so that one stable radix sort over the destination's bits keeps source order within each
 * destination: on several lanes too, each of which takes a stretch of the entries. The own row of
 * v is an entry of its own, in front of the listed out-edges of v. Weights move with the entries.
 */
#ifndef GNN_INFER_PROGRAM_H
#define GNN_INFER_PROGRAM_H

#include "infer/degrees.h"
#include "tier/inlists.h"

struct gnn_program {
	struct gnn_edge_batch batch; /* points into the arrays below */
	uint64_t *vertex, *carry, *first;
	uint32_t *src;
	float    *weight; /* NULL: entries have none */
	uint32_t *next;   /* source that each destination waits for; NULL: not known */
	uint32_t *next_;  /* internal: room for it */
};

struct gnn_grouper {
	const struct gnn_degrees *degrees;
	struct gnn_range to;
	bool      drop_loops;
	uint32_t  row_bits;  /* low bits of an entry: own flag and row of the chunk */
	uint32_t  digits;    /* passes of the sort */
	uint32_t  digit_bits;
	uint64_t  capacity;  /* entries */
	uint64_t  count;
	uint32_t  lanes;     /* threads that sort, at least 1 */
	uint64_t *start;     /* (lanes, 2^digit_bits) where each digit of a lane goes */
	uint64_t *groups;    /* (lanes) destinations whose first entry is in a lane */
	uint64_t *entry, *spare;
	const float *own_weights; /* (V) or NULL: 1 */
	float    *weight, *weight_spare; /* NULL: edges have none */
	struct gnn_draw sample;
	bool      drawn;
	const uint32_t *now; /* (V) the source each vertex waits for, or NULL */
	const struct gnn_inlists_cursor *cursor; /* in its place, or NULL: goes on with the edges */
	gnn_vid   source, last; /* whose edges came last, and where the last of them leads */
	uint64_t  copy;         /* of that edge */
};

GNN_BEGIN_DECLS

int  gnn_program_init(struct gnn_program *p, uint64_t entries, uint64_t vertices);
void gnn_program_fini(struct gnn_program *p);
uint64_t gnn_program_bytes(uint64_t entries, uint64_t vertices);
/* Room for the weights of the entries. */
int  gnn_program_weigh(struct gnn_program *p, uint64_t entries);

/* For chunks of at most `rows` rows and programs of at most `entries` entries into `to`. */
int  gnn_grouper_init(struct gnn_grouper *g, const struct gnn_degrees *d,
	const struct gnn_range *to, uint64_t rows, uint64_t entries, bool drop_loops);
void gnn_grouper_fini(struct gnn_grouper *g);
/* From here on so many threads sort; the order does not depend on it. */
int  gnn_grouper_share(struct gnn_grouper *g, uint32_t lanes);
uint64_t gnn_grouper_lane_bytes(void);
/* From here on entries have weights; those of own rows are `own_weights` (V), or 1 when NULL. */
int  gnn_grouper_weigh(struct gnn_grouper *g, const float *own_weights);

/*
 * From here on only edges of the sample are taken; where it is scaled programs need weights.
 * drawn: the edges that come are those of the sample already.
 */
void gnn_grouper_sample(struct gnn_grouper *g, const struct gnn_draw *s, bool drawn);

/* Own row of vertex v of the range, which is row `row` of the chunk. */
void gnn_grouper_own(struct gnn_grouper *g, gnn_vid v, uint32_t row);
/*
 * Listed out-edges of v into the range, in order; neighbors are u32 or u64, weights beside them
 * where entries have any.
 */
int  gnn_grouper_edges(struct gnn_grouper *g, gnn_vid v, uint32_t row, const void *neighbors,
	const float *weights, enum gnn_dtype dtype, uint64_t count);
/* Sorts what was added into `p` and empties the grouper. */
void gnn_grouper_end(struct gnn_grouper *g, struct gnn_program *p);

GNN_END_DECLS

#endif
