/* layer/variant.c - which convolution a set of keys is; see model_parts.h. */
#include "layer/model_parts.h"

#include <stdio.h>
#include <string.h>

#define BIT(role) GNN_ROLE_BIT(GNN_ROLE_##role)
#define PYG(arch) GNN_ARCH_##arch, GNN_LIBRARY_PYG
#define DGL(arch) GNN_ARCH_##arch, GNN_LIBRARY_DGL

#define ATT_PYG (BIT(ATT_SRC) | BIT(ATT_DST))
#define ATT_DGL (BIT(ATTN_L) | BIT(ATTN_R))
#define RES_DGL (BIT(RES_FC_WEIGHT) | BIT(RES_FC_BIAS))
#define NORM (BIT(NORM_WEIGHT) | BIT(NORM_BIAS) | BIT(NORM_MEAN) | BIT(NORM_VAR) | \
	BIT(NORM_COUNTER))
#define MLP (BIT(MLP_BIAS) | BIT(MLP_MEAN) | BIT(MLP_VAR))

static const struct gnn_variant variants[] = {
	{PYG(GCN), "GCNConv of PyG 2", .need = BIT(LIN_WEIGHT), .may = BIT(BIAS),
		.lower = gnn_lower_gcn},
	{PYG(GCN), "GCNConv of PyG 1", .need = BIT(WEIGHT), .may = BIT(BIAS),
		.lower = gnn_lower_gcn},
	{DGL(GCN), "GraphConv of DGL", .need = BIT(WEIGHT), .may = BIT(BIAS),
		.lower = gnn_lower_gcn_dgl},
	{PYG(SAGE), "SAGEConv of PyG", .need = BIT(LIN_L_WEIGHT),
		.may = BIT(LIN_L_BIAS) | BIT(LIN_R_WEIGHT) | BIT(LIN_WEIGHT) | BIT(LIN_BIAS),
		.aggregator = "mean", .free_aggregator = true, .lower = gnn_lower_sage},
	{DGL(SAGE), "SAGEConv of DGL, mean", .need = BIT(FC_NEIGH_WEIGHT) | BIT(FC_SELF_WEIGHT),
		.may = BIT(BIAS) | BIT(FC_SELF_BIAS) | BIT(FC_NEIGH_BIAS), .aggregator = "mean",
		.lower = gnn_lower_sage},
	{DGL(SAGE), "SAGEConv of DGL, pool",
		.need = BIT(FC_NEIGH_WEIGHT) | BIT(FC_SELF_WEIGHT) | BIT(FC_POOL_WEIGHT),
		.may = BIT(BIAS) | BIT(FC_SELF_BIAS) | BIT(FC_NEIGH_BIAS) | BIT(FC_POOL_BIAS),
		.aggregator = "pool", .lower = gnn_lower_sage},
	{DGL(SAGE), "SAGEConv of DGL, gcn", .need = BIT(FC_NEIGH_WEIGHT),
		.may = BIT(BIAS) | BIT(FC_NEIGH_BIAS), .aggregator = "gcn",
		.lower = gnn_lower_sage},
	{PYG(GIN), "GINConv of PyG", .need = BIT(MLP_WEIGHT) | BIT(EPS), .may = MLP,
		.lower = gnn_lower_gin},
	{DGL(GIN), "GINConv of DGL", .need = BIT(MLP_WEIGHT) | BIT(EPS) | BIT(APPLY_FUNC),
		.may = MLP, .lower = gnn_lower_gin},
	{PYG(GAT), "GATConv of PyG 2.5", .need = BIT(LIN_WEIGHT) | ATT_PYG,
		.may = BIT(BIAS) | BIT(RES_WEIGHT), .lower = gnn_lower_gat},
	{PYG(GAT), "GATConv of PyG 2.0", .need = ATT_PYG, .may = BIT(BIAS),
		.one_of = BIT(LIN_SRC_WEIGHT) | BIT(LIN_DST_WEIGHT), .lower = gnn_lower_gat},
	{PYG(GAT), "GATConv of PyG 1.6", .need = ATT_PYG, .may = BIT(BIAS),
		.one_of = BIT(LIN_L_WEIGHT) | BIT(LIN_R_WEIGHT), .lower = gnn_lower_gat},
	{PYG(GAT), "GATConv of PyG 1.5", .need = BIT(WEIGHT) | BIT(ATT), .may = BIT(BIAS),
		.lower = gnn_lower_gat},
	{DGL(GAT), "GATConv of DGL", .need = BIT(FC_WEIGHT) | ATT_DGL, .may = BIT(BIAS) | RES_DGL,
		.lower = gnn_lower_gat},
	{DGL(GAT), "GATConv of DGL, two weights", .need = ATT_DGL, .may = BIT(BIAS) | RES_DGL,
		.one_of = BIT(FC_SRC_WEIGHT) | BIT(FC_DST_WEIGHT), .lower = gnn_lower_gat},
	{PYG(GATV2), "GATv2Conv of PyG", .need = BIT(ATT),
		.may = BIT(BIAS) | BIT(LIN_L_BIAS) | BIT(LIN_R_BIAS) | BIT(RES_WEIGHT),
		.one_of = BIT(LIN_L_WEIGHT) | BIT(LIN_R_WEIGHT), .lower = gnn_lower_gatv2},
	{DGL(GATV2), "GATv2Conv of DGL", .need = BIT(ATTN),
		.may = BIT(FC_SRC_BIAS) | BIT(FC_DST_BIAS) | RES_DGL,
		.one_of = BIT(FC_SRC_WEIGHT) | BIT(FC_DST_WEIGHT), .lower = gnn_lower_gatv2},
	{PYG(GRAPHCONV), "GraphConv of PyG", .need = BIT(LIN_REL_WEIGHT) | BIT(LIN_ROOT_WEIGHT),
		.may = BIT(LIN_REL_BIAS), .aggregator = "sum", .free_aggregator = true,
		.lower = gnn_lower_sage},
};

enum { VARIANTS = GNN_COUNT_OF(variants) };

void gnn_model_layer_weights(const struct gnn_model *m, uint32_t layer,
	const struct gnn_weight **first, uint32_t *count)
{
	uint32_t i = 0;

	while (i < m->weight_count && m->weight[i].layer < layer)
		i++;
	*first = &m->weight[i];
	for (*count = 0; i < m->weight_count && m->weight[i].layer == layer; i++)
		(*count)++;
}

static uint64_t roles_of(const struct gnn_model *m, uint32_t layer)
{
	const struct gnn_weight *w;
	uint64_t roles = 0;
	uint32_t count;

	gnn_model_layer_weights(m, layer, &w, &count);
	for (uint32_t i = 0; i < count; i++)
		roles |= GNN_ROLE_BIT(w[i].role) | (w[i].apply_func ? BIT(APPLY_FUNC) : 0);
	return roles & ~(BIT(COUNTER) | NORM);
}

/* Told library and architecture rule a variant out. */
static bool is_excluded(const struct gnn_model *m, const struct gnn_variant *v)
{
	const struct gnn_setting_value *library = &m->set.v[GNN_SET_LIBRARY];
	const struct gnn_setting_value *arch = &m->set.v[GNN_SET_ARCH];

	return (library->source != GNN_TOLD_NOWHERE && library->choice != v->library) ||
		(arch->source != GNN_TOLD_NOWHERE && arch->choice != v->arch);
}

/* No tensor that the variant does not know. */
static bool knows(const struct gnn_variant *v, uint64_t roles)
{
	return (roles & ~(v->need | v->may | v->one_of)) == 0;
}

static bool fits(const struct gnn_variant *v, uint64_t roles)
{
	return (roles & v->need) == v->need && knows(v, roles) &&
		(v->one_of == 0 || (roles & v->one_of) != 0);
}

static bool fits_all(const struct gnn_model *m, const struct gnn_variant *v)
{
	for (uint32_t l = 0; l < m->layers; l++)
		if (!fits(v, roles_of(m, l)))
			return false;
	return true;
}

/* The roles of a layer by the endings of their keys: "lin.weight, bias". */
static void roles_text(uint64_t roles, char *to, size_t size)
{
	size_t used = 0;

	to[0] = '\0';
	roles &= ~BIT(APPLY_FUNC);
	for (uint32_t r = 0; r < 64 && used < size; r++)
		if ((roles >> r & 1) != 0)
			used += (size_t)snprintf(to + used, size - used, "%s%s",
				used > 0 ? ", " : "", gnn_role_ending(r));
}

/* A tensor that would complete a layer, of the variant that lacks fewest. */
static int explain_no_variant(const struct gnn_model *m)
{
	uint64_t roles, lacks = UINT64_MAX;
	const struct gnn_variant *best = NULL;
	uint32_t layer = 0, l;
	char have[256], want[256];

	for (l = 0; l < m->layers; l++) {
		bool known = false;

		roles = roles_of(m, l);
		for (uint32_t i = 0; i < VARIANTS; i++) {
			const struct gnn_variant *v = &variants[i];
			uint64_t missing = v->need & ~roles;

			known |= fits(v, roles);
			if (knows(v, roles) && missing != 0 &&
				__builtin_popcountll(missing) < __builtin_popcountll(lacks)) {
				lacks = missing;
				best = v;
				layer = l;
			}
		}
		if (!known)
			break;
	}
	roles_text(roles_of(m, l < m->layers ? l : 0), have, sizeof(have));
	if (l == m->layers)
		return gnn_err(GNN_ECONFIG, "the layers are different convolutions, or none of %s",
			gnn_settings_choices(GNN_SET_ARCH));
	if (best == NULL || layer != l)
		return gnn_err(GNN_ECONFIG, "layer %u has %s, which is no known convolution", l,
			have);
	roles_text(lacks, want, sizeof(want));
	return gnn_err(GNN_ECONFIG, "layer %u has %s but not %s, which %s takes", l, have, want,
		best->name);
}

/* A convolution fits, but what was told says another. */
static int explain_excluded(const struct gnn_model *m, const struct gnn_variant *v)
{
	const struct gnn_setting_value *library = &m->set.v[GNN_SET_LIBRARY];
	const struct gnn_setting_value *arch = &m->set.v[GNN_SET_ARCH];

	return gnn_err(GNN_ECONFIG, "told %s%s%s%s%s, but the keys are those of %s",
		library->source != GNN_TOLD_NOWHERE ? "gnnrun.library=" : "", library->text,
		library->text[0] != '\0' && arch->text[0] != '\0' ? " and " : "",
		arch->source != GNN_TOLD_NOWHERE ? "gnnrun.arch=" : "", arch->text, v->name);
}

int gnn_model_choose_variant(struct gnn_model *m)
{
	const struct gnn_variant *excluded = NULL, *found = NULL;

	for (uint32_t i = 0; i < VARIANTS; i++) {
		if (!fits_all(m, &variants[i]))
			continue;
		if (is_excluded(m, &variants[i])) {
			excluded = &variants[i];
		} else if (found != NULL) {
			snprintf(m->missing, sizeof(m->missing),
				"gnnrun.library=pyg|dgl (%s or %s: the keys are the same)",
				found->name, variants[i].name);
			return GNN_OK;
		} else {
			found = &variants[i];
		}
	}
	if (found == NULL)
		return excluded != NULL ? explain_excluded(m, excluded) : explain_no_variant(m);
	m->variant = found;
	return GNN_OK;
}
