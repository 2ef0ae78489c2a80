/*
 * base/config_file.h - the YAML file of --config: flat `name: value` lines, nothing else.
 *
 * Flow     F.yaml -> [config_file] -> fields that the command line did not set
 * Owns     nothing; values go into the config's own text
 * Lends    nothing
 * Thread   the main thread
 * Fails    GNN_ENOENT no such file; GNN_ECONFIG with file:line: unknown or repeated key, nested
 *          map, wrong type or value, what libyaml refuses (tabs, bytes that are not UTF-8)
 */
#ifndef GNN_BASE_CONFIG_FILE_H
#define GNN_BASE_CONFIG_FILE_H

#include "base/config.h"

GNN_BEGIN_DECLS

/* Reads c->config_path. Relative paths in it count from the folder of the file. */
int gnn_config_file_read(struct gnn_config *c, const struct gnn_command *commands);

GNN_END_DECLS

#endif
