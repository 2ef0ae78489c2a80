/* cmd/cmd_model.c - gnnrun model: how a model is understood, or a new one of seeded weights. */
#include "base/log.h"
#include "cmd/cmd.h"
#include "layer/model.h"
#include "layer/seeded.h"

#include <string.h>

static enum gnn_arch arch_of(const char *name)
{
	enum gnn_arch arch = GNN_ARCH_GCN;

	while (arch < GNN_ARCH_GAT && strcmp(gnn_arch_name(arch), name) != 0)
		arch++;
	return arch;
}

/* A list of an option; NULL is an empty one. */
static int read_list(const char *option, const char *text, uint32_t *list, uint32_t *count)
{
	*count = 0;
	if (text != NULL && !gnn_settings_parse_list(text, 1, 1 << 24, list, count))
		return gnn_err(GNN_EUSAGE, "--%s wants numbers such as 64,32,8, found '%.60s'",
			option, text);
	return GNN_OK;
}

static int make_seeded(const struct gnn_config *c)
{
	uint32_t dims[GNN_SETTING_LIST_MAX], heads[GNN_SETTING_LIST_MAX];
	struct gnn_seeded_opts o = {.path = c->out, .dims = dims, .heads = heads, .seed = c->seed,
		.arch = arch_of(c->seeded)};
	int rc;

	if (c->arg_count > 0 || c->dims == NULL || c->out == NULL)
		GNN_FAIL(GNN_EUSAGE, "model --seeded takes --dims and --out, and no file to read");
	GNN_TRY(read_list("dims", c->dims, dims, &o.dim_count));
	GNN_TRY(read_list("heads", c->heads, heads, &o.head_count));
	GNN_TRY(gnn_model_seeded(&o));
out:
	return rc;
}

int gnn_cmd_model(const struct gnn_config *c)
{
	const struct gnn_model_opts o = {
		.path = c->seeded != NULL ? c->out : c->args[0],
		.set = c->model_set.item,
		.set_count = c->model_set.count,
		.order = (enum gnn_message_order)c->message_order,
	};
	int rc;

	if (c->seeded != NULL) {
		GNN_TRY(make_seeded(c));
	} else if (c->arg_count == 0 || c->dims != NULL || c->heads != NULL || c->out != NULL) {
		GNN_FAIL(GNN_EUSAGE, "model takes one M.safetensors, or --seeded with --dims and "
			"--out");
	}
	rc = gnn_model_describe(&o, c->json);
out:
	return rc;
}
