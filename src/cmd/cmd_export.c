/* cmd/cmd_export.c - gnnrun export: an array of a store or a result as a numpy file. */
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "io/export.h"
#include "io/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A leading slash, as HDF5 shows names, is fine. */
static int find_array(const struct gnn_container *c, const char *name, const struct gnn_array **out)
{
	char names[768] = "";
	size_t used = 0;

	*out = gnn_container_find(c, name + (name[0] == '/'));
	if (*out != NULL)
		return GNN_OK;
	for (uint32_t i = 0; i < gnn_container_count(c) && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, " %s",
			gnn_container_at(c, i)->name);
	return gnn_err(GNN_ENOENT, "%s: no dataset %s; there are:%s", gnn_container_path(c), name,
		names);
}

static int report(const struct gnn_config *c, const struct gnn_array *a, uint64_t written_bytes,
	double wall_s)
{
	char size[GNN_UNITS_BYTES], time[GNN_UNITS_BYTES];
	struct gnn_json *j = NULL;
	int rc = GNN_OK;

	if (!c->json) {
		gnn_out("%s: %s, %" PRIu64 " x %" PRIu64 " %s, %s in %s\n", c->args[1], a->name,
			a->rows, a->cols, gnn_dtype_name(a->dtype),
			gnn_units_bytes(size, (double)written_bytes), gnn_units_time(time, wall_s));
		return GNN_OK;
	}
	GNN_TRY(gnn_json_create(&j));
	gnn_json_text(j, "command", "export");
	gnn_json_text(j, "dataset", a->name);
	gnn_json_text(j, "dtype", gnn_dtype_name(a->dtype));
	gnn_json_u64(j, "rows", a->rows);
	gnn_json_u64(j, "cols", a->cols);
	gnn_json_u64(j, "read_bytes", a->bytes);
	gnn_json_u64(j, "written_bytes", written_bytes);
	gnn_json_real(j, "wall_s", wall_s);
	GNN_TRY(gnn_json_print(j));
out:
	gnn_json_destroy(j);
	return rc;
}

int gnn_cmd_export(const struct gnn_config *c)
{
	const struct gnn_container_opts o = {
		.path = c->args[0],
		.engine = (enum gnn_dio_engine)c->io,
	};
	const struct gnn_array *a;
	struct gnn_container *container = NULL;
	uint64_t start = gnn_clock_ns(), written_bytes;
	int rc = GNN_OK;

	GNN_TRY(gnn_container_open(&container, &o));
	GNN_TRY(find_array(container, c->dataset, &a));
	GNN_TRY(gnn_file_check_output(c->args[1], &c->args[0], 1));
	GNN_TRY(gnn_export_npy(container, a, c->args[1], &written_bytes));
	GNN_TRY(report(c, a, written_bytes, gnn_clock_s_since(start)));
out:
	gnn_container_close(container);
	return rc;
}
