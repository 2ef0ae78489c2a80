/*
 * io/builder_parts.h - what a store holds beside its topology, and the arrays that it has then.
 *
 * Flow     builder -> [builder_parts] -> container
 * Owns     nothing
 * Lends    nothing
 * Thread   any thread; no state
 * Fails    never
 */
#ifndef GNN_IO_BUILDER_PARTS_H
#define GNN_IO_BUILDER_PARTS_H

#include "io/container.h"

struct gnn_topo;

enum {
	GNN_BUILDER_ARRAYS_MAX = 16,
	GNN_BUILDER_ATTRS_MAX = 24,
};

/*
 * A matrix that is read once, row after row: features, or multi-label rows. `read` fills `to` with
 * the next `rows` rows, already of `dtype`, C order; rows are asked for in order, to the end.
 */
struct gnn_rows_source {
	uint64_t       rows;
	uint64_t       cols;
	enum gnn_dtype dtype; /* as stored: f32 f16 bf16 u8; i64 for labels */
	int          (*read)(struct gnn_rows_source *s, uint64_t rows, void *to);
	void         (*close)(struct gnn_rows_source *s); /* NULL is fine as a source */
};

/* What the store shall hold beside the topology. NULL where absent. */
struct gnn_builder_parts {
	uint64_t                vertices_min; /* largest of --vertices, feature and label rows */
	struct gnn_rows_source *features;
	struct gnn_rows_source *labels;
	const uint64_t         *split[3];     /* rows; with remap mapped by the caller */
	uint64_t                split_count[3];
	struct gnn_rows_source *split_source[3]; /* in their place: u64, one column */
	struct gnn_rows_source *original_id, *external_id; /* u64, one column; not with remap */
	struct gnn_rows_source *feature_rank; /* likewise: features stay where they are */
	const struct gnn_attr  *attrs;        /* beside the builder's own */
	uint32_t                attr_count;
	const char             *provenance;   /* JSON */
	/* NULL, or asked for the provenance when features and labels have been read to the end. */
	int                   (*provenance_at_end)(void *with, const char **json);
	void                   *with;
};

struct gnn_builder_arrays {
	struct gnn_array array[GNN_BUILDER_ARRAYS_MAX];
	struct gnn_attr  attr[GNN_BUILDER_ATTRS_MAX];
	uint32_t arrays, attrs;
};

/* Of training, validation and test vertices. */
extern const char *const gnn_builder_split_name[3];

GNN_BEGIN_DECLS

/* Of a topology whose vertices and edges are counted. Numbers known at the end only are 0. */
void gnn_builder_arrays(struct gnn_builder_arrays *out, const struct gnn_topo *t,
	const struct gnn_builder_parts *parts);

GNN_END_DECLS

#endif
