/* base/units.c - see units.h. */
#include "base/units.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char size_letters[] = "KMGT";

/* Digits at *at, which moves behind them; false when there are none or too many. */
static bool scan_digits(const char **at, uint64_t *value)
{
	const char *start = *at;

	*value = 0;
	for (; isdigit((unsigned char)**at); (*at)++)
		if (__builtin_mul_overflow(*value, 10u, value) ||
			__builtin_add_overflow(*value, (uint64_t)(**at - '0'), value))
			return false;
	return *at > start;
}

bool gnn_units_parse_count(const char *text, uint64_t *value)
{
	const char *at = text;

	if (text[0] == '0' && text[1] != '\0')
		return false;
	return scan_digits(&at, value) && *at == '\0';
}

/* The digits behind a point as a share of `unit`, cut to nine of them. */
static uint64_t scan_fraction(const char **at, uint64_t unit)
{
	double share = 0.0, place = 0.1;

	for (int n = 0; isdigit((unsigned char)**at); (*at)++, n++) {
		if (n < 9)
			share += place * (**at - '0');
		place *= 0.1;
	}
	return (uint64_t)(share * (double)unit + 0.5);
}

bool gnn_units_parse_size(const char *text, uint64_t *bytes)
{
	const char *at = text, *fraction = NULL, *letter;
	uint64_t whole, unit = 1;

	if (!scan_digits(&at, &whole) || (text[0] == '0' && isdigit((unsigned char)text[1])))
		return false;
	if (*at == '.') {
		fraction = ++at;
		at += strspn(at, "0123456789");
		if (at == fraction)
			return false;
	}
	letter = *at != '\0' ? strchr(size_letters, toupper((unsigned char)*at)) : NULL;
	if (letter != NULL) {
		unit = UINT64_C(1) << (10 * (letter - size_letters + 1));
		at++;
	} else if (fraction != NULL) {
		return false; /* half a byte */
	}
	if (*at != '\0' || __builtin_mul_overflow(whole, unit, bytes))
		return false;
	return fraction == NULL ||
		!__builtin_add_overflow(*bytes, scan_fraction(&fraction, unit), bytes);
}

bool gnn_units_parse_real(const char *text, double *value)
{
	char *end;

	/* strtod also takes hexadecimal, inf, nan and white space in front. */
	if (text[strspn(text, "+-.0123456789eE")] != '\0')
		return false;
	*value = strtod(text, &end);
	return end != text && *end == '\0' && isfinite(*value);
}

const char *gnn_units_size(char *to, uint64_t bytes)
{
	size_t unit = 0;

	while (unit < sizeof(size_letters) - 1 && bytes != 0 && bytes % 1024 == 0) {
		bytes /= 1024;
		unit++;
	}
	snprintf(to, GNN_UNITS_BYTES, "%llu%.*s", (unsigned long long)bytes, unit > 0,
		unit > 0 ? &size_letters[unit - 1] : "");
	return to;
}

const char *gnn_units_real(char *to, double value)
{
	double back;

	for (int digits = 6; digits <= 17; digits++) {
		snprintf(to, GNN_UNITS_BYTES, "%.*g", digits, value);
		if (gnn_units_parse_real(to, &back) && back == value)
			break;
	}
	return to;
}

/* Three figures, a prefix and a unit; no space is left where there is no prefix. */
static const char *scaled(char *to, double value, double base, const char *const *prefix,
	const char *unit)
{
	char tail[GNN_UNITS_BYTES];
	int p = 0;

	while (value >= base * 0.9995 && prefix[p + 1] != NULL) {
		value /= base;
		p++;
	}
	snprintf(tail, sizeof(tail), "%s%.20s", prefix[p], unit);
	snprintf(to, GNN_UNITS_BYTES, "%.*f%s%.20s",
		p == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, value,
		tail[0] == '\0' || tail[0] == ' ' ? "" : " ", tail);
	return to;
}

const char *gnn_units_bytes(char *to, double bytes)
{
	static const char *const prefix[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", NULL};

	return scaled(to, bytes, 1024.0, prefix, "");
}

static const char *const thousands[] = {"", "k", "M", "G", "T", "P", NULL};

const char *gnn_units_count(char *to, double count)
{
	return scaled(to, count, 1000.0, thousands, "");
}

const char *gnn_units_rate(char *to, double per_second, const char *unit)
{
	char name[GNN_UNITS_BYTES];

	snprintf(name, sizeof(name), "%s%.16s/s", strcmp(unit, "B") == 0 ? "" : " ", unit);
	return scaled(to, per_second, 1000.0, thousands, name);
}

const char *gnn_units_time(char *to, double seconds)
{
	unsigned long long s;

	if (!(seconds < 1e9)) {
		snprintf(to, GNN_UNITS_BYTES, "-");
	} else if (seconds < 59.95) {
		snprintf(to, GNN_UNITS_BYTES, seconds < 0.9995 ? "%.0f ms" : "%.1f s",
			seconds < 0.9995 ? seconds * 1e3 : seconds);
	} else {
		s = (unsigned long long)(seconds + 0.5);
		if (s < 3600)
			snprintf(to, GNN_UNITS_BYTES, "%llum%02llus", s / 60, s % 60);
		else
			snprintf(to, GNN_UNITS_BYTES, "%lluh%02llum", s / 3600, s / 60 % 60);
	}
	return to;
}
