/*
 * io/bucketset.h - keys in buckets: several writers add, whoever wants a bucket reads all of it.
 *
 * Flow     edgepool, buckets -> [bucketset] -> buckets
 * Owns     a list of chunks for every writer and bucket, and a line of cache at its end
 * Lends    keys, until the bucket is dropped or destroy
 * Thread   a writer has one caller; reading and dropping, any, a bucket at a time
 * Fails    GNN_EOS
 *
 * Keys come in parts, each from one writer. A bucket is read in the order of the parts' numbers,
 * whoever wrote them, and in a part in the order in which keys were put.
 */
#ifndef GNN_IO_BUCKETSET_H
#define GNN_IO_BUCKETSET_H

#include "io/bucketkey.h"

enum { GNN_BUCKET_WRITERS_MAX = 64 };

struct gnn_bucketset;

/* Keys of a bucket that lie together. */
struct gnn_bucket_span {
	void    *key;
	uint64_t count;
};

struct gnn_bucket_reader {
	const struct gnn_bucketset *set;
	uint32_t bucket, bytes, part;
	uint64_t left;  /* of the part before `part` */
	struct gnn_bucket_place {
		struct gnn_chunk *chunk;
		uint64_t offset; /* keys of the chunk that were read */
		uint64_t done;   /* keys of the writer that were read */
	} place[GNN_BUCKET_WRITERS_MAX], *at;
};

GNN_BEGIN_DECLS

int gnn_bucketset_create(struct gnn_bucketset **out, const struct gnn_bucket_layout *l,
	struct gnn_chunks *chunks, uint32_t writers);
const struct gnn_bucket_layout *gnn_bucketset_layout(const struct gnn_bucketset *s);
/* Memory beside the chunks: of a writer, and of a part. */
uint64_t gnn_bucketset_writer_bytes(const struct gnn_bucket_layout *l);
uint64_t gnn_bucketset_part_bytes  (const struct gnn_bucket_layout *l);

int  gnn_bucketset_writer(struct gnn_bucketset *s, uint32_t writer,
	struct gnn_bucket_writer **w);
/* What the writer has put since its part before becomes part number `part`. */
int  gnn_bucketset_part (struct gnn_bucketset *s, uint32_t writer, uint32_t part);
int  gnn_bucketset_end  (struct gnn_bucketset *s); /* all writers are through */
bool gnn_bucketset_ended(const struct gnn_bucketset *s);

uint64_t gnn_bucketset_count(const struct gnn_bucketset *s, uint32_t bucket);
void gnn_bucketset_read(const struct gnn_bucketset *s, uint32_t bucket,
	struct gnn_bucket_reader *r);
/* It will be read soon: to the second-level cache. */
void gnn_bucketset_prefetch(const struct gnn_bucketset *s, uint32_t bucket);
bool gnn_bucket_reader_next(struct gnn_bucket_reader *r, struct gnn_bucket_span *span);
/* A bucket that was read for the last time: its chunks are free, or for a writer of another set. */
void gnn_bucketset_drop (struct gnn_bucketset *s, uint32_t bucket);
void gnn_bucketset_move (struct gnn_bucketset *s, uint32_t bucket, struct gnn_bucketset *to,
	uint32_t writer);
void gnn_bucketset_destroy(struct gnn_bucketset *s); /* gives its chunks back; NULL is fine */

GNN_END_DECLS

#endif
