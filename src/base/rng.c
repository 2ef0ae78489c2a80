/* base/rng.c - see rng.h. */
#include "base/rng.h"

#include <math.h>

/* sqrt(-2 ln u) cos(2 pi w), u in (0, 1], w in [0, 1). */
double gnn_rng_normal(uint64_t seed, uint64_t stream, uint64_t k)
{
	double u = 1.0 - gnn_rng_unit(gnn_rng_u64(seed, stream, 2 * k));
	double w = gnn_rng_unit(gnn_rng_u64(seed, stream, 2 * k + 1));

	return sqrt(-2.0 * log(u)) * cos(2.0 * M_PI * w);
}
