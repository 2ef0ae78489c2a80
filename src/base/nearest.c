/* base/nearest.c - see nearest.h. */
#include "base/nearest.h"

#include <string.h>

/* A letter left out or put in is likelier than a wrong one, which is likelier than both. */
enum { WORD_MAX = 48, GAP = 2, WRONG = 3 };

/* Edit distance, one row of the table at a time; words are cut at WORD_MAX. */
static uint32_t distance(const char *a, const char *b)
{
	uint32_t row[WORD_MAX + 1];
	uint32_t cols = (uint32_t)strnlen(b, WORD_MAX);

	for (uint32_t j = 0; j <= cols; j++)
		row[j] = GAP * j;
	for (uint32_t i = 1; i <= WORD_MAX && a[i - 1] != '\0'; i++) {
		uint32_t diagonal = row[0];

		row[0] = GAP * i;
		for (uint32_t j = 1; j <= cols; j++) {
			uint32_t swap = diagonal + (a[i - 1] != b[j - 1] ? WRONG : 0);
			uint32_t gap = GAP + (row[j] < row[j - 1] ? row[j] : row[j - 1]);

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
