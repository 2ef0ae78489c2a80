/*
 * cmd/infer_explain.h - the plan of an inference, for people and as JSON.
 *
 * Flow     report -> [infer_explain] -> stdout
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EOS for JSON
 */
#ifndef GNN_CMD_INFER_EXPLAIN_H
#define GNN_CMD_INFER_EXPLAIN_H

#include "base/json.h"
#include "infer/opts.h"

GNN_BEGIN_DECLS

void gnn_explain_print(const struct gnn_infer_report *r, const struct gnn_store *s,
	uint32_t ranks);
int  gnn_explain_json (const struct gnn_infer_report *r, const struct gnn_store *s,
	const struct gnn_backend *b, uint32_t ranks);
/* What was sorted of features that lie in another order, into an open object. */
void gnn_explain_permute(struct gnn_json *j, const struct gnn_infer_report *r);
/* The planned and predicted figures of a layer, into an open object. */
void gnn_explain_layer(struct gnn_json *j, const struct gnn_layer_report *l);

GNN_END_DECLS

#endif
