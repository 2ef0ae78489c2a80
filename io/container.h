/*
 * io/container.h - arrays in one HDF5 file that h5py reads as it is and direct I/O reads too.
 *
 * Flow     builder, writer -> [container] -> file;  file -> [container] -> stream
 * Owns     the list of arrays; while writing, the temporary file and all block checksums
 * Lends    array descriptions, valid until close
 * Thread   one caller, but array writers of different arrays may run on different threads
 * Fails    GNN_EDATA not ours, damaged, cut short, wrong size; GNN_ECREAT, GNN_EIO while writing
 *
 * Both format bounds V110. Every array is contiguous, unfiltered, little-endian, early-allocated,
 * never filled and aligned to 4096 with threshold 1. All datasets and attributes are made and the
 * file is closed before the first direct write. /checksum/<name> holds XXH3-64 (seed 0) of every
 * GNN_BLOCK_BYTES from the array's first byte, the last block unpadded. docs/formats.md.
 */
#ifndef GNN_IO_CONTAINER_H
#define GNN_IO_CONTAINER_H

#include "base/err.h"
#include "io/array.h"
#include "io/dio.h"

struct gnn_container_opts {
	const char         *path;
	const char         *format;  /* "gnnrun-store", "gnnrun-result"; NULL at open: either */
	enum gnn_dio_engine engine;
	uint32_t            depth;   /* requests in flight of each stream or writer; 0: default */
	uint64_t            writer_bytes; /* of an array writer, at most; 0: as below */
};

enum { GNN_ARRAY_WRITER_BYTES = 4 << 20 }; /* memory that an array writer takes, at most */

struct gnn_container;
struct gnn_array_writer;

GNN_BEGIN_DECLS

/* --- writing --- */

/*
 * Makes the file under a temporary name, reserves its whole size, and closes HDF5. `attrs` come
 * beside format, version and provenance; provenance may be replaced until commit.
 */
int gnn_container_create(struct gnn_container **out, const struct gnn_container_opts *o,
	const struct gnn_array *arrays, uint32_t array_count, const struct gnn_attr *attrs,
	uint32_t attr_count);
int gnn_container_set_provenance(struct gnn_container *c, const char *json); /* copied */
/* Replaces the value of a numeric attribute given at create. */
int gnn_container_set_number(struct gnn_container *c, const char *name, uint64_t value);

/*
 * Writes one array in sequence from `first_byte`, a multiple of GNN_BLOCK_BYTES, by direct I/O,
 * overlapped, each block hashed. close flushes; the padded tail never touches another array.
 */
int gnn_array_writer_open (struct gnn_array_writer **out, struct gnn_container *c,
	const char *name, uint64_t first_byte);
int gnn_array_writer_push (struct gnn_array_writer *w, const void *from, uint64_t bytes);
int gnn_array_writer_close(struct gnn_array_writer **w); /* waits; sets it to NULL */
void gnn_array_writer_abort(struct gnn_array_writer *w); /* NULL is fine */

/* For writers: the file to write to, and that a block with this checksum is there. Any thread. */
const char *gnn_container_temp(const struct gnn_container *c);
void gnn_container_block_done(struct gnn_container *c, const struct gnn_array *a, uint64_t block,
	uint64_t sum);

/*
 * Several processes write one file: the one that made it, and others that join it by the name of
 * its temporary. Each writes its blocks; the maker must hear of all of them before it commits.
 */
int gnn_container_join(struct gnn_container **out, const struct gnn_container_opts *o,
	const char *temp);
/* What this process wrote is on the disk; also where others made the file. */
int gnn_container_sync(const struct gnn_container *c);

/* Every array must have been written whole. Writes checksums, fsyncs, renames. Sets c to NULL. */
int  gnn_container_commit(struct gnn_container **c);

/* --- reading --- */

/* Checks format, version, layout, sizes and the exact length of the file. */
int gnn_container_open(struct gnn_container **out, const struct gnn_container_opts *o);
uint64_t                gnn_container_bytes(const struct gnn_container *c); /* of all arrays */
uint32_t                gnn_container_count(const struct gnn_container *c);
const struct gnn_array *gnn_container_at   (const struct gnn_container *c, uint32_t i);
const struct gnn_array *gnn_container_find (const struct gnn_container *c, const char *name);
const char *gnn_container_path  (const struct gnn_container *c);
const char *gnn_container_format(const struct gnn_container *c);
const char *gnn_container_provenance(const struct gnn_container *c);
int gnn_container_number(const struct gnn_container *c, const char *name, uint64_t *out);
const char *gnn_container_text(const struct gnn_container *c, const char *name); /* or NULL */
uint32_t        gnn_container_attr_count(const struct gnn_container *c);
struct gnn_attr gnn_container_attr_at   (const struct gnn_container *c, uint32_t i); /* lent */
/* Checksums of the blocks of an array, loaded once, lent. */
int gnn_container_checksums(struct gnn_container *c, const struct gnn_array *a,
	const uint64_t **sums, uint64_t *count);
const struct gnn_container_opts *gnn_container_options(const struct gnn_container *c);
/* GNN_EDATA when the path no longer names the file that was opened. */
int gnn_container_check_same(const struct gnn_container *c);

/* The whole file mapped read-only, made when first asked for and lent until close. */
int gnn_container_map(struct gnn_container *c, const char **base, uint64_t *bytes);

/* Aborts what is being written (temporary removed); closes what is read. NULL is fine. */
void gnn_container_close(struct gnn_container *c);

GNN_END_DECLS

#endif
