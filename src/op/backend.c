/* op/backend.c - see backend.h. */
#include "op/backend.h"

#include "base/log.h"

#include <string.h>

/* In the order in which "auto" tries them. */
static const struct gnn_backend_ops *const backends[] = {
#ifdef GNN_HAVE_CUDA
	&gnn_backend_cuda,
#endif
	&gnn_backend_cpu,
};

int gnn_backend_create(struct gnn_backend **out, const char *name, const struct gnn_backend_opts *o)
{
	const bool any = strcmp(name, "auto") == 0;
	int rc = GNN_EUNAVAIL;

	*out = NULL;
	for (size_t i = 0; i < GNN_COUNT_OF(backends); i++) {
		if (!any && strcmp(name, backends[i]->name) != 0)
			continue;
		rc = backends[i]->create(out, o);
		if (rc != GNN_EUNAVAIL || !any)
			return rc;
		gnn_log(GNN_LOG_INFO, "op", "%s", gnn_err_text());
	}
	return gnn_err(rc, "backend \"%s\" is not part of this build", name);
}

void gnn_backend_destroy(struct gnn_backend *b)
{
	if (b != NULL)
		b->ops->destroy(b);
}

int gnn_backend_mirror(struct gnn_backend *b, const void **to, const void *from, uint64_t bytes)
{
	void *block;
	int rc = GNN_OK;

	*to = from;
	if (b->ops->unified || from == NULL)
		return GNN_OK;
	*to = NULL;
	GNN_TRY(b->ops->alloc(b, &block, bytes));
	*to = block;
	GNN_TRY(b->ops->copy(b, block, bytes, from, bytes, bytes, 1));
out:
	return rc;
}

void gnn_backend_unmirror(struct gnn_backend *b, const void *there)
{
	if (b != NULL && !b->ops->unified)
		b->ops->free(b, (void *)(uintptr_t)there);
}

int gnn_backend_check_dense(struct gnn_backend *b, uint32_t dim_in, uint32_t dim_out)
{
	return b->ops->check_dense(b, dim_in, dim_out);
}
