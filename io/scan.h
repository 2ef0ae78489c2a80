/*
 * io/scan.h - decimal numbers in text, eight digits at a time.
 *
 * Flow     bytes of a text file -> [scan] -> numbers
 * Owns     nothing
 * Lends    nothing
 * Thread   any thread; no state
 * Fails    never: what is no number is shown by the pointer that comes back
 *
 * At least GNN_SCAN_SLACK bytes behind the text must be readable. Digits are counted and valued
 * in one word, so numbers of different lengths cost no mispredicted branch.
 */
#ifndef GNN_IO_SCAN_H
#define GNN_IO_SCAN_H

#include "base/decl.h"

#include <string.h>

enum { GNN_SCAN_SLACK = 64, GNN_SCAN_DIGITS_MAX = 20 };

/* How many of the 8 bytes, from the first, are digits. x = byte ^ '0' is 0..9 for a digit. */
static inline uint32_t gnn_scan_digits8(uint64_t word)
{
	uint64_t x = word ^ 0x3030303030303030u;
	uint64_t other = (((x & 0x7f7f7f7f7f7f7f7fu) + 0x7676767676767676u) | x) &
		0x8080808080808080u;

	return other == 0 ? 8 : (uint32_t)__builtin_ctzll(other) >> 3;
}

/* The value of the first `digits` (1..8) bytes: moved to the top, '0' fills in front. */
static inline uint64_t gnn_scan_value8(uint64_t word, uint32_t digits)
{
	uint64_t x = (word ^ 0x3030303030303030u) << (64 - 8 * digits);

	x = x * 10 + (x >> 8); /* tens in every second byte */
	return (((x & 0x000000ff000000ffu) * 0x000f424000000064u) +
		       (((x >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u)) >> 32;
}

/* Numbers of more than 8 digits; NULL when it is over 2^64-1 or over 20 digits. */
const char *gnn_scan_u64_long(const char *p, uint64_t *value);

/*
 * A run of decimal digits at p. Returns the first byte behind it: p itself when there is none,
 * NULL when the number is too large.
 */
static inline const char *gnn_scan_u64(const char *p, uint64_t *value)
{
	uint64_t word;
	uint32_t digits;

	memcpy(&word, p, 8);
	digits = gnn_scan_digits8(word);
	if (__builtin_expect(digits == 8, 0))
		return gnn_scan_u64_long(p, value);
	if (digits == 0)
		return p;
	*value = gnn_scan_value8(word, digits);
	return p + digits;
}

GNN_BEGIN_DECLS

/*
 * A decimal floating-point number, correctly rounded to double: sign, digits, point, exponent;
 * nan and inf (any case) too. Returns the first byte behind it, p itself when there is none.
 * `end` is where the text ends.
 */
const char *gnn_scan_f64(const char *p, const char *end, double *value);

GNN_END_DECLS

#endif
