/*
 * op/whole.h - operations over the rows of all vertices, block by block.
 *
 * Flow     infer -> [whole] -> backend: moments, merge
 * Owns     nothing; plain data with borrowed arrays
 * Lends    nothing
 * Thread   pure functions
 * Fails    never
 *
 * Mean and spread of a whole matrix come from moments of blocks at absolute rows, which are joined
 * in order: their bits depend on nothing but the rows.
 */
#ifndef GNN_OP_WHOLE_H
#define GNN_OP_WHOLE_H

#include "base/err.h"

#include <math.h>

enum { GNN_MOMENT_ROWS = 256 }; /* of a block; panels are multiples of it */

/* Of some numbers: how many, their mean, the sum of squared distances from it. */
struct gnn_moments {
	double count, mean, spread;
};

/* to[k] = moments of rows [256 k, 256 (k + 1)) of (rows, width). */
struct gnn_moments_args {
	const float        *from;
	uint64_t            from_pitch, rows;
	uint32_t            width;
	struct gnn_moments *to; /* (ceil(rows / 256)) */
};

enum gnn_merge { GNN_MERGE_SUM, GNN_MERGE_MAX };

/* to = to + from, or the larger, NaN if either is; (rows, width). */
struct gnn_merge_args {
	enum gnn_merge how;
	const float   *from;
	uint64_t       from_pitch;
	float         *to;
	uint64_t       to_pitch, rows;
	uint32_t       width;
};

/* Moments of both together (Chan's rule). */
static inline void gnn_moments_join(struct gnn_moments *a, const struct gnn_moments *b)
{
	const double count = a->count + b->count, apart = b->mean - a->mean;

	if (b->count == 0)
		return;
	a->spread += b->spread + apart * apart * (a->count * b->count / count);
	a->mean += apart * (b->count / count);
	a->count = count;
}

static inline double gnn_moments_deviation(const struct gnn_moments *m)
{
	return m->count > 0 ? sqrt(m->spread / m->count) : 0.0;
}

#endif
