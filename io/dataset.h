/*
 * io/dataset.h - where the parts of a data set lie, and the table of known layouts.
 *
 * Flow     path -> [dataset] -> import
 * Owns     nothing but itself
 * Lends    the table
 * Thread   one caller
 * Fails    GNN_EDATA a part is missing or there twice, a description that cannot be read;
 *          GNN_EUSAGE an unknown --format
 *
 * A layout is one file, import_<name>.c, with one gnn_layout, and one row of the table in
 * dataset.c. It looks at names and descriptions alone; what the parts hold is read by edges,
 * matrix, labels and splits.
 */
#ifndef GNN_IO_DATASET_H
#define GNN_IO_DATASET_H

#include "io/edges.h"
#include "io/numtype.h"
#include "io/store.h"

enum { GNN_DATASET_PATH_MAX = 4096, GNN_DATASET_MEMBER_MAX = 64 };

struct gnn_part {
	char         path[GNN_DATASET_PATH_MAX];     /* "": the part is absent */
	char         member[GNN_DATASET_MEMBER_MAX]; /* of an npz; "": its one array */
	bool         raw;                            /* headerless, of this shape and type */
	uint64_t     rows, cols;
	enum gnn_num type;
	bool text_matrix; /* labels: columns are labels, not `id label` */
	/* A split without a file: these rows. */
	uint64_t     range_first, range_count;
};

struct gnn_dataset {
	struct gnn_part edges, weights, features, labels, split[GNN_SPLIT_COUNT];
	struct gnn_part
		split_labels[GNN_SPLIT_COUNT];       /* of the vertices of a split, in its order */
	enum gnn_edge_layout edge_layout;            /* that the layout prescribes */
	uint64_t vertices;                           /* that the data set states; 0: it does not */
	uint64_t edges_stated;                       /* likewise */
	bool     each_once;                          /* undirected, each edge in one direction */
};

struct gnn_layout {
	const char *name;                            /* --format NAME */
	const char *what;                            /* one line for people */
	bool      (*detect)(const char *path);
	int       (*open)  (struct gnn_dataset *d, const char *path);
};

extern const struct gnn_layout gnn_layout_file, gnn_layout_folder, gnn_layout_graphbolt,
	gnn_layout_igb, gnn_layout_mag240m, gnn_layout_marius, gnn_layout_ogb,
	gnn_layout_ogb_binary;

GNN_BEGIN_DECLS

/* `format` is "auto" or a name of the table. `d` is zeroed first. */
int gnn_dataset_open(struct gnn_dataset *d, const char *path, const char *format,
	const struct gnn_layout **layout);

uint32_t                 gnn_layout_count(void);
const struct gnn_layout *gnn_layout_at   (uint32_t i);

/* For layouts. `at` is a path below the folder. */
bool gnn_part_is  (const char *folder, const char *at);
int  gnn_part_set (struct gnn_part *p, const char *folder, const char *at, bool needed);
/* The part is folder/name.suffix, any of the suffixes that a reader knows, .gz too. */
int  gnn_part_find(struct gnn_part *p, const char *folder, const char *name);
/* A text file that holds one number. */
int  gnn_part_number(const char *folder, const char *at, uint64_t *value);
/* A headerless file of `cols` values a row: the rows follow from its size. */
int  gnn_part_raw (struct gnn_part *p, uint64_t cols, enum gnn_num type);

GNN_END_DECLS

#endif
