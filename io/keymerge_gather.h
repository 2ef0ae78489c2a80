/*
 * io/keymerge_gather.h - the first step of a merge: keys below a bound, from all runs.
 *
 * Flow     scratch -> [keymerge_gather] -> keymerge
 * Owns     a window of decoded keys for every run, the reader of the scratch
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EIO, GNN_EOS
 */
#ifndef GNN_IO_KEYMERGE_GATHER_H
#define GNN_IO_KEYMERGE_GATHER_H

#include "io/keyrun.h"

struct gnn_gather;

struct gnn_gather_opts {
	struct gnn_scratch *scratch;
	struct gnn_keyruns *runs;
	bool     keep;
	bool     weighted;
	uint32_t end;      /* of the keys that come out, at least that of every run */
	uint32_t buffers;  /* for pieces in the file: more than there are runs with such */
	uint32_t window;   /* keys, a multiple of GNN_KEY_GROUP */
};

/* Keys and weights with room for `window` of each run. */
struct gnn_gathered {
	void    *key;
	float   *weight;
	uint64_t count;
	uint32_t parts; /* sorted sequences, one behind the other */
};

GNN_BEGIN_DECLS

int  gnn_gather_open (struct gnn_gather **out, const struct gnn_gather_opts *o);
int  gnn_gather_next (struct gnn_gather *g, struct gnn_gathered *to); /* count 0 at the end */
void gnn_gather_close(struct gnn_gather *g); /* NULL is fine */

GNN_END_DECLS

#endif
