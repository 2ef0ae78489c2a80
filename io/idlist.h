/*
 * io/idlist.h - distinct ids as one sorted list in the scratch, made from runs of ids.
 *
 * Flow     idset -> [idlist] -> keymerge; [idlist] -> idset
 * Owns     the runs until they are merged, the list, a copy in memory if it fits
 * Lends    nothing
 * Thread   add from any thread; all else by one caller
 * Fails    GNN_EOS, GNN_EIO, GNN_ECREAT of the scratch
 */
#ifndef GNN_IO_IDLIST_H
#define GNN_IO_IDLIST_H

#include "io/keymerge_gather.h"

struct gnn_idlist;

GNN_BEGIN_DECLS

int  gnn_idlist_create (struct gnn_idlist **out, struct gnn_scratch *s);
void gnn_idlist_destroy(struct gnn_idlist *l); /* NULL is fine */

/* Takes the run, whose keys are ids (their end is 0), and leaves an empty one. */
int gnn_idlist_add (struct gnn_idlist *l, struct gnn_keyrun *run);
/* merge_bytes: memory while it runs. copy_bytes: of a copy in memory, if the list fits. */
int gnn_idlist_seal(struct gnn_idlist *l, uint64_t merge_bytes, uint64_t copy_bytes,
	uint32_t threads);

uint64_t gnn_idlist_count(const struct gnn_idlist *l);
/* The place of an id, counted from 0; GNN_EOF when it is not there. */
int  gnn_idlist_find     (struct gnn_idlist *l, uint64_t id, uint64_t *at);
void gnn_idlist_end_finds(struct gnn_idlist *l); /* frees what only find needs */
/* Reads the list from its start, up to `window` ids at a time. */
int  gnn_idlist_read     (struct gnn_idlist *l, uint32_t window, struct gnn_gather **out);

GNN_END_DECLS

#endif
