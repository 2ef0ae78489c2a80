/* tier/inlists.c - see inlists.h. */
#include "tier/inlists.h"

#include "base/mem.h"
#include "io/stream.h"

static int load_array(void **out, struct gnn_inlists *l, const struct gnn_store *s,
	const struct gnn_array *a)
{
	int rc;

	GNN_TRY(gnn_mem_pages(out, gnn_max_u64(a->bytes, 1), GNN_MEM_TOPOLOGY));
	GNN_TRY(gnn_array_load(s->container, a, 0, a->bytes, *out));
	l->read_bytes += a->bytes;
out:
	return rc;
}

uint64_t gnn_inlists_bytes(const struct gnn_store *s)
{
	return s->in.offsets->bytes + s->in.neighbors->bytes;
}

int gnn_inlists_load(struct gnn_inlists *l, const struct gnn_store *s)
{
	int rc;

	*l = (struct gnn_inlists){0};
	GNN_TRY(load_array(&l->owned_[0], l, s, s->in.offsets));
	GNN_TRY(load_array(&l->owned_[1], l, s, s->in.neighbors));
	l->offset = l->owned_[0];
	if (s->in.neighbors->dtype == GNN_U32)
		l->narrow = l->owned_[1];
	else
		l->wide = l->owned_[1];
out:
	if (rc < 0)
		gnn_inlists_fini(l);
	return rc;
}

void gnn_inlists_fini(struct gnn_inlists *l)
{
	gnn_mem_free(l->owned_[0]);
	gnn_mem_free(l->owned_[1]);
	*l = (struct gnn_inlists){0};
}
