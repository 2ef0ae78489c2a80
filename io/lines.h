/*
 * io/lines.h - a text file line by line, for what is small beside the edges.
 *
 * Flow     input -> [lines] -> labels, splits, text matrices
 * Owns     the input and one buffer
 * Lends    the line, until the next call
 * Thread   one caller
 * Fails    GNN_EDATA a line of over 4 MiB; as input
 *
 * Comments (# or % in the first column) and blank lines are left out, CR at the end is dropped.
 */
#ifndef GNN_IO_LINES_H
#define GNN_IO_LINES_H

#include "io/input.h"

struct gnn_lines {
	struct gnn_input *input;
	const char *name;        /* for messages */
	const char *text, *end;  /* the line; GNN_SCAN_SLACK readable bytes behind it */
	uint64_t    number;      /* from 1 */
	char       *buffer;
	uint64_t    from, to;    /* of the buffer: not yet handed out */
	bool        ended;
	bool        unfinished;  /* the last line has no newline */
};

GNN_BEGIN_DECLS

int  gnn_lines_open (struct gnn_lines *l, const char *path, struct gnn_input_record *record);
int  gnn_lines_next (struct gnn_lines *l); /* GNN_EOF at the end, the record is complete then */
void gnn_lines_close(struct gnn_lines *l); /* of a zeroed one too */

GNN_END_DECLS

#endif
