/*
 * infer/manifest.h - what of a run is sealed in its scratch folder, as one small file.
 *
 * Flow     checkpoint -> [manifest] -> manifest.json -> [manifest] -> checkpoint
 * Owns     its lists and texts
 * Lends    them, until fini
 * Thread   one caller
 * Fails    GNN_EDATA damaged; GNN_EIO, GNN_ECREAT writing
 *
 * Published by fsync and rename: there is the old one or the new one, never a mix. The first line
 * is the object, the second its XXH3-64.
 */
#ifndef GNN_INFER_MANIFEST_H
#define GNN_INFER_MANIFEST_H

#include "infer/opts.h"

enum { GNN_MANIFEST_FILES_MAX = 4 * GNN_LAYERS_MAX, GNN_MANIFEST_FACTS_MAX = 24 };
enum { GNN_FACT_BYTES = 512, GNN_LABEL_BYTES = 40 };

enum gnn_step { GNN_STEP_STREAM, GNN_STEP_SEAL, GNN_STEP_PERMUTE };

/*
 * The first thing that is not done: a row of a pass, of the shard that is being sealed, or of
 * features that are brought into the order of the vertices, in front of layer 0.
 */
struct gnn_position {
	uint32_t      layer, pass;
	enum gnn_step step;
	gnn_vid       row;
	bool          states; /* those of the shard at work lie in scratch too */
};

/* What must be as it was: "model", its hash. */
struct gnn_fact {
	char name[GNN_LABEL_BYTES];
	char value[GNN_FACT_BYTES];
};

struct gnn_manifest_file {
	char     label[GNN_LABEL_BYTES]; /* its name in the folder */
	uint64_t first_row, rows, row_bytes, sealed_rows;
	uint64_t sealed_bytes; /* of a file of runs, which has no sums here */
	uint64_t *sums; /* of the blocks that sealed_rows fill or begin */
	uint64_t sum_count;
};

struct gnn_manifest {
	struct gnn_fact fact[GNN_MANIFEST_FACTS_MAX];
	uint32_t fact_count;
	enum gnn_plan_kind plan;
	uint32_t level;       /* how often buffers were halved */
	uint64_t chunk_bytes; /* asked for */
	uint32_t layer_count;
	uint32_t shards[GNN_LAYERS_MAX];
	uint64_t messages[GNN_LAYERS_MAX]; /* absorbed so far */
	struct gnn_position position;
	struct gnn_manifest_file *file; /* (file_count) */
	uint32_t file_count;
};

GNN_BEGIN_DECLS

int  gnn_manifest_write(const struct gnn_manifest *m, const char *folder);
/* GNN_SKIPPED when the folder has none. */
int  gnn_manifest_read (struct gnn_manifest *m, const char *folder);
void gnn_manifest_fini (struct gnn_manifest *m); /* all zero is fine */

/* A further file with room for `sums`; NULL with the text set. */
struct gnn_manifest_file *gnn_manifest_add(struct gnn_manifest *m, const char *label,
	uint64_t sums);
const struct gnn_manifest_file *gnn_manifest_find(const struct gnn_manifest *m,
	const char *label); /* or NULL */
void gnn_manifest_fact(struct gnn_manifest *m, const char *name, const char *value);

GNN_END_DECLS

#endif
