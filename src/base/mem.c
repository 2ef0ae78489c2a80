/* base/mem.c - see mem.h. */
#include "base/mem.h"

#include "base/fault.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Sits right in front of each block; `shift` is the distance from the block to malloc's pointer. */
struct header {
	uint64_t bytes;
	uint32_t shift;
	uint16_t kind;
	bool     pinned;
};

enum { BLOCK_ALIGN = 64, HUGE_PAGE = 2 << 20, PIN_AT_LEAST = 64 << 10 };

_Static_assert(sizeof(struct header) <= BLOCK_ALIGN, "the header fits in front of a block");

static atomic_uint_fast64_t limit_bytes, held_bytes, peak_bytes, block_count, pinned_bytes;
static atomic_uint_fast64_t held_by_kind[GNN_MEM_KIND_COUNT];

static const struct gnn_mem_pinner *_Atomic pinner;

static const char *const kind_names[GNN_MEM_KIND_COUNT] = {
	"misc", "io", "topology", "state", "model", "sort",
};

void gnn_mem_limit(uint64_t bytes)
{
	atomic_store(&limit_bytes, bytes);
}

const char *gnn_mem_kind_name(enum gnn_mem_kind kind)
{
	GNN_ASSERT(kind < GNN_MEM_KIND_COUNT);
	return kind_names[kind];
}

void gnn_mem_stats(struct gnn_mem_stats *out)
{
	out->limit_bytes = atomic_load(&limit_bytes);
	out->held_bytes = atomic_load(&held_bytes);
	out->peak_bytes = atomic_load(&peak_bytes);
	out->block_count = atomic_load(&block_count);
	out->pinned_bytes = atomic_load(&pinned_bytes);
	for (int k = 0; k < GNN_MEM_KIND_COUNT; k++)
		out->held_by_kind[k] = atomic_load(&held_by_kind[k]);
}

int gnn_mem_take(uint64_t bytes, enum gnn_mem_kind kind)
{
	uint64_t limit = atomic_load(&limit_bytes);
	uint64_t now = atomic_fetch_add(&held_bytes, bytes) + bytes;
	uint64_t peak = atomic_load(&peak_bytes);

	if (limit != 0 && now > limit) {
		atomic_fetch_sub(&held_bytes, bytes);
		return gnn_err(GNN_EOS,
			"host memory: %s asks for %.1f MiB, %.1f of the budget of %.1f MiB are in "
			"use; --host-memory %.0fM would suffice for this step",
			kind_names[kind], (double)bytes / 1048576.0,
			(double)(now - bytes) / 1048576.0, (double)limit / 1048576.0,
			(double)(now / 1048576 + 1));
	}
	while (now > peak && !atomic_compare_exchange_weak(&peak_bytes, &peak, now))
		;
	atomic_fetch_add(&held_by_kind[kind], bytes);
	atomic_fetch_add(&block_count, 1);
	return GNN_OK;
}

void gnn_mem_give(uint64_t bytes, enum gnn_mem_kind kind)
{
	atomic_fetch_sub(&held_bytes, bytes);
	atomic_fetch_sub(&held_by_kind[kind], bytes);
	atomic_fetch_sub(&block_count, 1);
}

static struct header *header_of(void *block)
{
	return (struct header *)((char *)block - sizeof(struct header));
}

/*
 * Large blocks begin at a huge page and consist of whole ones, but for their end: pages are touched
 * faster, and direct I/O into them goes in few pieces (3.0 GB/s in the place of 1.2 on one virtual
 * disk). The header in front of the block must not cost one of its own.
 */
static void use_huge_pages(char *raw, uint64_t bytes)
{
	madvise(raw, HUGE_PAGE, MADV_NOHUGEPAGE);
	madvise(raw + HUGE_PAGE, gnn_align_down(bytes, HUGE_PAGE), MADV_HUGEPAGE);
}

/* Drivers pin whole pages: those of a block are its own. A sanitizer is told its exact end. */
static uint64_t room_of(uint64_t bytes, uint64_t align)
{
#ifdef __SANITIZE_ADDRESS__
	(void)align;
	return bytes;
#else
	return align < GNN_PAGE_BYTES ? bytes : gnn_align_up(bytes, GNN_PAGE_BYTES);
#endif
}

/* A block of `bytes` at a multiple of `align`, with room for the header in front of it. */
static int allocate(void **out, uint64_t bytes, uint64_t align, bool zero, enum gnn_mem_kind kind)
{
	void *raw;

	*out = NULL;
	GNN_ASSERT(kind < GNN_MEM_KIND_COUNT);
	if (bytes > UINT64_MAX / 2)
		return gnn_err(GNN_EOS, "host memory: %s asks for more than 2^63 bytes",
			kind_names[kind]);
	if (gnn_fault_next(GNN_FAULT_ALLOC).action == GNN_FAULT_FAIL)
		return gnn_err(GNN_EOS, "host memory: %s asks for %llu bytes, refused by --faults",
			kind_names[kind], (unsigned long long)bytes);
	if (gnn_mem_take(bytes, kind) < 0)
		return GNN_EOS;
	if (posix_memalign(&raw, align, align + room_of(bytes, align)) != 0) {
		gnn_mem_give(bytes, kind);
		return gnn_err(GNN_EOS, "host memory: the system refuses %llu bytes for %s",
			(unsigned long long)bytes, kind_names[kind]);
	}
	if (align == HUGE_PAGE)
		use_huge_pages(raw, bytes);
	*out = (char *)raw + align;
	if (zero)
		memset(*out, 0, bytes);
	*header_of(*out) = (struct header){bytes, (uint32_t)align, (uint16_t)kind, false};
	return GNN_OK;
}

int gnn_mem_new(void **out, uint64_t count, uint64_t item_bytes, enum gnn_mem_kind kind)
{
	uint64_t bytes;

	*out = NULL;
	if (__builtin_mul_overflow(count, item_bytes, &bytes))
		return gnn_err(GNN_EOS, "host memory: %s asks for %llu x %llu bytes",
			gnn_mem_kind_name(kind), (unsigned long long)count,
			(unsigned long long)item_bytes);
	return allocate(out, bytes, BLOCK_ALIGN, true, kind);
}

void gnn_mem_pin_io(const struct gnn_mem_pinner *p)
{
	atomic_store(&pinner, p);
}

static void pin(void *block)
{
	const struct gnn_mem_pinner *p = atomic_load(&pinner);
	struct header *h = header_of(block);

	if (p == NULL || h->kind != GNN_MEM_IO || h->bytes < PIN_AT_LEAST)
		return;
	h->pinned = gnn_fault_next(GNN_FAULT_PIN).action == GNN_FAULT_NONE &&
		p->pin(block, h->bytes);
	if (h->pinned)
		atomic_fetch_add(&pinned_bytes, h->bytes);
}

static void unpin(void *block)
{
	struct header *h = header_of(block);

	if (!h->pinned)
		return;
	atomic_load(&pinner)->unpin(block);
	atomic_fetch_sub(&pinned_bytes, h->bytes);
}

int gnn_mem_pages(void **out, uint64_t bytes, enum gnn_mem_kind kind)
{
	int rc = allocate(out, bytes, bytes >= HUGE_PAGE ? HUGE_PAGE : GNN_PAGE_BYTES, false, kind);

	if (rc == GNN_OK)
		pin(*out);
	return rc;
}

int gnn_mem_resize(void **block, uint64_t count, uint64_t item_bytes, enum gnn_mem_kind kind)
{
	void *grown;
	int rc = gnn_mem_new(&grown, count, item_bytes, kind);

	if (rc < 0)
		return rc;
	if (*block != NULL) {
		memcpy(grown, *block, gnn_min_u64(header_of(*block)->bytes, count * item_bytes));
		gnn_mem_free(*block);
	}
	*block = grown;
	return GNN_OK;
}

char *gnn_mem_text(const char *text)
{
	void *copy;
	uint64_t bytes = strlen(text) + 1;

	if (gnn_mem_new(&copy, bytes, 1, GNN_MEM_MISC) < 0)
		return NULL;
	memcpy(copy, text, bytes);
	return copy;
}

void gnn_mem_free(void *block)
{
	struct header h;

	if (block == NULL)
		return;
	unpin(block);
	h = *header_of(block);
	GNN_ASSERT(h.shift == BLOCK_ALIGN || h.shift == GNN_PAGE_BYTES || h.shift == HUGE_PAGE);
	gnn_mem_give(h.bytes, (enum gnn_mem_kind)h.kind);
	free((char *)block - h.shift);
}
