/*
 * base/config_print.h - every option of a command, its value and source, as YAML.
 *
 * Flow     config -> [config_print] -> stdout
 * Owns     nothing
 * Lends    nothing
 * Thread   the main thread
 * Fails    never; a stdout that cannot be written is seen by gnn_out_finish
 */
#ifndef GNN_BASE_CONFIG_PRINT_H
#define GNN_BASE_CONFIG_PRINT_H

#include "base/config.h"

GNN_BEGIN_DECLS

/* --config reads the print-out back, from any folder: paths are printed absolute. */
void gnn_config_print(const struct gnn_config *c, const struct gnn_command *commands);

GNN_END_DECLS

#endif
