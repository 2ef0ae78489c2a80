/* base/hardware.c - see hardware.h. */
#include "base/hardware.h"

#include <hwloc.h>
#include <stdio.h>

static uint32_t count(hwloc_topology_t t, hwloc_obj_type_t type)
{
	int n = hwloc_get_nbobjs_by_type(t, type);

	return n < 0 ? 0 : (uint32_t)n; /* -1: at several depths, which none of these is */
}

static struct gnn_cache cache_of(hwloc_topology_t t, hwloc_obj_type_t type)
{
	struct gnn_cache c = {.count = count(t, type)};

	for (uint32_t i = 0; i < c.count; i++)
		c.bytes = gnn_max_u64(c.bytes,
			hwloc_get_obj_by_type(t, type, i)->attr->cache.size);
	return c;
}

static void look_at(hwloc_topology_t t, struct gnn_hardware *h)
{
	static const hwloc_obj_type_t caches[GNN_CACHE_LEVELS] = {
		HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE,
	};
	hwloc_obj_t package = hwloc_get_obj_by_type(t, HWLOC_OBJ_PACKAGE, 0);
	const char *model = package == NULL ? NULL :
		hwloc_obj_get_info_by_name(package, "CPUModel");

	snprintf(h->model, sizeof(h->model), "%s", model == NULL ? "" : model);
	h->packages = count(t, HWLOC_OBJ_PACKAGE);
	h->cores = count(t, HWLOC_OBJ_CORE);
	h->threads = count(t, HWLOC_OBJ_PU);
	h->numa_nodes = count(t, HWLOC_OBJ_NUMANODE);
	for (int i = 0; i < GNN_CACHE_LEVELS; i++)
		h->cache[i] = cache_of(t, caches[i]);
}

void gnn_hardware_look(struct gnn_hardware *h)
{
	hwloc_topology_t t;

	*h = (struct gnn_hardware){0};
	if (hwloc_topology_init(&t) != 0)
		return;
	if (hwloc_topology_load(t) == 0)
		look_at(t, h);
	hwloc_topology_destroy(t);
}
