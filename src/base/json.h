/*
 * base/json.h - one JSON object, built key by key: --json, provenance, lines of metrics.
 *
 * Flow     commands, metrics -> [json] -> stdout or text
 * Owns     the tree
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EOS no memory; adding never fails, the last call says so
 *
 * Integers are written with all their digits, numbers that are not finite as null, text that is
 * not UTF-8 with U+FFFD for each bad byte. Inside an array keys are NULL.
 */
#ifndef GNN_BASE_JSON_H
#define GNN_BASE_JSON_H

#include "base/err.h"

struct gnn_json;

GNN_BEGIN_DECLS

/* cJSON allocates from base/mem.h from here on: main calls it first, create does too. */
void gnn_json_use_budget(void);

int  gnn_json_create (struct gnn_json **out);
void gnn_json_destroy(struct gnn_json *j); /* NULL is fine */

void gnn_json_u64  (struct gnn_json *j, const char *key, uint64_t value);
void gnn_json_real (struct gnn_json *j, const char *key, double value);
void gnn_json_bool (struct gnn_json *j, const char *key, bool value);
void gnn_json_text (struct gnn_json *j, const char *key, const char *value); /* NULL: null */
void gnn_json_open_object(struct gnn_json *j, const char *key);
void gnn_json_open_array (struct gnn_json *j, const char *key);
void gnn_json_shut       (struct gnn_json *j); /* the innermost object or array */

/* The object in one line, in a block that the caller frees. */
int gnn_json_line (struct gnn_json *j, char **text);
int gnn_json_print(struct gnn_json *j); /* the line on stdout */

GNN_END_DECLS

#endif
