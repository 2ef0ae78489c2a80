/* layer/keys.c - see keys.h. */
#include "layer/keys.h"

#include <string.h>

/* '#' stands for a number, which names the item as number x step + shift; '*' for any rest. */
static const struct row {
	const char   *ending;
	enum gnn_role role;
	const char   *meaning;
	uint32_t      step, shift;
} rows[] = {
	{"weight", GNN_ROLE_WEIGHT, "weight", 0, 0},
	{"bias", GNN_ROLE_BIAS, "bias of the layer", 0, 0},
	{"lin.weight", GNN_ROLE_LIN_WEIGHT, "weight (out, in)", 0, 0},
	{"lin.bias", GNN_ROLE_LIN_BIAS, "bias of the projection", 0, 0},
	{"lin_l.weight", GNN_ROLE_LIN_L_WEIGHT, "weight of the neighbours (out, in)", 0, 0},
	{"lin_l.bias", GNN_ROLE_LIN_L_BIAS, "bias of the neighbours", 0, 0},
	{"lin_r.weight", GNN_ROLE_LIN_R_WEIGHT, "weight of the own row (out, in)", 0, 0},
	{"lin_r.bias", GNN_ROLE_LIN_R_BIAS, "bias of the own row", 0, 0},
	{"lin_src.weight", GNN_ROLE_LIN_SRC_WEIGHT, "weight (out, in)", 0, 0},
	{"lin_dst.weight", GNN_ROLE_LIN_DST_WEIGHT, "weight (out, in)", 0, 0},
	{"att", GNN_ROLE_ATT, "attention to both ends", 0, 0},
	{"att_src", GNN_ROLE_ATT_SRC, "attention to the source (1, heads, channels)", 0, 0},
	{"att_dst", GNN_ROLE_ATT_DST, "attention to the destination (1, heads, channels)", 0, 0},
	{"att_l", GNN_ROLE_ATT_SRC, "attention to the source (1, heads, channels)", 0, 0},
	{"att_r", GNN_ROLE_ATT_DST, "attention to the destination (1, heads, channels)", 0, 0},
	{"attn", GNN_ROLE_ATTN, "attention to both ends (1, heads, channels)", 0, 0},
	{"attn_l", GNN_ROLE_ATTN_L, "attention to the source (1, heads, channels)", 0, 0},
	{"attn_r", GNN_ROLE_ATTN_R, "attention to the destination (1, heads, channels)", 0, 0},
	{"fc.weight", GNN_ROLE_FC_WEIGHT, "weight (out, in)", 0, 0},
	{"fc_src.weight", GNN_ROLE_FC_SRC_WEIGHT, "weight of the source (out, in)", 0, 0},
	{"fc_src.bias", GNN_ROLE_FC_SRC_BIAS, "bias of the source", 0, 0},
	{"fc_dst.weight", GNN_ROLE_FC_DST_WEIGHT, "weight of the destination (out, in)", 0, 0},
	{"fc_dst.bias", GNN_ROLE_FC_DST_BIAS, "bias of the destination", 0, 0},
	{"res.weight", GNN_ROLE_RES_WEIGHT, "weight of the residual (out, in)", 0, 0},
	{"res_fc.weight", GNN_ROLE_RES_FC_WEIGHT, "weight of the residual (out, in)", 0, 0},
	{"res_fc.bias", GNN_ROLE_RES_FC_BIAS, "bias of the residual", 0, 0},
	{"fc_self.weight", GNN_ROLE_FC_SELF_WEIGHT, "weight of the own row (out, in)", 0, 0},
	{"fc_self.bias", GNN_ROLE_FC_SELF_BIAS, "bias of the layer", 0, 0},
	{"fc_neigh.weight", GNN_ROLE_FC_NEIGH_WEIGHT, "weight of the neighbours (out, in)", 0, 0},
	{"fc_neigh.bias", GNN_ROLE_FC_NEIGH_BIAS, "bias of the layer", 0, 0},
	{"fc_pool.weight", GNN_ROLE_FC_POOL_WEIGHT, "weight in front of the pool", 0, 0},
	{"fc_pool.bias", GNN_ROLE_FC_POOL_BIAS, "bias in front of the pool", 0, 0},
	{"lin_rel.weight", GNN_ROLE_LIN_REL_WEIGHT, "weight of the neighbours (out, in)", 0, 0},
	{"lin_rel.bias", GNN_ROLE_LIN_REL_BIAS, "bias of the layer", 0, 0},
	{"lin_root.weight", GNN_ROLE_LIN_ROOT_WEIGHT, "weight of the own row (out, in)", 0, 0},
	{"eps", GNN_ROLE_EPS, "eps: the own row counts 1 + eps", 0, 0},

	{"nn.weight", GNN_ROLE_MLP_WEIGHT, "MLP weight", 0, 0},
	{"nn.bias", GNN_ROLE_MLP_BIAS, "MLP bias", 0, 0},
	{"nn.#.weight", GNN_ROLE_MLP_WEIGHT, "MLP weight", 1, 0},
	{"nn.#.bias", GNN_ROLE_MLP_BIAS, "MLP bias", 1, 0},
	{"nn.#.running_mean", GNN_ROLE_MLP_MEAN, "MLP batch norm mean", 1, 0},
	{"nn.#.running_var", GNN_ROLE_MLP_VAR, "MLP batch norm variance", 1, 0},
	{"nn.#.num_batches_tracked", GNN_ROLE_COUNTER, "counter, not needed", 0, 0},
	{"apply_func.weight", GNN_ROLE_MLP_WEIGHT, "MLP weight", 0, 0},
	{"apply_func.bias", GNN_ROLE_MLP_BIAS, "MLP bias", 0, 0},
	{"apply_func.#.weight", GNN_ROLE_MLP_WEIGHT, "MLP weight", 1, 0},
	{"apply_func.#.bias", GNN_ROLE_MLP_BIAS, "MLP bias", 1, 0},
	{"apply_func.#.running_mean", GNN_ROLE_MLP_MEAN, "MLP batch norm mean", 1, 0},
	{"apply_func.#.running_var", GNN_ROLE_MLP_VAR, "MLP batch norm variance", 1, 0},
	{"apply_func.#.num_batches_tracked", GNN_ROLE_COUNTER, "counter, not needed", 0, 0},
	{"nn.lins.#.weight", GNN_ROLE_MLP_WEIGHT, "MLP weight", GNN_MLP_CLASS_STEP, 0},
	{"nn.lins.#.bias", GNN_ROLE_MLP_BIAS, "MLP bias", GNN_MLP_CLASS_STEP, 0},
	{"nn.norms.#.module.weight", GNN_ROLE_MLP_WEIGHT, "MLP batch norm", GNN_MLP_CLASS_STEP, 1},
	{"nn.norms.#.module.bias", GNN_ROLE_MLP_BIAS, "MLP batch norm", GNN_MLP_CLASS_STEP, 1},
	{"nn.norms.#.module.running_mean", GNN_ROLE_MLP_MEAN, "MLP batch norm mean",
		GNN_MLP_CLASS_STEP, 1},
	{"nn.norms.#.module.running_var", GNN_ROLE_MLP_VAR, "MLP batch norm variance",
		GNN_MLP_CLASS_STEP, 1},
	{"nn.norms.#.module.num_batches_tracked", GNN_ROLE_COUNTER, "counter, not needed", 0, 0},
	{"nn.norms.#.*", GNN_ROLE_UNSUPPORTED, "norms in an MLP other than BatchNorm", 0, 0},

	{"module.weight", GNN_ROLE_NORM_WEIGHT, "weight of a norm", 0, 0},
	{"module.bias", GNN_ROLE_NORM_BIAS, "bias of a norm", 0, 0},
	{"module.running_mean", GNN_ROLE_NORM_MEAN, "mean of a batch norm", 0, 0},
	{"module.running_var", GNN_ROLE_NORM_VAR, "variance of a batch norm", 0, 0},
	{"module.num_batches_tracked", GNN_ROLE_NORM_COUNTER, "counter, not needed", 0, 0},
	{"running_mean", GNN_ROLE_NORM_MEAN, "mean of a batch norm", 0, 0},
	{"running_var", GNN_ROLE_NORM_VAR, "variance of a batch norm", 0, 0},
	{"num_batches_tracked", GNN_ROLE_NORM_COUNTER, "counter, not needed", 0, 0},
	{"mean_scale", GNN_ROLE_UNSUPPORTED, "GraphNorm", 0, 0},
	{"scale", GNN_ROLE_UNSUPPORTED, "MessageNorm", 0, 0},
	{"jk.*", GNN_ROLE_UNSUPPORTED, "jumping knowledge by LSTM", 0, 0},
	{"att_edge", GNN_ROLE_UNSUPPORTED, "edge features", 0, 0},
	{"lin_edge.weight", GNN_ROLE_UNSUPPORTED, "edge features", 0, 0},
	{"lstm.*", GNN_ROLE_UNSUPPORTED, "LSTM aggregation", 0, 0},
};

enum { DIGITS_MAX = 6 };

bool gnn_keys_number(const char **at, uint32_t *out)
{
	size_t digits = strspn(*at, "0123456789");

	*out = 0;
	if (digits == 0 || digits > DIGITS_MAX)
		return false;
	for (; digits > 0; digits--, (*at)++)
		*out = *out * 10 + (uint32_t)(**at - '0');
	return true;
}

static bool match_ending(const char *name, const char *ending, uint32_t *number)
{
	*number = 0;
	for (; *ending != '\0' && *ending != '*'; ending++) {
		if (*ending == '#') {
			if (!gnn_keys_number(&name, number))
				return false;
		} else if (*name++ != *ending) {
			return false;
		}
	}
	return *ending == '*' || *name == '\0';
}

/* The longest known ending that begins at the name's start or behind a dot. */
static void match(struct gnn_weight *w)
{
	const char *name = w->tensor->name, *at = name;
	uint32_t number;

	while (at != NULL) {
		for (uint32_t r = 0; r < GNN_COUNT_OF(rows); r++) {
			if (!match_ending(at, rows[r].ending, &number))
				continue;
			w->role = rows[r].role;
			w->meaning = rows[r].meaning;
			w->stem = (uint32_t)(at - name);
			w->item = number * rows[r].step + rows[r].shift;
			w->mlp_class = rows[r].step == GNN_MLP_CLASS_STEP;
			w->apply_func = strncmp(rows[r].ending, "apply_func.", 11) == 0;
			return;
		}
		at = strchr(at, '.');
		if (at != NULL)
			at++;
	}
	w->role = GNN_ROLE_UNKNOWN;
	w->meaning = "not understood";
}

void gnn_keys_match(struct gnn_weight *w, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		match(&w[i]);
}

const char *gnn_role_ending(enum gnn_role role)
{
	uint32_t r = 0;

	while (r + 1 < GNN_COUNT_OF(rows) && rows[r].role != role)
		r++;
	return rows[r].ending;
}
