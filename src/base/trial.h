/*
 * base/trial.h - the timing loop that every measuring program shares.
 *
 * Flow     bench -> [trial] -> table or JSON of the bench
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller
 * Fails    as the body fails
 */
#ifndef GNN_BASE_TRIAL_H
#define GNN_BASE_TRIAL_H

#include "base/err.h"

enum { GNN_TRIAL_RUNS_MAX = 64 };

struct gnn_trial {
	uint32_t runs;
	double   median_s, min_s, max_s;
};

GNN_BEGIN_DECLS

/* Runs `body` once unmeasured when `warm`, then `runs` times; stops at the first failure. */
int gnn_trial_run(struct gnn_trial *out, uint32_t runs, bool warm, int (*body)(void *arg),
	void *arg);

GNN_END_DECLS

#endif
