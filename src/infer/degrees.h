/*
 * infer/degrees.h - what the engine must know of every vertex at any time: its degrees.
 *
 * Flow     store -> [degrees] -> program (carry rows), infer (degree factors)
 * Owns     4 bytes a vertex, 4 more each where the graph has self-loops, for out-degrees, for
 *          weighted degrees, and for the weights of self-loops; 1/4 byte for the hubs
 * Lends    nothing
 * Thread   constant once loaded
 * Fails    GNN_EDATA offsets that do not ascend, a degree over 2^32 - 1; GNN_EIO; GNN_EOS
 */
#ifndef GNN_INFER_DEGREES_H
#define GNN_INFER_DEGREES_H

#include "io/store.h"
#include "op/backend.h"

struct gnn_degrees {
	uint64_t  vertices;
	uint32_t *in;        /* (V) listed in-edges */
	uint32_t *out;       /* (V) listed out-edges, or NULL: not loaded */
	uint32_t *loops;     /* (V) listed self-loops, or NULL: none at all */
	float    *weighted;  /* (V) deg as a sum of weights, or NULL: not loaded */
	float    *loop_weights; /* (V) of the own message, or NULL: 1 */
	uint64_t *hub_bits;  /* one bit a vertex: in-degree >= GNN_HUB_DEGREE */
	uint64_t *hub_rank;  /* hubs in front of each 64-bit word */
	uint64_t  hub_count;
	uint64_t  read_bytes;
	/* The same as the backend sees them, after gnn_degrees_mirror. */
	struct gnn_backend *backend;
	const uint32_t *in_there, *out_there, *loops_there;
	const float    *weighted_there, *loop_weights_there;
	const uint64_t *hub_bits_there, *hub_rank_there;
};

GNN_BEGIN_DECLS

int  gnn_degrees_load(struct gnn_degrees **out, const struct gnn_store *s, bool verify);
/* Out-degrees too, for layers that scale by them; before the mirror. */
int  gnn_degrees_load_out(struct gnn_degrees *d, const struct gnn_store *s, bool verify);
/*
 * Weighted degrees too, from a store with weights; before the mirror. With replace_loops the own
 * message has the weight of the listed self-loop that it replaces, or 1.
 */
int  gnn_degrees_load_weighted(struct gnn_degrees *d, const struct gnn_store *s,
	bool replace_loops, bool verify);
/* Of the vertices id[0 .. count), in that order; of them only the first `dst_count` are hubs. */
int  gnn_degrees_pick(struct gnn_degrees **out, const struct gnn_degrees *d, const gnn_vid *id,
	uint64_t count, uint64_t dst_count);
void gnn_degrees_free(struct gnn_degrees *d); /* NULL is fine */
uint64_t gnn_degrees_bytes(const struct gnn_store *s); /* memory that load takes */

/* Copies for backends whose memory is not the host's; else the host's own arrays. */
int  gnn_degrees_mirror  (struct gnn_degrees *d, struct gnn_backend *b);

GNN_END_DECLS

/* Hubs in front of v, which may be one past the last vertex. */
static inline uint64_t gnn_degrees_hubs_before(const struct gnn_degrees *d, gnn_vid v)
{
	uint64_t below = d->hub_bits[v >> 6] & ((UINT64_C(1) << (v & 63)) - 1);

	return d->hub_rank[v >> 6] + (uint64_t)__builtin_popcountll(below);
}

/* The row of v in a carry matrix of hub_count rows, or GNN_NO_CARRY. */
static inline uint64_t gnn_degrees_carry(const struct gnn_degrees *d, gnn_vid v)
{
	if (((d->hub_bits[v >> 6] >> (v & 63)) & 1) == 0)
		return GNN_NO_CARRY;
	return gnn_degrees_hubs_before(d, v);
}

static inline uint64_t gnn_degrees_loops(const struct gnn_degrees *d, gnn_vid v)
{
	return d->loops == NULL ? 0 : d->loops[v];
}

#endif
