/*
 * io/npz.h - the directory of a ZIP archive, as numpy and scipy write them, ZIP64 included.
 *
 * Flow     file -> [npz] -> input
 * Owns     the list of members
 * Lends    members, until close
 * Thread   one caller
 * Fails    GNN_EDATA no archive, cut short, encrypted, a method that is neither stored nor
 *          deflated; GNN_EOS memory
 *
 * Sizes come from the central directory alone: local headers of streamed archives hold zeros.
 */
#ifndef GNN_IO_NPZ_H
#define GNN_IO_NPZ_H

#include "io/file.h"

enum { GNN_NPZ_STORED = 0, GNN_NPZ_DEFLATED = 8, GNN_NPZ_NAME_MAX = 128 };

struct gnn_npz_member {
	char     name[GNN_NPZ_NAME_MAX]; /* with its ".npy" */
	uint16_t method;
	uint32_t crc;
	uint64_t packed_bytes;
	uint64_t bytes;
	uint64_t header_offset; /* of the local header */
};

struct gnn_npz {
	struct gnn_npz_member *member;
	uint64_t               count;
};

GNN_BEGIN_DECLS

int gnn_npz_open(struct gnn_npz **out, struct gnn_file *f);
/* `name` with or without ".npy"; NULL when there is none. */
const struct gnn_npz_member *gnn_npz_find(const struct gnn_npz *z, const char *name);
/* Where the packed bytes of a member begin. */
int  gnn_npz_data_offset(struct gnn_file *f, const struct gnn_npz_member *m, uint64_t *offset);
/* The names, for messages: "a, b, c". */
void gnn_npz_names(const struct gnn_npz *z, char *to, uint64_t to_bytes);
void gnn_npz_close(struct gnn_npz *z); /* NULL is fine */

GNN_END_DECLS

#endif
