/* io/scan.c - see scan.h. */
#include "io/scan.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first digit is the lowest byte");

const char *gnn_scan_u64_long(const char *p, uint64_t *value)
{
	static const uint64_t power[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000,
		100000000};
	const char *start = p;
	uint64_t sum = 0, word;
	uint32_t digits;

	do {
		memcpy(&word, p, 8);
		digits = gnn_scan_digits8(word);
		if (digits == 0)
			break;
		if (p + digits - start > GNN_SCAN_DIGITS_MAX ||
			__builtin_mul_overflow(sum, power[digits], &sum) ||
			__builtin_add_overflow(sum, gnn_scan_value8(word, digits), &sum))
			return NULL;
		p += digits;
	} while (digits == 8);
	*value = sum;
	return p;
}

/* Up to 19 digits go into *mantissa; the rest only moves the exponent. */
static const char *scan_digits(const char *p, const char *end, uint64_t *mantissa,
	uint32_t *significant, bool *cut)
{
	for (; p < end && *p >= '0' && *p <= '9'; p++) {
		if (*significant == 19) {
			*cut = true;
			continue;
		}
		*mantissa = *mantissa * 10 + (uint64_t)(*p - '0');
		*significant += *mantissa != 0;
	}
	return p;
}

static const char *scan_word(const char *p, const char *end, double *value)
{
	static const struct {
		const char *text;
		double value;
	} words[] = {{"infinity", INFINITY}, {"inf", INFINITY}, {"nan", NAN}};

	for (size_t i = 0; i < GNN_COUNT_OF(words); i++) {
		size_t len = strlen(words[i].text);

		if ((size_t)(end - p) >= len && strncasecmp(p, words[i].text, len) == 0) {
			*value = words[i].value;
			return p + len;
		}
	}
	return NULL;
}

/* Behind 'e' or 'E' at p; p itself comes back when no exponent stands there. */
static const char *scan_exponent(const char *p, const char *end, int *exponent)
{
	const char *q = p + 1;
	bool minus;
	int e = 0;

	if (p == end || (*p != 'e' && *p != 'E') || q == end)
		return p;
	minus = *q == '-';
	q += *q == '-' || *q == '+';
	if (q == end || *q < '0' || *q > '9')
		return p;
	for (; q < end && *q >= '0' && *q <= '9'; q++)
		e = e < 100000 ? e * 10 + (*q - '0') : e;
	*exponent = minus ? -e : e;
	return q;
}

/* The C library rounds what the exact path cannot; its input must end in NUL. */
static bool round_slowly(const char *p, const char *end, double *value)
{
	char text[512];
	size_t len = (size_t)(end - p);

	if (len >= sizeof(text))
		return false;
	memcpy(text, p, len);
	text[len] = '\0';
	*value = strtod(text, NULL);
	return true;
}

const char *gnn_scan_f64(const char *p, const char *end, double *value)
{
	static const double power[23] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10,
		1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
	const char *start = p, *digits, *point, *stop;
	bool minus = p < end && *p == '-', cut = false;
	uint32_t significant = 0;
	uint64_t mantissa = 0;
	int exponent = 0;
	double v;

	p += p < end && (*p == '-' || *p == '+');
	digits = p;
	stop = scan_word(p, end, value);
	if (stop != NULL) {
		*value = minus ? -*value : *value;
		return stop;
	}
	p = scan_digits(p, end, &mantissa, &significant, &cut);
	point = p;
	if (p < end && *p == '.')
		p = scan_digits(p + 1, end, &mantissa, &significant, &cut);
	if (p - digits == (*point == '.' && p > point)) /* no digit on either side */
		return start;
	stop = scan_exponent(p, end, &exponent);
	exponent -= p > point ? (int)(p - point - 1) : 0;
	/* Both factors are exact below these bounds, so one rounding is made. */
	if (!cut && mantissa <= 1ull << 53 && exponent >= -22 && exponent <= 22) {
		v = (double)mantissa;
		v = exponent < 0 ? v / power[-exponent] : v * power[exponent];
		*value = minus ? -v : v;
		return stop;
	}
	return round_slowly(start, stop, value) ? stop : start;
}
