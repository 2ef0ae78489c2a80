/* base/nearest.c - see nearest.h. */
#include "base/nearest.h"

#include <string.h>

enum { WORD_MAX = 48 };

/* Levenshtein's distance, one row at a time; longer words than WORD_MAX are cut. */
static uint32_t distance(const char *a, const char *b)
{
	uint32_t row[WORD_MAX + 1];
	uint32_t cols = (uint32_t)strnlen(b, WORD_MAX);

	for (uint32_t j = 0; j <= cols; j++)
		row[j] = j;
	for (uint32_t i = 1; a[i - 1] != '\0' && i <= WORD_MAX; i++) {
		uint32_t diagonal = row[0];

		row[0] = i;
		for (uint32_t j = 1; j <= cols; j++) {
			uint32_t swap = diagonal + (a[i - 1] != b[j - 1]);
			uint32_t gap = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);

			diagonal = row[j];
			row[j] = swap < gap ? swap : gap;
		}
	}
	return row[cols];
}

const char *gnn_nearest(const char *word, const char *const *words, uint32_t count)
{
	const char *best = NULL;
	uint32_t best_distance = UINT32_MAX;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t d = distance(word, words[i]);

		if (d < best_distance) {
			best_distance = d;
			best = words[i];
		}
	}
	return best;
}
