/*
 * base/sink.h - an output that is read while the run goes on: metrics, trace.
 *
 * Flow     metrics, trace -> [sink] -> file
 * Owns     the descriptor
 * Lends    nothing
 * Thread   one caller at a time
 * Fails    GNN_ECREAT cannot be created, or would replace a file of another kind; GNN_EIO from
 *          close when any write failed, the first reason
 *
 * Such a file stands under its final name from the start: it is of use when the run is killed.
 */
#ifndef GNN_BASE_SINK_H
#define GNN_BASE_SINK_H

#include "base/err.h"

struct gnn_sink {
	int         fd;      /* -1: not open */
	int         errnum;  /* of the first failed write */
	const char *path;    /* borrowed until close */
};

GNN_BEGIN_DECLS

/* An existing file is replaced when it is empty or begins with `first`, as these files do. */
int  gnn_sink_open (struct gnn_sink *s, const char *path, char first);
void gnn_sink_write(struct gnn_sink *s, const char *text, size_t bytes);
int  gnn_sink_close(struct gnn_sink *s); /* not open is fine */

GNN_END_DECLS

#endif
