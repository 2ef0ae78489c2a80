/*
 * report/reader.h - the lines of --metrics, one after the other.
 *
 * Flow     F.jsonl -> io/lines -> [reader] -> record
 * Owns     the file and one line
 * Lends    the line, until the next call
 * Thread   one caller
 * Fails    GNN_ENOENT no such file; GNN_EDATA a line that is none of metrics, with its number;
 *          GNN_EOS, GNN_EIO
 *
 * A run that ended badly may have left half a line: at the end of the file it is left out, and
 * where the next run was appended, that run's line is taken from behind it. `cut` counts both.
 */
#ifndef GNN_REPORT_READER_H
#define GNN_REPORT_READER_H

#include "io/lines.h"

struct cJSON;

struct gnn_reader {
	struct gnn_lines lines;
	struct cJSON *line;
	uint64_t cut;
};

GNN_BEGIN_DECLS

int  gnn_reader_open (struct gnn_reader *r, const char *path);
/* An object with the texts schema, run_id and event; GNN_EOF at the end. */
int  gnn_reader_next (struct gnn_reader *r, const struct cJSON **line);
void gnn_reader_close(struct gnn_reader *r); /* of a zeroed one too */

GNN_END_DECLS

#endif
