/* train/held.c - see held.h. */
#include "train/held.h"

#include "io/stream.h"

int gnn_held_fill(const struct gnn_window *w, void *to, struct gnn_container *c,
	const struct gnn_array *a)
{
	uint64_t first, end;

	gnn_window_part(w, a->bytes, GNN_BLOCK_BYTES, &first, &end);
	if (first == end)
		return GNN_OK;
	return gnn_array_load(c, a, first, end - first, (char *)to + first);
}

int gnn_held_load(struct gnn_window **out, struct gnn_comm *comm, struct gnn_container *c,
	const struct gnn_array *a, enum gnn_mem_kind kind)
{
	int rc;

	GNN_TRY(gnn_window_open(out, comm, a->bytes, kind));
	GNN_TRY(gnn_comm_agree(comm, gnn_held_fill(*out, gnn_window_data(*out), c, a)));
out:
	if (rc < 0) {
		gnn_window_close(*out);
		*out = NULL;
	}
	return rc;
}
