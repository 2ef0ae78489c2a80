/*
 * io/export.h - an array of a container as a numpy file.
 *
 * Flow     container -> stream -> [export] -> file
 * Owns     the stream and the publication while it runs
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EDATA a checksum; GNN_ECREAT, GNN_EIO the output
 *
 * Format version 1.0, C order, the header padded to a multiple of 64 bytes. bf16 becomes f32,
 * without loss, for numpy has none. Every block is verified before the file gets its name.
 */
#ifndef GNN_IO_EXPORT_H
#define GNN_IO_EXPORT_H

#include "io/container.h"

GNN_BEGIN_DECLS

int gnn_export_npy(struct gnn_container *c, const struct gnn_array *a, const char *path,
	uint64_t *written_bytes);

GNN_END_DECLS

#endif
