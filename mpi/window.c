/* mpi/window.c - see window.h. */
#include "mpi/window.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/rng.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct gnn_window {
	void    *data;
	uint64_t bytes;       /* asked for */
	uint64_t mapped;      /* 0: a block of base/mem */
	uint64_t counted;
	enum gnn_mem_kind kind;
	uint32_t index, count; /* of the ranks that fill it */
};

/* What the first rank of a host tells the others; its cookie stands behind the data too. */
struct offer {
	int64_t  pid;
	int32_t  fd;     /* -1: there is none */
	uint32_t padding;
	uint64_t cookie;
};

uint32_t gnn_window_sharers(const struct gnn_comm *c)
{
	return gnn_comm_size(c) == 1 ? 1 : gnn_comm_ranks(c)[gnn_comm_rank(c)].local_size;
}

void *gnn_window_data(const struct gnn_window *w)
{
	return w->data;
}

void gnn_window_part(const struct gnn_window *w, uint64_t bytes, uint64_t unit, uint64_t *first,
	uint64_t *end)
{
	const uint64_t units = gnn_ceil_div(bytes, unit);

	*first = gnn_min_u64(units * w->index / w->count * unit, bytes);
	*end = gnn_min_u64(units * (w->index + 1) / w->count * unit, bytes);
}

void gnn_window_close(struct gnn_window *w)
{
	if (w == NULL)
		return;
	if (w->mapped > 0) {
		munmap(w->data, w->mapped);
		gnn_mem_give(w->counted, w->kind);
	} else {
		gnn_mem_free(w->data);
	}
	gnn_mem_free(w);
}

/* Where the cookie of a window of so many bytes stands. */
static uint64_t cookie_at(uint64_t bytes)
{
	return gnn_align_up(bytes, GNN_PAGE_BYTES);
}

static uint64_t *cookie_of(const struct gnn_window *w)
{
	return (uint64_t *)((char *)w->data + cookie_at(w->bytes));
}

/* Maps the file; false when the system refuses, which is no failure. */
static bool map(struct gnn_window *w, int fd)
{
	const uint64_t bytes = cookie_at(w->bytes) + GNN_PAGE_BYTES;
	void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (data == MAP_FAILED)
		return false;
	madvise(data, bytes, MADV_HUGEPAGE);
	w->data = data;
	w->mapped = bytes;
	return true;
}

static void unmap(struct gnn_window *w)
{
	if (w->mapped > 0)
		munmap(w->data, w->mapped);
	w->data = NULL;
	w->mapped = 0;
}

/* The first rank of a host makes the file. */
static struct offer make(struct gnn_window *w)
{
	struct offer o = {.pid = getpid(), .cookie = gnn_rng_u64(gnn_clock_ns(),
		(uint64_t)getpid(), (uint64_t)(uintptr_t)w)};

	o.fd = memfd_create("gnnrun", MFD_CLOEXEC);
	if (o.fd < 0)
		return o;
	if (ftruncate(o.fd, (off_t)(cookie_at(w->bytes) + GNN_PAGE_BYTES)) == 0 && map(w, o.fd)) {
		*cookie_of(w) = o.cookie;
		return o;
	}
	close(o.fd);
	o.fd = -1;
	return o;
}

/* Another rank of the host opens it; false: not to be seen from here, or of another host. */
static bool take(struct gnn_window *w, const struct offer *o)
{
	char path[64];
	struct stat st;
	int fd;

	if (o->fd < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%lld/fd/%d", (long long)o->pid, o->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 &&
		(uint64_t)st.st_size == cookie_at(w->bytes) + GNN_PAGE_BYTES && map(w, fd) &&
		*cookie_of(w) != o->cookie)
		unmap(w);
	close(fd);
	return w->mapped > 0;
}

static bool same_host(const struct gnn_comm_rank *a, const struct gnn_comm_rank *b)
{
	return strcmp(a->host, b->host) == 0;
}

/* Of the rank's host: who is the first, and whether each has the memory. */
static int share(struct gnn_window *w, struct gnn_comm *c, bool *shared)
{
	const struct gnn_comm_rank *ranks = gnn_comm_ranks(c);
	const uint32_t size = gnn_comm_size(c), rank = gnn_comm_rank(c);
	const struct gnn_comm_rank *me = &ranks[rank];
	struct offer mine = {.fd = -1}, *offers = NULL;
	uint8_t good, *all = NULL;
	int rc;

	*shared = true;
	GNN_NEW_ARRAY(offers, size, GNN_MEM_MISC);
	GNN_NEW_ARRAY(all, size, GNN_MEM_MISC);
	if (me->local_rank == 0)
		mine = make(w);
	GNN_TRY(gnn_comm_gather(c, &mine, sizeof(mine), offers));
	for (uint32_t r = 0; r < size && me->local_rank > 0; r++)
		if (ranks[r].local_rank == 0 && same_host(&ranks[r], me))
			(void)take(w, &offers[r]);
	good = w->mapped > 0;
	GNN_TRY(gnn_comm_gather(c, &good, sizeof(good), all));
	for (uint32_t r = 0; r < size; r++)
		*shared = *shared && (all[r] != 0 || !same_host(&ranks[r], me));
out:
	if (mine.fd >= 0)
		close(mine.fd);
	if (rc < 0 || !*shared)
		unmap(w);
	gnn_mem_free(offers);
	gnn_mem_free(all);
	return rc;
}

static void warn_once(const struct gnn_comm_rank *me)
{
	static bool said;

	if (!said && me->local_rank == 0)
		gnn_log(GNN_LOG_WARN, "ranks", "the %u ranks of %s cannot open each other's "
			"memory: each holds a copy of what they could share", me->local_size,
			me->host);
	said = true;
}

int gnn_window_open(struct gnn_window **out, struct gnn_comm *c, uint64_t bytes,
	enum gnn_mem_kind kind)
{
	const uint32_t sharers = gnn_window_sharers(c);
	struct gnn_window *w = NULL;
	bool shared = false;
	int rc;

	*out = NULL;
	GNN_NEW(w, GNN_MEM_MISC);
	*w = (struct gnn_window){.bytes = gnn_max_u64(bytes, 1), .kind = kind, .count = 1};
	if (gnn_comm_size(c) > 1)
		GNN_TRY(share(w, c, &shared));
	if (shared && sharers == 1)
		unmap(w); /* memory of one process has larger pages */
	if (shared && sharers > 1) {
		w->index = gnn_comm_ranks(c)[gnn_comm_rank(c)].local_rank;
		w->count = sharers;
		w->counted = gnn_ceil_div(w->bytes, sharers);
		rc = gnn_mem_take(w->counted, kind);
		if (rc < 0)
			unmap(w);
		GNN_TRY(rc);
	} else {
		if (sharers > 1)
			warn_once(&gnn_comm_ranks(c)[gnn_comm_rank(c)]);
		GNN_TRY(gnn_mem_pages(&w->data, w->bytes, kind));
	}
	*out = w;
	w = NULL;
out:
	gnn_window_close(w);
	return rc;
}
