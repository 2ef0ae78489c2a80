/*
 * train/shelf.h - embeddings of hot vertices, made a super-batch before they are used.
 *
 * Flow     hot vertices, versions of the weights -> [shelf] -> rows that batches take
 * Owns     a thread, plans, the rows of the super-batch at work and of the next
 * Lends    plans; a shelf, until the super-batch behind the next is begun
 * Thread   publish and save by the trainer; take and count by its carrier
 * Fails    as embed and batches; GNN_ESTOP after a cancel, or where the thread has failed
 *
 * A super-batch is n consecutive steps, on across epochs. Its batches are drawn, but for their last
 * hop, before it is trained: the hot vertices among them, in order of hotness, are its queue. Slice
 * j of n of the queue of super-batch k + 1 is made with the weights behind update k n + j, while
 * super-batch k trains, and is used by all steps of k + 1: never older than 2 n - 1 updates, which
 * is asserted for every row that is used. Super-batch 0 has no hot vertices. A step that is due
 * waits for its rows: what comes out follows from (seed, number, versions), not from the clock; or
 * it takes those that are there (train/late.h).
 */
#ifndef GNN_TRAIN_SHELF_H
#define GNN_TRAIN_SHELF_H

#include "train/batch.h"
#include "train/embed.h"
#include "train/late.h"
#include "train/plan.h"

/* Bins of a histogram of staleness: 0, 1, 2-3, 4-7, 8-15 ... */
enum { GNN_STALE_BINS = 16 };

/* The rows of a super-batch. */
struct gnn_shelf {
	uint64_t  index, count;
	float    *y;          /* (count, width) */
	float    *aggregate;  /* (parts count, dim), or NULL */
	uint64_t *version;    /* (count) of the weights */
	struct gnn_collect_room  rows[2];
	struct gnn_room          versions;
};

/* What a batch takes of it. */
struct gnn_shelf_part {
	const struct gnn_shelf  *shelf;
	uint64_t                 rows;
	struct gnn_onehop_counts counts; /* of their making */
};

/* How old the rows are that a batch takes. */
struct gnn_staleness {
	uint64_t most;        /* updates */
	uint64_t bin[GNN_STALE_BINS]; /* rows; those that the batch makes itself are in bin 0 */
	uint64_t late;        /* of these the ones that should have been there */
};

static inline void gnn_staleness_add(struct gnn_staleness *to, const struct gnn_staleness *t)
{
	to->most = gnn_max_u64(to->most, t->most);
	to->late += t->late;
	for (uint32_t i = 0; i < GNN_STALE_BINS; i++)
		to->bin[i] += t->bin[i];
}

struct gnn_shelves_opts {
	struct gnn_plans_opts    plans;     /* but for `first` */
	struct gnn_batches_opts  batches;   /* as the training draws them */
	struct gnn_embed_opts    embed;
	struct gnn_net          *net;       /* that is trained */
	struct gnn_late         *late;      /* how long rows are waited for */
	uint64_t                 step, last_step; /* of training: the first, and past the last */
	bool                     ahead;     /* on a thread of its own, else by who publishes */
};

struct gnn_shelves;

GNN_BEGIN_DECLS

/* `history` of the versions before `step`. */
int  gnn_shelves_start (struct gnn_shelves **out, const struct gnn_shelves_opts *o,
	const struct gnn_history *history);
struct gnn_plans *gnn_shelves_plans(struct gnn_shelves *s);
/* The shelf that a step takes rows from, and how many are there; NULL where none are. */
int  gnn_shelves_take  (struct gnn_shelves *s, uint64_t step, struct gnn_shelf_part *part);
bool gnn_shelves_may_be_late(const struct gnn_shelves *s); /* take may give fewer rows */
/* Whether take will not wait. */
bool gnn_shelves_is_settled(struct gnn_shelves *s, uint64_t step);
/*
 * Adds the rows that a batch takes to `t`; none is older than 2 n - 1 updates. Their making counts
 * for the first batch of the super-batch.
 */
void gnn_shelves_count (const struct gnn_shelves *s, const struct gnn_shelf_part *part,
	uint64_t step, const struct gnn_mix *m, struct gnn_staleness *t,
	struct gnn_onehop_counts *counts);
/*
 * The net's weights are those before step `step`. Without a thread this makes what is due: plans
 * and rows are there before who needs them asks.
 */
int  gnn_shelves_publish(struct gnn_shelves *s, uint64_t step);
int  gnn_shelves_save  (struct gnn_shelves *s, uint64_t step, struct gnn_history *h);
void gnn_shelves_cancel(struct gnn_shelves *s); /* NULL is fine */
/* Joins the thread; its status. */
int  gnn_shelves_join  (struct gnn_shelves *s);
void gnn_shelves_destroy(struct gnn_shelves *s); /* joined or not; NULL is fine */

GNN_END_DECLS

#endif
