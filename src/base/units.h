/*
 * base/units.h - numbers as people write and read them.
 *
 * Flow     options, config -> [units]; progress, reports -> [units]
 * Owns     nothing
 * Lends    nothing: text goes into the caller's buffer of GNN_UNITS_BYTES, which is returned
 * Thread   any thread; no state
 * Fails    a parser returns false; its caller knows what the number was for and writes the text
 *
 * Sizes take K M G T, powers of 1024. What is printed for people uses powers of 1024 for bytes
 * held (MiB) and of 1000 for rates (GB/s), as disks and networks are sold.
 */
#ifndef GNN_BASE_UNITS_H
#define GNN_BASE_UNITS_H

#include "base/decl.h"

enum { GNN_UNITS_BYTES = 32 };

GNN_BEGIN_DECLS

/* Decimal digits and nothing else; no leading zero, which YAML 1.1 would take as octal. */
bool gnn_units_parse_count(const char *text, uint64_t *value);
/* A count, or digits with an optional fraction and one of K M G T: "4096", "64K", "1.5G". */
bool gnn_units_parse_size (const char *text, uint64_t *bytes);
/* A finite decimal number: "0.05", ".5", "1e-3". */
bool gnn_units_parse_real (const char *text, double *value);

/* Exact, and read back by the parsers: "8M", "4097", "0.05". */
const char *gnn_units_size(char *to, uint64_t bytes);
const char *gnn_units_real(char *to, double value);

/* Rounded, for people: "1.50 GiB", "12.3 M", "3.20 GB/s", "2m05s". */
const char *gnn_units_bytes(char *to, double bytes);
const char *gnn_units_count(char *to, double count);
const char *gnn_units_rate (char *to, double per_second, const char *unit); /* "B", "rows" */
const char *gnn_units_time (char *to, double seconds);

GNN_END_DECLS

#endif
