/*
 * tier/inlists.h - the sources of every vertex in order, in memory: when it is used next.
 *
 * Flow     store (in-lists) -> [inlists] -> control, feed
 * Owns     8 bytes a vertex, 4 or 8 bytes an edge, when loaded
 * Lends    nothing
 * Thread   constant once loaded; of a cursor, each vertex by one thread at a time
 * Fails    GNN_EOS memory; GNN_EDATA, GNN_EIO of the store
 *
 * Messages come in source order, and an in-list ascends: the next source of a vertex that had n
 * messages stands at n. No search is needed. Where a layer samples, the lists hold the edges of the
 * sample only.
 *
 * Of several ranks, chunks of all come at a time: messages in the order of (panel of its rank,
 * rank, row), which is how lists are sorted once; a source is then the row that it is of its rank,
 * since that says in which chunk it comes.
 */
#ifndef GNN_TIER_INLISTS_H
#define GNN_TIER_INLISTS_H

#include "io/store.h"
#include "op/draw.h"

struct gnn_inlists {
	const uint64_t *offset;    /* (V + 1) */
	const uint32_t *narrow;    /* (E) one of the two */
	const uint64_t *wide;
	uint64_t        read_bytes;
	bool            drawn;     /* they hold messages only, no loops that are none */
	void           *owned_[2];
	uint64_t        fanout_;   /* internal: what was drawn */
	bool            loops_;
};

/* The ranks that messages come from; their rows are numbered from bound[0] == 0 on. */
struct gnn_inlists_order {
	const gnn_vid *bound;      /* (ranks + 1) */
	uint32_t       ranks;
	uint32_t       panel_rows;
};

/* How far each vertex is in its list, for whoever goes along the edges; narrow lists only. */
struct gnn_inlists_cursor {
	const struct gnn_inlists *lists;
	const uint32_t *loops;     /* (V) listed self-loops that are no messages; NULL: none */
	uint32_t       *received;  /* (V) messages that have come */
};

#define GNN_INLISTS_END UINT32_MAX /* no message is to come */

struct gnn_inlists_draw {
	const struct gnn_store         *store;
	struct gnn_draw                 draw;       /* of the layer's sample */
	bool                            drop_loops; /* they are no messages */
	const struct gnn_inlists_order *order;      /* NULL: one rank has all rows */
};

GNN_BEGIN_DECLS

int  gnn_inlists_load(struct gnn_inlists *l, const struct gnn_store *s);
/* The lists that a layer takes: all edges, or those of its sample; read again where they differ. */
int  gnn_inlists_draw(struct gnn_inlists *l, const struct gnn_inlists_draw *o);
void gnn_inlists_fini(struct gnn_inlists *l); /* zeroed is fine */
uint64_t gnn_inlists_bytes(const struct gnn_store *s);
/* What draw takes beside them to sort lists of this many messages at most, of several ranks. */
uint64_t gnn_inlists_sort_bytes(uint64_t longest, uint32_t ranks);

GNN_END_DECLS

/*
 * The source of v's next message after `received` of them; `loops` listed self-loops of v are no
 * messages. One more must be to come.
 */
static inline gnn_vid gnn_inlists_next(const struct gnn_inlists *l, gnn_vid v, uint64_t received,
	uint64_t loops)
{
	uint64_t i = l->offset[v] + received;
	gnn_vid u = l->narrow != NULL ? l->narrow[i] : l->wide[i];

	if (loops == 0 || u < v || l->drawn)
		return u;
	i += loops; /* they stand in front of here, or here */
	return l->narrow != NULL ? l->narrow[i] : l->wide[i];
}

/* `count` messages of v have come: the source of the next one, or GNN_INLISTS_END. */
static inline uint32_t gnn_inlists_advance(const struct gnn_inlists_cursor *c, gnn_vid v,
	uint64_t count)
{
	const struct gnn_inlists *l = c->lists;
	uint64_t loops = c->loops != NULL ? c->loops[v] : 0;
	uint64_t received = c->received[v] + count;

	c->received[v] = (uint32_t)received;
	if (l->offset[v] + received + (l->drawn ? 0 : loops) >= l->offset[v + 1])
		return GNN_INLISTS_END;
	return (uint32_t)gnn_inlists_next(l, v, received, loops);
}

#endif
