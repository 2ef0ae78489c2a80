/* layer/keys.c - see keys.h. */
#include "layer/keys.h"

#include <stdio.h>
#include <stdlib.h>
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

	{"norms.#.*", GNN_ROLE_UNSUPPORTED, "norms between layers", 0, 0},
	{"bns.#.*", GNN_ROLE_UNSUPPORTED, "norms between layers", 0, 0},
	{"jk.*", GNN_ROLE_UNSUPPORTED, "jumping knowledge", 0, 0},
	{"att_edge", GNN_ROLE_UNSUPPORTED, "edge features", 0, 0},
	{"lin_edge.weight", GNN_ROLE_UNSUPPORTED, "edge features", 0, 0},
	{"lstm.*", GNN_ROLE_UNSUPPORTED, "LSTM aggregation", 0, 0},
};

enum { DIGITS_MAX = 6, NUMBERS_MAX = 8, LISTED_MAX = 400 };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads a number of at most DIGITS_MAX digits at *at and moves behind it. */
static bool read_number(const char **at, uint32_t *out)
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
			if (!read_number(&name, number))
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

/* Names for an error text, as many as fit. */
struct list {
	char     text[LISTED_MAX];
	uint32_t left_out;
};

static void add_item(struct list *l, const char *item)
{
	size_t used = strlen(l->text), room = sizeof(l->text) - used;

	if (snprintf(l->text + used, room, "%s%s", used > 0 ? ", " : "", item) >= (int)room) {
		l->text[used] = '\0';
		l->left_out++;
	}
}

static int fail_with(const struct list *l, const char *what)
{
	if (l->left_out > 0)
		return gnn_err(GNN_ECONFIG, "%s: %s and %u more", what, l->text, l->left_out);
	return gnn_err(GNN_ECONFIG, "%s: %s", what, l->text);
}

/* What the i-th tensor would take, once: with the number of tensors that do. */
static void add_unsupported(struct list *l, const struct gnn_weight *w, uint32_t count, uint32_t i)
{
	uint32_t alike = 0, before = 0;
	char item[LISTED_MAX / 2];

	for (uint32_t k = 0; k < count; k++) {
		bool same = w[k].role == GNN_ROLE_UNSUPPORTED &&
			strcmp(w[k].meaning, w[i].meaning) == 0;

		alike += same;
		before += same && k < i;
	}
	if (before > 0)
		return;
	if (alike > 1)
		snprintf(item, sizeof(item), "%s (%.100s and %u more)", w[i].meaning,
			w[i].tensor->name, alike - 1);
	else
		snprintf(item, sizeof(item), "%s (%.100s)", w[i].meaning, w[i].tensor->name);
	add_item(l, item);
}

static int check_roles(const struct gnn_weight *w, uint32_t count)
{
	struct list unknown = {0}, unsupported = {0};

	for (uint32_t i = 0; i < count; i++) {
		if (w[i].role == GNN_ROLE_UNSUPPORTED)
			add_unsupported(&unsupported, w, count, i);
		if (w[i].role == GNN_ROLE_UNKNOWN)
			add_item(&unknown, w[i].tensor->name);
	}
	if (unsupported.text[0] != '\0')
		return fail_with(&unsupported, "not supported");
	if (unknown.text[0] != '\0' || unknown.left_out > 0)
		return fail_with(&unknown, "tensors that are not understood");
	return GNN_OK;
}

/* The numbers inside a stem; false when there are too many or too large ones. */
static bool numbers_of(const struct gnn_weight *w, uint32_t *number, uint32_t *count)
{
	const char *at = w->tensor->name, *end = at + w->stem;

	for (*count = 0; at < end;) {
		if (!is_digit(*at)) {
			at++;
			continue;
		}
		if (*count == NUMBERS_MAX || !read_number(&at, &number[(*count)++]))
			return false;
	}
	return true;
}

/* Equal stems but for the numbers in them. */
static bool same_stem(const struct gnn_weight *a, const struct gnn_weight *b)
{
	const char *s = a->tensor->name, *t = b->tensor->name;
	const char *s_end = s + a->stem, *t_end = t + b->stem;

	while (s < s_end && t < t_end) {
		if (is_digit(*s) && is_digit(*t)) {
			s += strspn(s, "0123456789");
			t += strspn(t, "0123456789");
		} else if (*s++ != *t++) {
			return false;
		}
	}
	return s == s_end && t == t_end;
}

/* Every stem must look like that of most tensors. */
static int check_stems(const struct gnn_weight *w, uint32_t count)
{
	uint32_t best = 0, most = 0, alike;
	struct list others = {0};

	for (uint32_t i = 0; i < count; i++) {
		alike = 0;
		for (uint32_t j = 0; j < count; j++)
			alike += same_stem(&w[i], &w[j]);
		if (alike > most) {
			most = alike;
			best = i;
		}
	}
	if (most == count)
		return GNN_OK;
	for (uint32_t i = 0; i < count; i++)
		if (!same_stem(&w[i], &w[best]))
			add_item(&others, w[i].tensor->name);
	return fail_with(&others, "tensors that belong to no layer");
}

/* Sets `layer` of each to the one number in which the stems differ. */
static int read_layers(struct gnn_weight *w, uint32_t count)
{
	uint32_t first[NUMBERS_MAX], number[NUMBERS_MAX], numbers, place = NUMBERS_MAX;

	for (uint32_t i = 0; i < count; i++) {
		if (!numbers_of(&w[i], i == 0 ? first : number, &numbers))
			return gnn_err(GNN_ECONFIG, "tensor %s: no layer number can be read",
				w[i].tensor->name);
		for (uint32_t k = 0; i > 0 && k < numbers; k++) {
			if (number[k] == first[k])
				continue;
			if (place != NUMBERS_MAX && place != k)
				return gnn_err(GNN_ECONFIG,
					"tensors %s and %s differ in more than one number",
					w[0].tensor->name, w[i].tensor->name);
			place = k;
		}
	}
	for (uint32_t i = 0; i < count; i++) {
		numbers_of(&w[i], number, &numbers);
		w[i].layer = place == NUMBERS_MAX ? 0 : number[place];
	}
	return GNN_OK;
}

static int compare(const void *a, const void *b)
{
	const struct gnn_weight *s = a, *t = b;

	if (s->layer != t->layer)
		return s->layer < t->layer ? -1 : 1;
	if (s->role != t->role)
		return s->role < t->role ? -1 : 1;
	return (s->item > t->item) - (s->item < t->item);
}

/* After sorting: layer numbers become 0, 1, 2 ...; no role may occur twice in a layer. */
static int renumber(struct gnn_weight *w, uint32_t count, uint32_t *layers)
{
	uint32_t seen = 0, number = w[0].layer;

	for (uint32_t i = 0; i < count; i++) {
		if (w[i].layer != number) {
			number = w[i].layer;
			seen++;
		}
		w[i].layer = seen;
		if (i > 0 && w[i].role != GNN_ROLE_COUNTER && compare(&w[i - 1], &w[i]) == 0)
			return gnn_err(GNN_ECONFIG, "tensors %s and %s are the same thing twice",
				w[i - 1].tensor->name, w[i].tensor->name);
	}
	*layers = seen + 1;
	return GNN_OK;
}

int gnn_keys_group(struct gnn_weight *w, uint32_t count, uint32_t *layers)
{
	int rc;

	*layers = 0;
	if (count == 0)
		GNN_FAIL(GNN_ECONFIG, "there are no tensors");
	GNN_TRY(check_roles(w, count));
	GNN_TRY(check_stems(w, count));
	GNN_TRY(read_layers(w, count));
	qsort(w, count, sizeof(*w), compare);
	GNN_TRY(renumber(w, count, layers));
out:
	return rc;
}

const char *gnn_role_ending(enum gnn_role role)
{
	uint32_t r = 0;

	while (r + 1 < GNN_COUNT_OF(rows) && rows[r].role != role)
		r++;
	return rows[r].ending;
}
