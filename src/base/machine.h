/*
 * base/machine.h - what the process may use of this machine: cores, memory, locked memory.
 *
 * Flow     /proc, cgroup v1 or v2, affinity -> [machine] -> main (defaults), doctor
 * Owns     nothing
 * Lends    nothing
 * Thread   any thread; no state
 * Fails    never: what cannot be found out is 0, and UINT64_MAX for limits
 */
#ifndef GNN_BASE_MACHINE_H
#define GNN_BASE_MACHINE_H

#include "base/decl.h"

enum { GNN_KERNEL_BYTES = 128 };

struct gnn_memory_state {
	uint64_t available_bytes;   /* MemAvailable */
	uint64_t cgroup_bytes;      /* the tightest limit from here up; UINT64_MAX: none */
	uint64_t cgroup_free_bytes; /* under it, file cache that can be dropped counted as free */
};

GNN_BEGIN_DECLS

uint32_t gnn_machine_cores(void); /* in the affinity mask, at least 1 */
uint32_t gnn_machine_parent_cores(void); /* in that of the process that started this one; or 0 */
/* A hash of the mask: programs of a machine that have the same share their cores. */
uint64_t gnn_machine_core_set(void);

/* `root` is in front of /proc and /sys: "" but in tests. */
void     gnn_machine_memory(struct gnn_memory_state *m, const char *root);

/* The budget that leaves a reserve for what is not counted: an eighth, at most 4 GiB. */
uint64_t gnn_machine_budget(const struct gnn_memory_state *m);

/* Most memory this program has had resident. getrusage also counts what forked it. */
uint64_t gnn_machine_peak(void);

/* Bytes that disks gave to this program, page faults included. */
uint64_t gnn_machine_disk_read(void);

uint64_t    gnn_machine_memlock(void);  /* RLIMIT_MEMLOCK */
const char *gnn_machine_kernel(char to[GNN_KERNEL_BYTES]); /* "Linux 6.1.0 x86_64" */

GNN_END_DECLS

#endif
