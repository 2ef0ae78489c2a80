/*
 * base/setting.h - one option's value: from text into struct gnn_config, and back to text.
 *
 * Flow     text of a flag or of a file -> [setting] -> field; field -> [setting] -> print, help
 * Owns     nothing
 * Lends    text of the table or of the caller's buffer
 * Thread   one caller a config
 * Fails    GNN_EUSAGE a value that does not fit, saying what is wanted and what was found
 */
#ifndef GNN_BASE_SETTING_H
#define GNN_BASE_SETTING_H

#include "base/options.h"

GNN_BEGIN_DECLS

/* Writes the field. Text is borrowed; a list grows. */
int gnn_setting_put(const struct gnn_option *o, struct gnn_config *c, const char *text);

/* The field's value as put reads it, cut to `bytes`; not for lists. NULL: not given. */
const char *gnn_setting_text(const struct gnn_option *o, const struct gnn_config *c, char *to,
	size_t bytes);

/* What help and messages say a value looks like: "N", "auto|cpu". */
const char *gnn_setting_wanted(const struct gnn_option *o, char *to, size_t bytes);

GNN_END_DECLS

#endif
