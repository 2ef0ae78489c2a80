/*
 * tier/pages.h - which page of the spill a row goes to: the control side of tier/spill.h.
 *
 * Flow     control (victims and their next use) -> [pages] -> records
 * Owns     one open page a stream, a count of live records a page
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EOS memory, or more than 2^32 records
 *
 * Rows that are used next at about the same time share a stream, and a stream fills one page after
 * the other: all of a page is read back at about the same time, and then the page is free. A free
 * page is given out again two steps later, so that who reads ahead by one step cannot take new
 * records for old ones.
 */
#ifndef GNN_TIER_PAGES_H
#define GNN_TIER_PAGES_H

#include "base/err.h"

#define GNN_PAGE_NONE UINT32_MAX

enum { GNN_PAGE_DELAY = 3 };

struct gnn_page_list {
	uint32_t *page;
	uint64_t  count, capacity;
};

struct gnn_pages {
	uint32_t  records;      /* of a page */
	uint32_t  streams;
	uint32_t *open;         /* (streams) page being filled, or GNN_PAGE_NONE */
	uint32_t *fill;         /* (streams) records in it */
	uint32_t *live;         /* (pages_max) records not yet read back */
	uint32_t *stream;       /* (pages_max) that fills the page, or GNN_PAGE_NONE */
	uint64_t  pages;        /* ever given out */
	uint64_t  pages_max;
	uint64_t  live_records;
	struct gnn_page_list free[GNN_PAGE_DELAY]; /* [0] can be given out */
};

GNN_BEGIN_DECLS

int  gnn_pages_init(struct gnn_pages *p, uint32_t records, uint32_t streams);
void gnn_pages_fini(struct gnn_pages *p); /* zeroed is fine */

/*
 * `rows` (1 or 2) records side by side in one page of the stream. *full is a page that takes no
 * more, or GNN_PAGE_NONE.
 */
int  gnn_pages_take(struct gnn_pages *p, uint32_t stream, uint32_t rows, uint64_t *record,
	uint32_t *full);
int  gnn_pages_give(struct gnn_pages *p, uint64_t record, uint32_t rows); /* was read back */
int  gnn_pages_step(struct gnn_pages *p); /* one work item later */

GNN_END_DECLS

#endif
