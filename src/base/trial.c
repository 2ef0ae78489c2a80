/* base/trial.c - see trial.h. */
#include "base/trial.h"

#include "base/clock.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int gnn_trial_run(struct gnn_trial *out, uint32_t runs, bool warm, int (*body)(void *arg),
	void *arg)
{
	double s[GNN_TRIAL_RUNS_MAX];
	int rc = GNN_OK;

	GNN_ASSERT(runs > 0 && runs <= GNN_TRIAL_RUNS_MAX);
	*out = (struct gnn_trial){.runs = runs};
	if (warm)
		GNN_TRY(body(arg));
	for (uint32_t i = 0; i < runs; i++) {
		uint64_t start = gnn_clock_ns();

		GNN_TRY(body(arg));
		s[i] = gnn_clock_s_since(start);
	}
	qsort(s, runs, sizeof(s[0]), ascending);
	out->min_s = s[0];
	out->max_s = s[runs - 1];
	out->median_s = (s[(runs - 1) / 2] + s[runs / 2]) / 2;
out:
	return rc;
}
