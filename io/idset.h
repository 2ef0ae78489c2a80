/*
 * io/idset.h - the distinct ids of a graph: how many, their ranks, and themselves in order.
 *
 * Flow     extsort -> [idset] -> idlist; [idset] -> topo, builder
 * Owns     a bitmap, and a list of the ids that are too large for it
 * Lends    nothing
 * Thread   writers on any thread, one caller each; after seal one caller, but rank on any thread
 * Fails    GNN_EOS, GNN_EIO, GNN_ECREAT of the scratch
 *
 * Ids below a limit set by the memory are bits, made as they come in segments. The larger ones are
 * kept as sorted runs and merged by seal into one list in the scratch. The rank of an id, its row,
 * is the number of smaller ids.
 */
#ifndef GNN_IO_IDSET_H
#define GNN_IO_IDSET_H

#include "io/keyrun.h"

struct gnn_idset;
struct gnn_idset_writer;
struct gnn_idset_reader;

GNN_BEGIN_DECLS

/* memory_bytes: for the bitmap and its ranks. */
int  gnn_idset_create (struct gnn_idset **out, struct gnn_scratch *s, uint64_t memory_bytes);
/* Ends the ids. The sizes are those of gnn_idlist_seal. */
int  gnn_idset_seal   (struct gnn_idset *set, uint64_t merge_bytes, uint64_t copy_bytes,
	uint32_t threads);
void gnn_idset_destroy(struct gnn_idset *set); /* NULL is fine */

/* `runs` is the run writer of the same thread, between two of its runs; borrowed until destroy. */
int gnn_idset_writer_create(struct gnn_idset_writer **out, struct gnn_idset *set,
	struct gnn_keyrun_writer *runs);
/* Ids ascend from call to call, until end. */
int gnn_idset_writer_push  (struct gnn_idset_writer *w, const uint64_t *ids, uint64_t count);
int gnn_idset_writer_end   (struct gnn_idset_writer *w);
void gnn_idset_writer_destroy(struct gnn_idset_writer *w); /* NULL is fine */

/* Ids below the limit, in any order, by any thread. */
int  gnn_idset_add     (struct gnn_idset *set, const uint64_t *ids, uint64_t count);
uint64_t gnn_idset_limit(const struct gnn_idset *set); /* ids from here on are in the list */
uint64_t gnn_idset_count(const struct gnn_idset *set); /* after seal */
/* Ids below the limit, which must be in the set, become ranks. `set` is a gnn_idset. */
void gnn_idset_rank  (const void *set, uint64_t *ids, uint64_t count);
/* Any id: GNN_EOF when it is not in the set. */
int  gnn_idset_row_of(struct gnn_idset *set, uint64_t id, uint64_t *row);
void gnn_idset_end_lookups(struct gnn_idset *set); /* frees what only row_of needs */

/* All ids, ascending; GNN_EOF at the end. */
int  gnn_idset_reader_open (struct gnn_idset_reader **out, struct gnn_idset *set);
int  gnn_idset_reader_next (struct gnn_idset_reader *r, const uint64_t **ids, uint64_t *count);
/* Instead of next: ids that ascend from call to call, each in the set, become ranks. */
int  gnn_idset_reader_rank (struct gnn_idset_reader *r, uint64_t *ids, uint64_t count);
void gnn_idset_reader_close(struct gnn_idset_reader *r); /* NULL is fine */

GNN_END_DECLS

#endif
