/*
 * op/places_fold.h - what one list is folded to, in one order of operations for all backends.
 *
 * Flow     cpu/places.c, cuda/places.cu -> [places_fold]
 * Owns     nothing
 * Lends    nothing
 * Thread   pure functions
 * Fails    never
 *
 * Places are integers, so their sums are exact in any order. Sums of centres go in lanes: entry i
 * of a list is added to lane i mod GNN_PLACE_LANES, each lane in order, and the lanes are added
 * in halves. Dispersions go by blocks of absolute ids, each in order, then over the blocks.
 */
#ifndef GNN_OP_PLACES_FOLD_H
#define GNN_OP_PLACES_FOLD_H

#include "base/decl.h"

enum { GNN_PLACE_LANES = 16, GNN_PLACE_BLOCK = 2048 };

/* The mean place of N(v), by 1/d(v): what v pulls its in-neighbours to, and how hard. */
struct gnn_centre {
	double pull;   /* mean / d(v) */
	double weight; /* 1 / d(v) */
};

/* Of places relative to that of the list's vertex, which is in it with 0. */
struct gnn_place_fold {
	int64_t  low, high, sum;
	uint64_t squares[2]; /* low and high word */
};

static GNN_HOST_DEVICE inline void gnn_place_squares(struct gnn_place_fold *f, uint64_t low,
	uint64_t high)
{
	f->squares[0] += low;
	f->squares[1] += high + (f->squares[0] < low);
}

/* Vertices are fewer than 2^63. */
static GNN_HOST_DEVICE inline void gnn_place_take(struct gnn_place_fold *f, int64_t x)
{
	const uint64_t size = (uint64_t)(x < 0 ? -x : x), half = size & UINT32_MAX;
	const uint64_t up = size >> 32, middle = 2 * up * half;

	f->low = x < f->low ? x : f->low;
	f->high = x > f->high ? x : f->high;
	f->sum += x;
	gnn_place_squares(f, half * half, 0);
	if (up != 0)
		gnn_place_squares(f, middle << 32, up * up + (middle >> 32));
}

/* The nearest double. */
static GNN_HOST_DEVICE inline double gnn_place_double(const uint64_t squares[2])
{
	uint64_t low = squares[0], high = squares[1], lost = 0;
	double scale = 1.0;

	for (; high != 0; high >>= 1) {
		lost |= low & 1;
		low = low >> 1 | high << 63;
		scale *= 2.0;
	}
	return (double)(low | lost) * scale;
}

/* Of a list of so many entries, without the vertex itself. */
static GNN_HOST_DEVICE inline double gnn_place_dispersion(const struct gnn_place_fold *f,
	uint64_t entries)
{
	const double weight = 1.0 / (double)(entries + 1), mean = (double)f->sum * weight;

	return (gnn_place_double(f->squares) - (double)f->sum * mean) * weight;
}

static GNN_HOST_DEVICE inline struct gnn_centre gnn_place_centre(const struct gnn_place_fold *f,
	uint64_t entries, uint64_t own)
{
	const double weight = 1.0 / (double)(entries + 1), mean = (double)f->sum * weight;
	const struct gnn_centre c = {((double)own + mean) * weight, weight};

	return c;
}

#endif
