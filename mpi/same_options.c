/* mpi/same_options.c - see same_options.h. */
#include "mpi/same_options.h"

#include "base/mem.h"
#include "base/setting.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 128 }; /* of a value; a longer one ends in a hash of all of it */

static const char *const own_names[] = {"allow-singleton", "config", "faults", "gpu-memory",
	"host-memory", "io", "json", "log", "metrics", "progress", "scratch", "threads", "trace"};

static bool may_differ(const struct gnn_option *o)
{
	for (size_t i = 0; i < GNN_COUNT_OF(own_names); i++)
		if (strcmp(o->name, own_names[i]) == 0)
			return true;
	return false;
}

/* FNV-1a */
static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text != '\0'; text++)
		hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
	return hash;
}

/* What two ranks must have in common of an option. */
static void describe(char to[TEXT_BYTES], const struct gnn_option *o, const struct gnn_config *c)
{
	const char *text;
	char value[4 * TEXT_BYTES];
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	if (o->type == GNN_OPTION_LIST) {
		const struct gnn_text_list *list =
			(const void *)((const char *)c + o->offset);

		for (uint32_t i = 0; i < list->count; i++)
			hash = hash_text(hash_text(hash, list->item[i]), " ");
		snprintf(to, TEXT_BYTES, "%u values (%016llx)", list->count,
			(unsigned long long)hash);
		return;
	}
	text = gnn_setting_text(o, c, value, sizeof(value));
	if (text == NULL)
		text = "not given";
	if (strlen(text) < TEXT_BYTES)
		snprintf(to, TEXT_BYTES, "%s", text);
	else
		snprintf(to, TEXT_BYTES, "%.80s... (%016llx)", text,
			(unsigned long long)hash_text(hash, text));
}

static int compare(struct gnn_comm *comm, const char *name, const char mine[TEXT_BYTES], char *all)
{
	int rc;

	GNN_TRY(gnn_comm_gather(comm, mine, TEXT_BYTES, all));
	for (uint32_t r = 1; r < gnn_comm_size(comm); r++) {
		const char *other = all + (uint64_t)r * TEXT_BYTES;

		if (memcmp(all, other, TEXT_BYTES) != 0)
			GNN_FAIL(GNN_ECONFIG, "rank %u on %s has another %s than rank 0: %s, not "
				"%s", r, gnn_comm_ranks(comm)[r].host, name, other, all);
	}
out:
	return rc;
}

int gnn_same_options(struct gnn_comm *comm, const struct gnn_config *c)
{
	uint64_t bytes = (uint64_t)gnn_comm_size(comm) * TEXT_BYTES;
	char mine[TEXT_BYTES], *all = NULL;
	const struct gnn_option *options;
	uint32_t count;
	int rc = GNN_OK;

	if (gnn_comm_size(comm) == 1)
		return GNN_OK;
	GNN_NEW_ARRAY(all, bytes, GNN_MEM_MISC);
	memset(mine, 0, sizeof(mine));
	snprintf(mine, sizeof(mine), "%s", GNN_VERSION);
	GNN_TRY(compare(comm, "version", mine, all));
	memset(mine, 0, sizeof(mine));
	snprintf(mine, sizeof(mine), "%d", (int)c->command);
	GNN_TRY(compare(comm, "command", mine, all));
	options = gnn_options(&count);
	for (uint32_t i = 0; i < count; i++) {
		char name[TEXT_BYTES];

		if (!gnn_option_taken_by(&options[i], c->command) || may_differ(&options[i]))
			continue;
		memset(mine, 0, sizeof(mine));
		describe(mine, &options[i], c);
		snprintf(name, sizeof(name), "--%s", options[i].name);
		GNN_TRY(compare(comm, name, mine, all));
	}
out:
	gnn_comm_keep(comm, all);
	return rc;
}
