/* op/argsort.c - see argsort.h. Least digit first; digits that all keys share are skipped. */
#include "op/argsort.h"

enum {
	DIGIT_BITS = 8,
	DIGITS = 1 << DIGIT_BITS,
	FEW = 48,          /* pairs that insertion sorts faster */
	SHARES_MAX = 64,
	SHARE_PAIRS = 1 << 16, /* that one thread is worth starting for */
};

static void insert_each(struct gnn_sort_pair *pair, uint64_t count)
{
	for (uint64_t i = 1; i < count; i++) {
		struct gnn_sort_pair p = pair[i];
		uint64_t at = i;

		for (; at > 0 && pair[at - 1].key > p.key; at--)
			pair[at] = pair[at - 1];
		pair[at] = p;
	}
}

static uint64_t varying_bits(const struct gnn_sort_pair *pair, uint64_t count, uint32_t shares)
{
	uint64_t bits = 0, first = pair[0].key;

#pragma omp parallel for schedule(static) num_threads((int)shares) if (shares > 1) \
	reduction(| : bits)
	for (uint64_t i = 0; i < count; i++)
		bits |= pair[i].key ^ first;
	return bits;
}

/* Where the pairs of each share with each digit go: shares in order within a digit. */
static void place_digits(uint64_t (*start)[DIGITS], uint32_t shares)
{
	uint64_t sum = 0;

	for (uint32_t d = 0; d < DIGITS; d++)
		for (uint32_t s = 0; s < shares; s++) {
			uint64_t n = start[s][d];

			start[s][d] = sum;
			sum += n;
		}
}

/* One digit, from `from` to `to`. */
static void pass(const struct gnn_sort_pair *from, struct gnn_sort_pair *to, uint64_t count,
	uint32_t shift, uint32_t shares)
{
	uint64_t start[SHARES_MAX][DIGITS];

#pragma omp parallel for schedule(static, 1) num_threads((int)shares) if (shares > 1)
	for (uint32_t s = 0; s < shares; s++) {
		memset(start[s], 0, sizeof(start[s]));
		for (uint64_t i = count * s / shares; i < count * (s + 1) / shares; i++)
			start[s][from[i].key >> shift & (DIGITS - 1)]++;
	}
	place_digits(start, shares);
#pragma omp parallel for schedule(static, 1) num_threads((int)shares) if (shares > 1)
	for (uint32_t s = 0; s < shares; s++)
		for (uint64_t i = count * s / shares; i < count * (s + 1) / shares; i++)
			to[start[s][from[i].key >> shift & (DIGITS - 1)]++] = from[i];
}

void gnn_argsort(struct gnn_sort_pair *pair, struct gnn_sort_pair *spare, uint64_t count,
	uint32_t threads)
{
	uint32_t shares = (uint32_t)gnn_min_u64(gnn_min_u64(threads, SHARES_MAX),
		gnn_max_u64(count / SHARE_PAIRS, 1));
	struct gnn_sort_pair *from = pair, *to = spare;
	uint64_t bits;

	if (count <= FEW) {
		insert_each(pair, count);
		return;
	}
	bits = varying_bits(pair, count, shares);
	for (uint32_t shift = 0; shift < 64; shift += DIGIT_BITS) {
		struct gnn_sort_pair *sorted = to;

		if ((bits >> shift & (DIGITS - 1)) == 0)
			continue;
		pass(from, to, count, shift, shares);
		to = from;
		from = sorted;
	}
	if (from != pair)
		memcpy(pair, from, count * sizeof(*pair));
}
