/*
 * io/yaml.h - the descriptions of data sets, read as a tree.
 *
 * Flow     file -> [yaml] -> layouts
 * Owns     the tree
 * Lends    text, until close
 * Thread   one caller
 * Fails    GNN_EDATA no YAML: names file and line; GNN_ENOENT; GNN_EOS
 *
 * A node is a number; 0 is "not there", and asking it for more gives 0 or NULL again.
 */
#ifndef GNN_IO_YAML_H
#define GNN_IO_YAML_H

#include "base/err.h"

struct gnn_yaml;

GNN_BEGIN_DECLS

int  gnn_yaml_open (struct gnn_yaml **out, const char *path);
void gnn_yaml_close(struct gnn_yaml *y); /* NULL is fine */

int  gnn_yaml_root(struct gnn_yaml *y);
int  gnn_yaml_get (struct gnn_yaml *y, int map, const char *key);
int  gnn_yaml_item(struct gnn_yaml *y, int list, uint32_t i); /* 0 behind the last */
const char *gnn_yaml_text(struct gnn_yaml *y, int node);      /* of a scalar; else NULL */
bool gnn_yaml_number(struct gnn_yaml *y, int node, uint64_t *value);

GNN_END_DECLS

#endif
