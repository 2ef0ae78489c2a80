/* tier/pages.c - see pages.h. */
#include "tier/pages.h"

#include "base/mem.h"

#include <string.h>

int gnn_pages_init(struct gnn_pages *p, uint32_t records, uint32_t streams)
{
	int rc;

	GNN_ASSERT(records >= 2 && streams >= 1);
	*p = (struct gnn_pages){.records = records, .streams = streams};
	GNN_NEW_ARRAY(p->open, streams, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(p->fill, streams, GNN_MEM_TOPOLOGY);
	memset(p->open, 0xff, streams * sizeof(*p->open));
out:
	if (rc < 0)
		gnn_pages_fini(p);
	return rc;
}

void gnn_pages_fini(struct gnn_pages *p)
{
	gnn_mem_free(p->open);
	gnn_mem_free(p->fill);
	gnn_mem_free(p->live);
	gnn_mem_free(p->stream);
	for (int i = 0; i < GNN_PAGE_DELAY; i++)
		gnn_mem_free(p->free[i].page);
	*p = (struct gnn_pages){0};
}

static int resize_u32(uint32_t **array, uint64_t count)
{
	void *block = *array;
	int rc = gnn_mem_resize(&block, count, sizeof(**array), GNN_MEM_TOPOLOGY);

	*array = block;
	return rc;
}

static int list_push(struct gnn_page_list *l, uint32_t page)
{
	int rc = GNN_OK;

	if (l->count == l->capacity) {
		uint64_t capacity = gnn_max_u64(2 * l->capacity, 64);

		GNN_TRY(resize_u32(&l->page, capacity));
		l->capacity = capacity;
	}
	l->page[l->count++] = page;
out:
	return rc;
}

static int new_page(struct gnn_pages *p, uint32_t *page)
{
	uint64_t capacity = gnn_max_u64(2 * p->pages_max, 64);
	int rc = GNN_OK;

	if (p->free[0].count > 0) {
		*page = p->free[0].page[--p->free[0].count];
		return GNN_OK;
	}
	if ((p->pages + 1) * p->records >= UINT32_MAX)
		return gnn_err(GNN_EOS, "the spill would hold more than 2^32 rows");
	if (p->pages == p->pages_max) {
		GNN_TRY(resize_u32(&p->live, capacity));
		GNN_TRY(resize_u32(&p->stream, capacity));
		p->pages_max = capacity;
	}
	*page = (uint32_t)p->pages++;
out:
	return rc;
}

static int free_page(struct gnn_pages *p, uint32_t page)
{
	return list_push(&p->free[GNN_PAGE_DELAY - 1], page);
}

/* The open page takes no more. */
static void close_open(struct gnn_pages *p, uint32_t stream)
{
	p->stream[p->open[stream]] = GNN_PAGE_NONE;
	p->open[stream] = GNN_PAGE_NONE;
}

int gnn_pages_take(struct gnn_pages *p, uint32_t stream, uint32_t rows, uint64_t *record,
	uint32_t *full)
{
	uint32_t page;
	int rc = GNN_OK;

	GNN_ASSERT(stream < p->streams && rows >= 1 && rows <= p->records);
	*full = GNN_PAGE_NONE;
	if (p->open[stream] != GNN_PAGE_NONE && p->fill[stream] + rows > p->records) {
		*full = p->open[stream];
		close_open(p, stream);
	}
	if (p->open[stream] == GNN_PAGE_NONE) {
		GNN_TRY(new_page(p, &p->open[stream]));
		p->fill[stream] = 0;
		p->live[p->open[stream]] = 0;
		p->stream[p->open[stream]] = stream;
	}
	page = p->open[stream];
	*record = (uint64_t)page * p->records + p->fill[stream];
	p->fill[stream] += rows;
	p->live[page] += rows;
	p->live_records += rows;
out:
	return rc;
}

int gnn_pages_give(struct gnn_pages *p, uint64_t record, uint32_t rows)
{
	uint32_t page = (uint32_t)(record / p->records);

	GNN_ASSERT(p->live[page] >= rows);
	p->live[page] -= rows;
	p->live_records -= rows;
	if (p->live[page] > 0)
		return GNN_OK;
	if (p->stream[page] != GNN_PAGE_NONE)
		close_open(p, p->stream[page]);
	return free_page(p, page);
}

int gnn_pages_step(struct gnn_pages *p)
{
	int rc = GNN_OK;

	for (int i = 0; i + 1 < GNN_PAGE_DELAY; i++) {
		while (p->free[i + 1].count > 0) {
			GNN_TRY(list_push(&p->free[i], p->free[i + 1].page[
				p->free[i + 1].count - 1]));
			p->free[i + 1].count--;
		}
	}
out:
	return rc;
}
