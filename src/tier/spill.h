/*
 * tier/spill.h - rows that no store has room for, in pages of one scratch file.
 *
 * Flow     tier (victims) -> [spill] -> file -> [spill] -> tier (reloads)
 * Owns     the file, buffers of the pages being filled, written and read
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EOS memory; GNN_ECREAT, GNN_EIO the file cannot be made, written or read, disk
 *          full; GNN_EDATA a damaged page: names file and offset
 *
 * The control side (tier/pages.h) says which record of which page a row goes to, and when a page
 * takes no more; here it is written with a checksum, in the background. All of a page is read at
 * once. A page that is read back before it is full never sees the disk. The file has no name.
 */
#ifndef GNN_TIER_SPILL_H
#define GNN_TIER_SPILL_H

#include "io/dio.h"

struct gnn_spill;

struct gnn_spill_opts {
	const char *path;          /* of the file to be, a suffix is added; copied */
	enum gnn_dio_engine engine;
	uint64_t row_bytes;
	uint64_t page_bytes;       /* gnn_spill_page_bytes or more, a multiple of GNN_PAGE_BYTES */
	uint32_t pages_ahead;      /* read before they are asked for, at most */
};

GNN_BEGIN_DECLS

/* The smallest page near `wanted` that wastes little, and the rows it takes. */
uint64_t gnn_spill_page_bytes(uint64_t row_bytes, uint64_t wanted);
uint32_t gnn_spill_records(uint64_t row_bytes, uint64_t page_bytes);

int  gnn_spill_create(struct gnn_spill **out, const struct gnn_spill_opts *o);
int  gnn_spill_put (struct gnn_spill *s, uint64_t record, const void *row);
int  gnn_spill_full(struct gnn_spill *s, uint32_t page); /* it takes no more: to be written,
	                                                     unless all was taken */
int  gnn_spill_ask (struct gnn_spill *s, uint64_t record); /* will be taken soon */
int  gnn_spill_take(struct gnn_spill *s, uint64_t record, void *row); /* once */
void gnn_spill_rest(struct gnn_spill *s); /* pages read and not used up may be read again */
void gnn_spill_destroy(struct gnn_spill *s); /* NULL is fine */

uint64_t gnn_spill_written_bytes(const struct gnn_spill *s);
uint64_t gnn_spill_read_bytes   (const struct gnn_spill *s);

GNN_END_DECLS

#endif
