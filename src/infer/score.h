/*
 * infer/score.h - how good the rows are on the splits: accuracy, ROC AUC, F1.
 *
 * Flow     finished rows, ascending -> [score] -> a figure for each split
 * Owns     the split rows; for ROC AUC a score of each of them
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_ECONFIG a metric that labels or width do not allow; GNN_EDATA; GNN_EOS
 *
 * accuracy  share of labelled rows whose largest column is the label (one column: > 0 is class 1)
 * rocauc    two classes: area under the curve of column 1 - column 0 (or of the one column);
 *           multi-label: mean over the columns that have both classes
 * f1        multi-label: micro F1 with > 0 as yes; else macro F1 over the classes
 * auto      accuracy, or f1 with multi-label labels; none when the width is not the class count
 */
#ifndef GNN_INFER_SCORE_H
#define GNN_INFER_SCORE_H

#include "infer/opts.h"
#include "infer/share.h"

struct gnn_score;

GNN_BEGIN_DECLS

/* *out is NULL when there is nothing to score: no labels, no splits, auto and other widths. */
int  gnn_score_create (struct gnn_score **out, const struct gnn_store *s, uint32_t width,
	enum gnn_metric metric, bool verify);
/* Rows [first, first + rows) of the result, (rows, width); blocks come in order. */
int  gnn_score_rows   (struct gnn_score *s, gnn_vid first, uint64_t rows, const float *h);
/* Of the rows of all ranks; share: NULL for one alone. */
int  gnn_score_end    (struct gnn_score *s, const struct gnn_share *share,
	double figure[GNN_SPLIT_COUNT]);
const char *gnn_score_name(const struct gnn_score *s);
void gnn_score_destroy(struct gnn_score *s); /* NULL is fine */

/* The largest column, the first of equals; with one column, whether it is positive. */
uint32_t gnn_score_class(const float *h, uint32_t width);

/* Area under the ROC curve of n scores with 0/1 labels, ties shared; NaN without both classes. */
int  gnn_score_auc(const float *score, const uint8_t *label, uint64_t n, double *auc);

GNN_END_DECLS

#endif
