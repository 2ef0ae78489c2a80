/*
 * base/mem.h - every byte of the product comes from here, counted against one budget.
 *
 * Flow     all modules -> [mem]
 * Owns     the counters; callers own the blocks
 * Lends    nothing
 * Thread   any thread
 * Fails    GNN_EOS over the budget or refused by the system; the text names budget, asked, held
 *
 * Blocks are aligned to 64 bytes, page blocks to 4096. The n-th allocation can be made to fail
 * (base/fault.h), which the tests loop over.
 */
#ifndef GNN_BASE_MEM_H
#define GNN_BASE_MEM_H

#include "base/err.h"

enum gnn_mem_kind {
	GNN_MEM_MISC,     /* small objects, text, options */
	GNN_MEM_IO,       /* read and write buffers */
	GNN_MEM_TOPOLOGY, /* degrees, offsets, chunk programs */
	GNN_MEM_STATE,    /* aggregation states, layer inputs kept in memory */
	GNN_MEM_MODEL,    /* weights */
	GNN_MEM_SORT,     /* external sort */
	GNN_MEM_KIND_COUNT,
};

struct gnn_mem_stats {
	uint64_t limit_bytes; /* 0: none */
	uint64_t held_bytes;
	uint64_t peak_bytes;
	uint64_t held_by_kind[GNN_MEM_KIND_COUNT];
	uint64_t block_count; /* live blocks */
	uint64_t pinned_bytes;
};

/* How a device has memory of the host at hand for its copies. pin: false when it is refused. */
struct gnn_mem_pinner {
	bool (*pin)(void *block, uint64_t bytes);
	void (*unpin)(void *block);
};

GNN_BEGIN_DECLS

/* Sets the budget for all later allocations; 0 lifts it. */
void gnn_mem_limit(uint64_t bytes);
void gnn_mem_stats(struct gnn_mem_stats *out);
const char *gnn_mem_kind_name(enum gnn_mem_kind kind);

/* Zeroed, 64-byte aligned. *out is NULL on failure. A size of 0 gives a valid block. */
int gnn_mem_new(void **out, uint64_t count, uint64_t item_bytes, enum gnn_mem_kind kind);

/*
 * Not zeroed, aligned to GNN_PAGE_BYTES, from 2 MiB on to a huge page, which is advised. Its pages
 * hold nothing else: what a device pins must not be a part of what it copies from.
 */
int gnn_mem_pages(void **out, uint64_t bytes, enum gnn_mem_kind kind);

/*
 * From here on page blocks of GNN_MEM_IO of 64 KiB and more are pinned while they live: what is
 * read from disk goes on to the device without a copy in between. `p` stays for ever.
 */
void gnn_mem_pin_io(const struct gnn_mem_pinner *p);

/* Grows or shrinks a block of gnn_mem_new; new bytes are zero. On failure *block is unchanged. */
int gnn_mem_resize(void **block, uint64_t count, uint64_t item_bytes, enum gnn_mem_kind kind);

/* Bytes that come from elsewhere, as memory of several processes does, count like a block. */
int  gnn_mem_take(uint64_t bytes, enum gnn_mem_kind kind);
void gnn_mem_give(uint64_t bytes, enum gnn_mem_kind kind);

char *gnn_mem_text(const char *text); /* a copy, NULL on failure with the text set */
void  gnn_mem_free(void *block);      /* NULL is fine */

GNN_END_DECLS

/* Zeroed object or array; on failure sets rc and goes to out: */
#define GNN_NEW(ptr, kind) GNN_NEW_ARRAY(ptr, 1, kind)
#define GNN_NEW_ARRAY(ptr, count, kind)                                                  \
	do {                                                                             \
		void *block_;                                                            \
		rc = gnn_mem_new(&block_, (uint64_t)(count), sizeof(*(ptr)), (kind));     \
		(ptr) = block_;                                                          \
		if (rc < 0)                                                              \
			goto out;                                                        \
	} while (0)
/* Whole pages, not zeroed: what is never written takes no memory, and no time. */
#define GNN_NEW_PAGES(ptr, count, kind)                                                  \
	do {                                                                             \
		void *block_;                                                            \
		rc = gnn_mem_pages(&block_, (uint64_t)(count) * sizeof(*(ptr)), (kind));  \
		(ptr) = block_;                                                          \
		if (rc < 0)                                                              \
			goto out;                                                        \
	} while (0)

#endif
