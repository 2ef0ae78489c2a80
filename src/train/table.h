/*
 * train/table.h - features and in-lists where a device reads them.
 *
 * Flow     source -> [table] -> carrier, there
 * Owns     device copies of both, or the registration of host memory
 * Lends    both, until fini
 * Thread   constant once filled
 * Fails    GNN_ECONFIG features that must be in host memory are not; GNN_EOS device memory
 *
 * Rows of features come with a batch, gathered by the CPU, or the device gathers them: from a copy
 * of the whole table in its memory, or from pinned host memory in place (zero-copy); or both, each
 * a part of them. The device samples likewise from a copy of the in-lists, or from pinned host
 * memory. Some rows may be cached on the device (train/cache.h), whoever gathers the others.
 */
#ifndef GNN_TRAIN_TABLE_H
#define GNN_TRAIN_TABLE_H

#include "train/source.h"

struct gnn_backend;
struct gnn_cache;

enum gnn_gather { GNN_GATHER_STAGED, GNN_GATHER_ZERO_COPY, GNN_GATHER_RESIDENT, GNN_GATHER_BOTH };

/* Who gathers, and who samples. */
enum gnn_gather_wish { GNN_WISH_AUTO, GNN_WISH_STAGED, GNN_WISH_ZERO_COPY, GNN_WISH_BOTH,
	GNN_WISH_DEVICE };
enum gnn_sample_wish { GNN_SAMPLE_AUTO, GNN_SAMPLE_HOST, GNN_SAMPLE_DEVICE };

struct gnn_table {
	enum gnn_gather  gather;
	bool             open;    /* zero-copy until train/gauge.h has measured what is faster: */
	                          /* both, or, unless the device must gather, staged */
	double           share;   /* of both: what the device reads in place */
	uint32_t         blocks;  /* of a kernel that reads in place; 0: no limit */
	bool             samples; /* the device does */
	const void      *rows;    /* that the device reads, unless staged */
	struct gnn_cache *cache; /* rows on the device, lent; or NULL */
	struct gnn_lists lists;   /* as the device reads them, where it samples */

	struct gnn_backend            *backend; /* from here on internal */
	const struct gnn_train_source *source;
	bool             staged_too; /* may be chosen */
	void            *copy[4];
	const void      *pinned[4];
};

GNN_BEGIN_DECLS

struct gnn_table_wish {
	enum gnn_gather_wish gather;
	enum gnn_sample_wish sample;
	bool                 cached; /* rows will be: the whole table is not copied */
	uint64_t             reserve; /* bytes of the device that batches and layers will take */
};

/* Zeroed `t`. Unified backends: staged, and the host samples. */
int  gnn_table_init(struct gnn_table *t, struct gnn_backend *b, const struct gnn_train_source *s,
	const struct gnn_table_wish *wish);
void gnn_table_fini(struct gnn_table *t);
/* The host samples from now on. */
void gnn_table_sample_on_host(struct gnn_table *t);
/* Bytes of a device that what stays there may take: half of what is left, less a reserve. */
uint64_t gnn_table_room(const struct gnn_backend *b, uint64_t reserve);
/* Whether rows come with the batches, all of them. */
bool gnn_table_is_staged(const struct gnn_table *t);
const char *gnn_gather_name(enum gnn_gather g);
/* "step-cpu" ...: the orchestration that this makes. */
const char *gnn_table_orchestration(enum gnn_gather g, bool samples);

GNN_END_DECLS

#endif
