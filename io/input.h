/*
 * io/input.h - a user's file as a stream of its decoded bytes, hashed as it passes.
 *
 * Flow     file, npz -> [input] -> ahead, ndarray, lines
 * Owns     the open file, the decompressor, the running hash
 * Lends    its name
 * Thread   one caller
 * Fails    GNN_ENOENT; GNN_EDATA a compressed stream that is damaged or ends early, a checksum
 *          that does not match, a member that is not there; GNN_EIO; GNN_EOS memory
 *
 * gzip is known by its first two bytes, of any number of members. A member of a ZIP archive
 * (npz) is a stream like a file, stored or deflated, and its CRC-32 is checked at its end.
 */
#ifndef GNN_IO_INPUT_H
#define GNN_IO_INPUT_H

#include "base/err.h"

enum { GNN_INPUT_NAME_MAX = 256 };
#define GNN_INPUT_UNKNOWN UINT64_MAX

struct gnn_input;

/* What the provenance says of a file. */
struct gnn_input_record {
	char     path[4096];
	uint64_t bytes;
	uint64_t xxh3; /* XXH3-64, seed 0, of the file as it lies on the disk */
	bool     done;
};

struct gnn_input_opts {
	const char *path;
	const char *member;              /* NULL: the file itself */
	struct gnn_input_record *record; /* NULL, or done already: not hashed */
};

GNN_BEGIN_DECLS

int  gnn_input_open(struct gnn_input **out, const struct gnn_input_opts *o);
/* Up to `bytes` in sequence; *got is less only at the end. */
int  gnn_input_read(struct gnn_input *in, void *to, uint64_t bytes, uint64_t *got);
int  gnn_input_skip(struct gnn_input *in, uint64_t bytes);
/* Seeking is for what is not compressed: at any offset, exactly `bytes`. */
bool gnn_input_seekable(const struct gnn_input *in);
int  gnn_input_pread(struct gnn_input *in, void *to, uint64_t bytes, uint64_t offset);
/* Decoded bytes in all; GNN_INPUT_UNKNOWN for gzip. */
uint64_t    gnn_input_bytes(const struct gnn_input *in);
/* "feat.npz:feat.npy": for messages. */
const char *gnn_input_name (const struct gnn_input *in);
/* Hashes what of the file has not passed, and fills the record. */
int  gnn_input_finish(struct gnn_input *in);
void gnn_input_close (struct gnn_input *in); /* NULL is fine */

GNN_END_DECLS

#endif
