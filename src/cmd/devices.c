/* cmd/devices.c - see devices.h. */
#include "cmd/devices.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/trace.h"
#include "mpi/comm.h"

#include <stdio.h>
#include <string.h>

enum { UUID_TEXT = 2 * 16 + 5 };

static int create(struct gnn_backend **out, const struct gnn_config *c, const char *name,
	uint32_t sharers)
{
	uint32_t rank = gnn_comm_rank(c->comm);
	uint64_t span = gnn_trace_begin();
	int rc;

	rc = gnn_backend_create(out, name, &(struct gnn_backend_opts){
		.threads = (uint32_t)c->threads, .memory_bytes = c->gpu_memory,
		.device = c->comm != NULL ? gnn_comm_ranks(c->comm)[rank].local_rank : 0,
		.sharers = sharers});
	gnn_trace_end(span, "open backend");
	return rc;
}

/* With auto a device on every rank, or none on any. */
static int create_alike(struct gnn_backend **out, const struct gnn_config *c)
{
	bool any = strcmp(c->backend, "auto") == 0;
	int rc = create(out, c, any ? "cuda" : c->backend, 1);
	uint64_t with = rc == GNN_OK;

	if (!any || (rc < 0 && rc != GNN_EUNAVAIL))
		return rc;
	GNN_TRY(gnn_comm_reduce_u64(c->comm, GNN_REDUCE_SUM, &with, 1));
	if (with == gnn_comm_size(c->comm))
		goto out;
	gnn_backend_destroy(*out);
	*out = NULL;
	if (with > 0)
		gnn_log(GNN_LOG_WARN, "ranks", "%llu of %u ranks have a device: all use their "
			"cores", (unsigned long long)with, gnn_comm_size(c->comm));
	GNN_TRY(create(out, c, "cpu", 1));
out:
	return rc;
}

static const char *uuid_text(char to[UUID_TEXT], const uint8_t uuid[16])
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < 16; i++)
		at += (uint32_t)snprintf(to + at, UUID_TEXT - at, "%s%02x",
			i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
	return to;
}

static void log_table(const struct gnn_comm *comm, const struct gnn_device_id *id)
{
	const struct gnn_comm_rank *r = gnn_comm_ranks(comm);
	char uuid[UUID_TEXT];

	gnn_log(GNN_LOG_INFO, "ranks", "rank host             local cores numa bus              "
		"device");
	for (uint32_t q = 0; q < gnn_comm_size(comm); q++)
		gnn_log(GNN_LOG_INFO, "ranks", "%-4u %-16s %5u %5u %4d %-16s %s %s", q, r[q].host,
			r[q].local_rank, r[q].cores, id[q].numa, id[q].bus, id[q].name,
			uuid_text(uuid, id[q].uuid));
}

/* The most ranks that one device has; *first and *second are two of such a device. */
static uint32_t count_sharers(const struct gnn_device_id *id, uint32_t ranks, uint32_t *first,
	uint32_t *second)
{
	uint32_t most = 1;

	for (uint32_t a = 0; a < ranks; a++) {
		uint32_t count = 1;

		for (uint32_t b = a + 1; b < ranks; b++) {
			if (memcmp(id[a].uuid, id[b].uuid, sizeof(id[a].uuid)) != 0)
				continue;
			if (++count > most) {
				*first = a;
				*second = b;
			}
		}
		most = count > most ? count : most;
	}
	return most;
}

static int gather_ids(struct gnn_comm *comm, const struct gnn_backend *b,
	struct gnn_device_id **all)
{
	struct gnn_device_id mine;
	int rc;

	b->ops->identify(b, &mine);
	GNN_NEW_ARRAY(*all, gnn_comm_size(comm), GNN_MEM_MISC);
	GNN_TRY(gnn_comm_gather(comm, &mine, sizeof(mine), *all));
out:
	return rc;
}

int gnn_devices_open(struct gnn_backend **out, const struct gnn_config *c, bool *shared)
{
	struct gnn_device_id *id = NULL;
	uint32_t first = 0, second = 0, sharers;
	int rc;

	*shared = false;
	if (gnn_comm_size(c->comm) == 1 || strcmp(c->backend, "cpu") == 0)
		return create(out, c, c->backend, 1);
	GNN_TRY(create_alike(out, c));
	if ((*out)->ops->identify == NULL)
		return GNN_OK;
	GNN_TRY(gather_ids(c->comm, *out, &id));
	log_table(c->comm, id);
	sharers = count_sharers(id, gnn_comm_size(c->comm), &first, &second);
	*shared = sharers > 1;
	if (*shared && !c->oversubscribe_gpu)
		GNN_FAIL(GNN_ECONFIG, "ranks %u and %u are both on the %s at %s: start one rank a "
			"GPU, show each its own, or give --backend cpu; --oversubscribe-gpu "
			"lets them share it", first, second, id[first].name, id[first].bus);
	if (*shared) { /* anew, with a share of what is free */
		gnn_backend_destroy(*out);
		*out = NULL;
		GNN_TRY(create(out, c, c->backend, sharers));
	}
out:
	gnn_mem_free(id);
	return rc;
}
