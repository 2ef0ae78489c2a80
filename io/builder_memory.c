/* io/builder_memory.c - see builder_memory.h. */
#include "io/builder_memory.h"

#include "base/err.h"
#include "io/extsort.h"

enum {
	MEMORY_MIN = 128 << 10,
	PIECE_BYTES_MIN = 4 << 10,
	PIECE_BYTES_MAX = 1 << 20,
	PIECES = 1024,             /* that the memory holds, at least */
	WRITERS = 5,               /* two for offsets, two for neighbours, one for self-loops */
	WRITERS_WEIGHTED = 7,
	WRITER_BYTES = 4 << 20,    /* wanted for each in any case */
	WRITER_BYTES_MAX = 16 << 20, /* a disk far away wants this much on its way */
	MERGE_BYTES_WANTED = 256 << 20,
};

int gnn_builder_check_memory(uint64_t host_bytes, const char *what)
{
	if (host_bytes >= GNN_BUILDER_HOST_MIN)
		return GNN_OK;
	return gnn_err(GNN_EOS, "host memory: the budget is %.1f MiB, and %s takes at least %d: "
		"--host-memory %dM", (double)host_bytes / 1048576.0, what,
		GNN_BUILDER_HOST_MIN >> 20, GNN_BUILDER_HOST_MIN >> 20);
}

static uint64_t piece_bytes(uint64_t all)
{
	uint64_t bytes = PIECE_BYTES_MAX;

	while (bytes > PIECE_BYTES_MIN && bytes > all / PIECES)
		bytes /= 2;
	return bytes;
}

/*
 * An eighth for the ids. Of the rest at most three quarters are worked with, as far as that is of
 * use; what is left keeps sorted runs. Array writers take a quarter of the work where that is
 * enough for them, else up to half.
 */
struct gnn_builder_memory gnn_builder_memory(uint64_t bytes, uint32_t threads, bool weighted)
{
	uint64_t all = gnn_max_u64(bytes, MEMORY_MIN);
	uint64_t writers = weighted ? WRITERS_WEIGHTED : WRITERS;
	struct gnn_builder_memory m = {.ids = all / 8, .piece = piece_bytes(all)};

	m.work = gnn_max_u64(gnn_extsort_memory_max(threads, weighted),
		writers * WRITER_BYTES_MAX + MERGE_BYTES_WANTED);
	m.work = gnn_min_u64(m.work, (all - m.ids) / 4 * 3);
	m.writers = gnn_min_u64(writers * WRITER_BYTES_MAX,
		gnn_max_u64(m.work / 4, gnn_min_u64(writers * WRITER_BYTES, m.work / 2)));
	m.writer = m.writers / writers;
	m.resident = all - m.ids - m.work;
	return m;
}
