/*
 * train/hybrid.h - which hot vertices the CPU computes, and which are left to the device.
 *
 * Flow     seconds that the trainer waited for the CPU, device memory free -> [hybrid] -> plans
 * Owns     the decisions so far
 * Lends    them, until the next decision
 * Thread   one decides; cpu by any
 * Fails    GNN_EOS memory; GNN_EDATA, GNN_ENOENT a log; GNN_ECONFIG one of another training
 *
 * All hot vertices begin with the CPU. Where the trainer waited for their rows longer than a
 * hundredth of a super-batch, the least hot eighth of all goes from the worklist to the device,
 * which makes their rows itself, from features that stay in its memory. It stops where nothing is
 * waited for, or the memory is full. A decision holds from a super-batch that nothing is planned
 * of, and the next is made when it holds. They depend on the clock: a training is repeated bit by
 * bit by replaying their log, lines "FROM CPU": from super-batch FROM on the CPU has the CPU
 * hottest.
 */
#ifndef GNN_TRAIN_HYBRID_H
#define GNN_TRAIN_HYBRID_H

#include "train/decisions.h"

enum gnn_hybrid_mode { GNN_HYBRID_OFF, GNN_HYBRID_ON, GNN_HYBRID_REPLAY };

/* Super-batches between what a decision is made of and where it holds: those planned. */
enum { GNN_HYBRID_DELAY = 4 };

struct gnn_hybrid_seen {
	uint64_t super_batch;   /* the one that begins */
	double   idle_s, wall_s; /* waited for its rows; the super-batch before took */
	uint64_t room;          /* vertices whose features the device has memory for */
};

struct gnn_hybrid;

GNN_BEGIN_DECLS

/*
 * All of `hot` with the CPU, but for `count` decisions that were made before: from which
 * super-batch on it has how many, the hottest.
 */
int  gnn_hybrid_create(struct gnn_hybrid **out, uint64_t hot,
	const struct gnn_decision *log, uint64_t count, bool replay);
void gnn_hybrid_destroy(struct gnn_hybrid *h); /* NULL is fine */
uint64_t gnn_hybrid_cpu(struct gnn_hybrid *h, uint64_t super_batch);
void gnn_hybrid_decide(struct gnn_hybrid *h, const struct gnn_hybrid_seen *s);
const struct gnn_decision *gnn_hybrid_log(const struct gnn_hybrid *h, uint64_t *count);

int  gnn_hybrid_write(const struct gnn_hybrid *h, const char *path);
/* *log is freed by the caller. */
int  gnn_hybrid_read (const char *path, uint64_t hot, struct gnn_decision **log,
	uint64_t *count);

GNN_END_DECLS

#endif
