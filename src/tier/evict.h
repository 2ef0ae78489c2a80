/*
 * tier/evict.h - which row of a full store goes: one policy a file, one row a policy.
 *
 * Flow     control (rows that came, were used, left) -> [evict] -> the slot to give up
 * Owns     the order of the slots in use
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EOS memory
 *
 * A policy is pure: it reads numbers and names a slot; the caller moves the row. Equal calls give
 * equal answers.
 */
#ifndef GNN_TIER_EVICT_H
#define GNN_TIER_EVICT_H

#include "tier/buckets.h"

enum gnn_evict_policy {
	GNN_EVICT_BELADY,  /* whose next use is farthest */
	GNN_EVICT_PENDING, /* with the fewest messages to come */
	GNN_EVICT_LRU,     /* not used for the longest time */
	GNN_EVICT_FIFO,    /* that came first */
	GNN_EVICT_RANDOM,
	GNN_EVICT_COUNT,
};

struct gnn_evict_opts {
	uint32_t slots;
	uint64_t epochs;      /* next uses are below */
	uint64_t pending_max; /* messages to come at most */
	uint64_t seed;
};

/* What is known of a row that stays after it was used. */
struct gnn_evict_row {
	uint64_t next;    /* epoch of the next use; 0 when the policy does not ask */
	uint64_t pending; /* messages to come */
};

struct gnn_evict {
	const struct gnn_evict_ops *ops;
	struct gnn_buckets buckets; /* all but random */
	uint64_t  key_max;
	uint64_t  seed, draws;
	uint32_t  count;
	uint32_t *slot, *place;     /* random: slots in use, and where each stands among them */
};

struct gnn_evict_ops {
	const char *name;
	const char *help;
	bool        next_use; /* the exact next use is asked for */
	/* Which keys are given up first: 1 high, -1 low, 0 the policy has no order by number. */
	int         order;
	int      (*init)  (struct gnn_evict *e, const struct gnn_evict_opts *o);
	void     (*insert)(struct gnn_evict *e, uint32_t slot, const struct gnn_evict_row *r);
	void     (*touch) (struct gnn_evict *e, uint32_t slot, const struct gnn_evict_row *r);
	void     (*remove)(struct gnn_evict *e, uint32_t slot);
	uint32_t (*victim)(struct gnn_evict *e); /* stays until removed; GNN_SLOT_NONE: none */
};

extern const struct gnn_evict_ops gnn_evict_belady, gnn_evict_pending, gnn_evict_lru,
	gnn_evict_fifo, gnn_evict_random;

GNN_BEGIN_DECLS

const struct gnn_evict_ops *gnn_evict_ops_of(enum gnn_evict_policy p);
int  gnn_evict_init(struct gnn_evict *e, enum gnn_evict_policy p,
	const struct gnn_evict_opts *o);
void gnn_evict_fini(struct gnn_evict *e); /* zeroed is fine */
uint64_t gnn_evict_bytes(enum gnn_evict_policy p, const struct gnn_evict_opts *o);

/* For policies that keep their rows in buckets. */
void gnn_evict_drop(struct gnn_evict *e, uint32_t slot);

GNN_END_DECLS

#endif
