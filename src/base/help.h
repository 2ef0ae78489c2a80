/*
 * base/help.h - the option table as text for people: --help and docs/config.md.
 *
 * Flow     options, commands -> [help] -> stdout
 * Owns     nothing
 * Lends    nothing
 * Thread   the main thread
 * Fails    never; a stdout that cannot be written is seen by gnn_out_finish
 */
#ifndef GNN_BASE_HELP_H
#define GNN_BASE_HELP_H

#include "base/config.h"

GNN_BEGIN_DECLS

/* The program's help for GNN_CMD_COUNT, else the command's. */
void gnn_help(const struct gnn_command *commands, enum gnn_command_id command);
void gnn_help_markdown(const struct gnn_command *commands);

GNN_END_DECLS

#endif
