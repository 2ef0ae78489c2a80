/*
 * base/log.h - lines for people on stderr.
 *
 * Flow     all modules -> [log] -> stderr
 * Owns     the level, the status line of a terminal
 * Lends    nothing
 * Thread   any thread; a line is written by one call
 * Fails    never
 *
 * A line is "HH:MM:SS level [subsystem] text". Info is for a user who watches, warn for a
 * fall-back or a suspicious input (each said once by its caller), error once, by main.
 */
#ifndef GNN_BASE_LOG_H
#define GNN_BASE_LOG_H

#include "base/decl.h"

enum gnn_log_level { GNN_LOG_ERROR, GNN_LOG_WARN, GNN_LOG_INFO, GNN_LOG_DEBUG };

GNN_BEGIN_DECLS

void gnn_log_set_level(enum gnn_log_level level);
bool gnn_log_enabled  (enum gnn_log_level level);
void gnn_log(enum gnn_log_level level, const char *subsystem, const char *fmt, ...)
	GNN_PRINTF(3, 4);

/* stderr is a terminal that can redraw a line; TERM=dumb or none is not. */
bool gnn_log_on_terminal(void);
/* A line that stays below all others, cut to the terminal's width; NULL takes it away. */
void gnn_log_status(const char *text);

/* "gnnrun: text": why the program ends; main alone says so, at any level. */
void gnn_log_failure(const char *text);

/* Text on stdout, for results; flushed and checked by gnn_out_finish. */
void gnn_out(const char *fmt, ...) GNN_PRINTF(1, 2);
int  gnn_out_finish(void); /* GNN_EIO when stdout could not be written */

GNN_END_DECLS

#endif
