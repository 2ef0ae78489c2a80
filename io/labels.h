/*
 * io/labels.h - classes of vertices, from an array or from text.
 *
 * Flow     ndarray, lines, rows -> [labels] -> builder, report
 * Owns     its input; of text, all labels
 * Lends    itself, until close
 * Thread   one caller
 * Fails    GNN_EDATA a label under -1, a fraction, other than 0 and 1 in many columns: with the
 *          row or line; as input
 *
 * One column: classes, -1 or NaN is unlabelled, stored as i64. Many columns: 0 and 1, stored as
 * u8. Text of one column: a label a line; of two columns: `id label`, in any order, and vertices
 * that do not occur are unlabelled.
 */
#ifndef GNN_IO_LABELS_H
#define GNN_IO_LABELS_H

#include "io/builder.h"
#include "io/idrows.h"
#include "io/input.h"
#include "io/numtype.h"

enum { GNN_LABELS_CLASSES_COUNTED = 4096, GNN_LABELS_TAIL = 10, GNN_LABEL_PAIRS_MAX = 3 };

struct gnn_label_pair {
	const char *ids, *labels;
	struct gnn_input_record *record; /* of the labels */
};

struct gnn_labels_opts {
	const char *path;
	const char *member;
	struct gnn_input_record *record;
	bool         raw;         /* headerless: `rows` values of `type` */
	uint64_t     rows;
	enum gnn_num type;
	bool         text_matrix; /* text of many columns is a row of 0 and 1 each, without ids */
	/* In place of a path: arrays of ids and of their labels, of the same length. */
	struct gnn_label_pair pair[GNN_LABEL_PAIRS_MAX];
	uint32_t     pairs;
};

/* Counted as the labels pass to the builder. */
struct gnn_labels_counts {
	uint64_t labelled, unlabelled;
	uint64_t classes;         /* the largest label + 1; columns of a matrix */
	uint64_t rows_of[GNN_LABELS_CLASSES_COUNTED];
	uint64_t zero_tail;       /* how many rows at the end are 0 without a break */
	uint64_t unlabelled_train;
	uint64_t ids_unknown;     /* of text: ids that no vertex has */
};

struct gnn_labels {
	struct gnn_rows_source   source; /* the first member; rows are known after settle */
	struct gnn_labels_counts counts;
	const char              *name;
	bool     by_id;                  /* `id label` text */
	bool     multi;
	bool     bytes;                  /* the file holds u8: 255 cannot say unlabelled */
	uint64_t id_max;                 /* by_id and any */
	const uint64_t *train;           /* bits of the rows in train; the caller sets it */
};

GNN_BEGIN_DECLS

/* source.rows is final but for by_id. */
int  gnn_labels_open  (struct gnn_labels **out, const struct gnn_labels_opts *o);
/* The vertices are known: puts `id label` into rows. */
int  gnn_labels_settle(struct gnn_labels *l, const struct gnn_idrows *ids);
void gnn_labels_close (struct gnn_labels *l); /* NULL is fine */

GNN_END_DECLS

#endif
