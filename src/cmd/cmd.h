/*
 * cmd/cmd.h - the subcommands: config -> create -> run -> destroy, one file each.
 *
 * Flow     main -> [cmd] -> io, layer, infer
 * Owns     nothing
 * Lends    nothing
 * Thread   the main thread
 * Fails    every status; the text is set, main prints it and exits with -status
 *
 * A command prints its result with gnn_out, or with --json one object through base/json.h.
 */
#ifndef GNN_CMD_CMD_H
#define GNN_CMD_CMD_H

#include "base/config.h"

GNN_BEGIN_DECLS

int gnn_cmd_import  (const struct gnn_config *c);
int gnn_cmd_generate(const struct gnn_config *c);
int gnn_cmd_reorder (const struct gnn_config *c);
int gnn_cmd_report  (const struct gnn_config *c);
int gnn_cmd_info    (const struct gnn_config *c);
int gnn_cmd_infer   (const struct gnn_config *c);
int gnn_cmd_train   (const struct gnn_config *c);
int gnn_cmd_export  (const struct gnn_config *c);
int gnn_cmd_model   (const struct gnn_config *c);
int gnn_cmd_bench   (const struct gnn_config *c);
int gnn_cmd_doctor  (const struct gnn_config *c);

GNN_END_DECLS

#endif
