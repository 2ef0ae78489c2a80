/*
 * base/fault.h - deterministic fault injection: fail the n-th allocation, read, write ...
 *
 * Flow     --faults SPEC -> [fault] <- asked by mem, file, dio at each operation
 * Owns     the parsed rules and one counter a site
 * Lends    nothing
 * Thread   any thread; counters are atomic
 * Fails    GNN_EUSAGE a rule that cannot be read
 *
 * SPEC is a comma-separated list of site:action@n[-m], or site:action%k[=seed] for every k-th:
 *   alloc:fail@3   read:eio@17   read:short@2-5   read:eof@4   read:eagain%3   write:enospc@5
 *   open:einval@1   fsync:eio@1   rename:eio@1   ring:eperm@1   read:slow%10   pin:fail%1
 *   crash:NAME@1   signal:NAME@2   reuse:stale@1   staged:slow%1   in-place:slow@1
 *   embed:slow%1   rows:slow%1   bottom:slow@1-8   sample:slow%1   sample-there:slow%1
 */
#ifndef GNN_BASE_FAULT_H
#define GNN_BASE_FAULT_H

#include "base/err.h"

enum gnn_fault_site {
	GNN_FAULT_ALLOC,
	GNN_FAULT_OPEN,
	GNN_FAULT_READ,
	GNN_FAULT_WRITE,
	GNN_FAULT_RESERVE, /* fallocate */
	GNN_FAULT_FSYNC,
	GNN_FAULT_CLOSE,
	GNN_FAULT_RENAME,
	GNN_FAULT_RING,    /* io_uring set-up */
	GNN_FAULT_REUSE,   /* an aggregate of training that is too old to be reused */
	GNN_FAULT_PIN,     /* memory pinned for a device */
	GNN_FAULT_IN_PLACE, /* rows that a device reads in host memory */
	GNN_FAULT_STAGED,  /* rows that are gathered for it and copied */
	GNN_FAULT_EMBED,   /* a slice of embeddings that the CPU makes */
	GNN_FAULT_ROWS,    /* features of a batch that the CPU gathers */
	GNN_FAULT_BOTTOM,  /* aggregates of a batch that it makes */
	GNN_FAULT_SAMPLE,  /* a batch that it draws */
	GNN_FAULT_SAMPLE_THERE, /* a batch that a device draws */
	GNN_FAULT_WIDE,    /* wide registers looked for, which this machine has */
	GNN_FAULT_SITE_COUNT,
};

enum gnn_fault_action {
	GNN_FAULT_NONE,
	GNN_FAULT_FAIL,   /* allocation refused */
	GNN_FAULT_ERRNO,  /* the operation fails with an errno */
	GNN_FAULT_SHORT,  /* half of the bytes */
	GNN_FAULT_ENDS,   /* 0 bytes: end of file */
	GNN_FAULT_SLOW,   /* 50 ms later */
	GNN_FAULT_FLIP,   /* one bit of the data is wrong */
	GNN_FAULT_STALE,  /* what is too old passes for new */
};

struct gnn_fault {
	enum gnn_fault_action action;
	int errnum; /* with GNN_FAULT_ERRNO */
};

GNN_BEGIN_DECLS

int  gnn_fault_parse(const char *spec); /* replaces all rules and counters; NULL clears */
void gnn_fault_clear(void);

/* Counts one operation at `site` and says what must happen to it. */
struct gnn_fault gnn_fault_next(enum gnn_fault_site site);

/* Counts one, and where it is to be slow sleeps as long as that is. */
void gnn_fault_dawdle(enum gnn_fault_site site);

bool     gnn_fault_named(enum gnn_fault_site site); /* some rule names it */
uint64_t gnn_fault_count(enum gnn_fault_site site); /* operations so far */

/*
 * When a rule names this point, which is one of the listed: "crash" kills the process with SIGKILL,
 * "signal" raises SIGUSR1 on this thread.
 */
void gnn_crash_point(const char *name);
const char *const *gnn_crash_points(void); /* NULL ends the list */

GNN_END_DECLS

#endif
