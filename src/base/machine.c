/* base/machine.c - see machine.h. */
#include "base/machine.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { PATH_BYTES = 4608, GROUP_BYTES = 4096, LINE_BYTES = 4352 };

/* Where a cgroup version keeps its files, and what they are called. */
struct cgroup {
	const char *controller; /* in /proc/self/cgroup, with its colons */
	const char *folder;
	const char *limit, *usage;
	const char *cache; /* in memory.stat */
};

static const struct cgroup versions[] = {
	{"::", "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"},
	{":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
		"total_inactive_file"},
};

/* How many cores there are in the affinity mask, and a hash (FNV-1a) of which; 0: unknown. */
static uint32_t read_mask(pid_t process, uint64_t *hash)
{
	/* The mask must be as long as the kernel's; it grows until it is. */
	for (int bits = 1024; bits <= 1 << 20; bits *= 2) {
		cpu_set_t *mask = CPU_ALLOC((size_t)bits);
		size_t bytes = CPU_ALLOC_SIZE((size_t)bits);
		int count = 0;

		if (mask == NULL)
			break;
		if (sched_getaffinity(process, bytes, mask) == 0)
			count = CPU_COUNT_S(bytes, mask);
		*hash = UINT64_C(0xcbf29ce484222325);
		for (int i = 0; count > 0 && i < bits; i++)
			if (CPU_ISSET_S((size_t)i, bytes, mask))
				*hash = (*hash ^ (uint64_t)i) * UINT64_C(0x100000001b3);
		CPU_FREE(mask);
		if (count > 0)
			return (uint32_t)count;
	}
	return 0;
}

uint32_t gnn_machine_cores(void)
{
	uint64_t hash;
	uint32_t count = read_mask(0, &hash);

	return count > 0 ? count : 1;
}

uint32_t gnn_machine_parent_cores(void)
{
	uint64_t hash;

	return read_mask(getppid(), &hash);
}

uint64_t gnn_machine_core_set(void)
{
	uint64_t hash;

	return read_mask(0, &hash) > 0 ? hash : 0;
}

/* The number behind `key` at the start of a line; the first number of the file for "". */
static bool read_number(const char *path, const char *key, uint64_t *value)
{
	char line[LINE_BYTES];
	size_t len = strlen(key);
	bool found = false;
	FILE *f = fopen(path, "re");

	if (f == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), f) != NULL) {
		char *end, *at = line + len;

		if (strncmp(line, key, len) != 0)
			continue;
		*value = strtoull(at, &end, 10);
		found = end != at;
	}
	fclose(f);
	return found;
}

/* The group's path within its hierarchy, "/" for the root. */
static bool group_path(const char *root, const struct cgroup *g, char to[GROUP_BYTES])
{
	char line[LINE_BYTES], path[PATH_BYTES];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), f) != NULL) {
		const char *at = strstr(line, g->controller);

		if (at == NULL)
			continue;
		snprintf(to, GROUP_BYTES, "%.*s",
			(int)strcspn(at + strlen(g->controller), "\n"), at + strlen(g->controller));
		found = to[0] == '/';
	}
	fclose(f);
	return found;
}

/* One folder's limit into m, when it is tighter than what is known. */
static void look_at(const struct cgroup *g, const char *folder, struct gnn_memory_state *m)
{
	char path[PATH_BYTES + 64];
	uint64_t limit, usage, cache = 0;

	snprintf(path, sizeof(path), "%s/%s", folder, g->limit);
	if (!read_number(path, "", &limit) || limit >= UINT64_C(1) << 62)
		return; /* none ("max" or v1's huge number), or no such folder in this namespace */
	snprintf(path, sizeof(path), "%s/%s", folder, g->usage);
	if (!read_number(path, "", &usage))
		return;
	snprintf(path, sizeof(path), "%s/memory.stat", folder);
	read_number(path, g->cache, &cache);
	usage -= gnn_min_u64(usage, cache);
	m->cgroup_bytes = gnn_min_u64(m->cgroup_bytes, limit);
	m->cgroup_free_bytes =
		gnn_min_u64(m->cgroup_free_bytes, limit - gnn_min_u64(limit, usage));
}

/* The group and all above it: the tightest counts. */
static void walk_up(const struct cgroup *g, const char *root, char *group,
	struct gnn_memory_state *m)
{
	char folder[PATH_BYTES];

	for (;;) {
		char *slash = strrchr(group, '/');

		snprintf(folder, sizeof(folder), "%s%s%s", root, g->folder, group);
		look_at(g, folder, m);
		if (slash == NULL)
			return;
		*slash = '\0';
	}
}

void gnn_machine_memory(struct gnn_memory_state *m, const char *root)
{
	char path[PATH_BYTES], group[GROUP_BYTES];
	uint64_t kib = 0;

	*m = (struct gnn_memory_state){0, UINT64_MAX, UINT64_MAX};
	snprintf(path, sizeof(path), "%s/proc/meminfo", root);
	if (read_number(path, "MemAvailable:", &kib))
		m->available_bytes = kib * 1024;
	for (size_t v = 0; v < GNN_COUNT_OF(versions); v++)
		if (group_path(root, &versions[v], group))
			walk_up(&versions[v], root, group, m);
}

uint64_t gnn_machine_peak(void)
{
	uint64_t kib = 0;

	return read_number("/proc/self/status", "VmHWM:", &kib) ? kib * 1024 : 0;
}

uint64_t gnn_machine_disk_read(void)
{
	uint64_t bytes = 0;

	return read_number("/proc/self/io", "read_bytes:", &bytes) ? bytes : 0;
}

uint64_t gnn_machine_budget(const struct gnn_memory_state *m)
{
	uint64_t available = gnn_min_u64(m->available_bytes, m->cgroup_free_bytes);

	return available - gnn_min_u64(available / 8, UINT64_C(4) << 30);
}

uint64_t gnn_machine_memlock(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
		return 0;
	return limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

const char *gnn_machine_kernel(char to[GNN_KERNEL_BYTES])
{
	struct utsname u;

	if (uname(&u) != 0)
		snprintf(to, GNN_KERNEL_BYTES, "unknown");
	else
		snprintf(to, GNN_KERNEL_BYTES, "%.32s %.64s %.24s", u.sysname, u.release,
			u.machine);
	return to;
}
