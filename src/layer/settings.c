/* layer/settings.c - see settings.h. */
#include "layer/settings.h"

#include "base/nearest.h"
#include "base/units.h"

#include <string.h>

enum kind { CHOICE, COUNT, COUNTS, FLAGS, NUMBER };

#define PREFIX      "gnnrun."
#define ONLY(arch)  (1u << GNN_ARCH_##arch)
#define ATTENTION   (ONLY(GAT) | ONLY(GATV2))
#define EVERY       UINT32_MAX
#define PYG         (1u << GNN_LIBRARY_PYG)
#define DGL         (1u << GNN_LIBRARY_DGL)
#define ACTIVATIONS "none|relu|elu|leaky_relu|tanh" /* in the order of enum gnn_act */

/*
 * `archs`, `libraries`: where the setting means something. Elsewhere only `idle` may be told, which
 * says what is so anyway. `fallback` holds where nothing is told; NULL: keys or the architecture
 * decide.
 */
static const struct row {
	const char *name;
	enum kind   kind;
	const char *choices;
	uint32_t    archs;
	uint32_t    libraries;
	const char *fallback;
	const char *idle;
} rows[GNN_SETTING_COUNT] = {
	[GNN_SET_LIBRARY] = {"gnnrun.library", CHOICE, "pyg|dgl", EVERY, EVERY, NULL, NULL},
	[GNN_SET_ARCH] = {"gnnrun.arch", CHOICE, "gcn|sage|gin|gat|gatv2|graphconv", EVERY, EVERY,
		NULL, NULL},
	[GNN_SET_LAYERS] = {"gnnrun.layers", COUNT, "a number", EVERY, EVERY, NULL, NULL},
	[GNN_SET_ACTIVATION] = {"gnnrun.activation", CHOICE, ACTIVATIONS, EVERY, EVERY, "relu",
		NULL},
	[GNN_SET_FINAL_ACTIVATION] = {"gnnrun.final_activation", CHOICE, ACTIVATIONS, EVERY, EVERY,
		"none", NULL},
	[GNN_SET_HEADS] = {"gnnrun.heads", COUNTS, "one number a layer, 8,1", ATTENTION, EVERY,
		NULL, NULL},
	[GNN_SET_CONCAT] = {"gnnrun.concat", FLAGS, "0 or 1 a layer, 1,0", ATTENTION, EVERY, NULL,
		NULL},
	[GNN_SET_NEGATIVE_SLOPE] = {"gnnrun.negative_slope", NUMBER, "a number", ATTENTION, EVERY,
		"0.2", NULL},
	[GNN_SET_RESIDUAL] = {"gnnrun.residual", FLAGS, "0 or 1 a layer, 0,1", ATTENTION, EVERY,
		NULL, NULL},
	[GNN_SET_SELF_LOOPS] = {"gnnrun.self_loops", CHOICE, "replace|none",
		ONLY(GCN) | ATTENTION, EVERY, NULL, "none"},
	[GNN_SET_NORM] = {"gnnrun.norm", CHOICE, "both|right|left|none", ONLY(GCN), DGL, "both",
		NULL},
	[GNN_SET_AGGREGATOR] = {"gnnrun.aggregator", CHOICE, "mean|sum|max|gcn|pool",
		ONLY(SAGE) | ONLY(GRAPHCONV), EVERY, NULL, "sum"},
	[GNN_SET_NORMALIZE] = {"gnnrun.normalize", CHOICE, "0|1", ONLY(SAGE), PYG, "0", "0"},
	[GNN_SET_LAYER_NORM_MODE] = {"gnnrun.layer_norm_mode", CHOICE, "node|graph", EVERY, EVERY,
		NULL, NULL},
	[GNN_SET_JK] = {"gnnrun.jk", CHOICE, "last|cat|max", EVERY, EVERY, NULL, NULL},
	[GNN_SET_ACT_FIRST] = {"gnnrun.act_first", CHOICE, "0|1", EVERY, EVERY, NULL, NULL},
	[GNN_SET_MLP_ACTIVATION] = {"gnnrun.mlp_activation", CHOICE, ACTIVATIONS, ONLY(GIN), EVERY,
		"relu", NULL},
};

static const char *const source_names[] = {
	[GNN_TOLD_NOWHERE] = "not told", [GNN_TOLD_DEFAULT] = "default", [GNN_TOLD_KEYS] = "keys",
	[GNN_TOLD_METADATA] = "__metadata__", [GNN_TOLD_MODEL_SET] = "--model-set",
};

static const char *const arch_names[] = {
	[GNN_ARCH_GCN] = "gcn", [GNN_ARCH_SAGE] = "sage", [GNN_ARCH_GIN] = "gin",
	[GNN_ARCH_GAT] = "gat", [GNN_ARCH_GATV2] = "gatv2", [GNN_ARCH_GRAPHCONV] = "graphconv",
};

static const char *const library_names[] = {
	[GNN_LIBRARY_PYG] = "pyg", [GNN_LIBRARY_DGL] = "dgl",
};

const char *gnn_settings_name(enum gnn_setting which)
{
	return rows[which].name;
}

const char *gnn_settings_choices(enum gnn_setting which)
{
	return rows[which].choices;
}

const char *gnn_settings_source(enum gnn_setting_source source)
{
	return source_names[source];
}

const char *gnn_arch_name(enum gnn_arch arch)
{
	return arch_names[arch];
}

const char *gnn_library_name(enum gnn_library library)
{
	return library_names[library];
}

/* Place of `text` among "a|b|c"; false when it is not there. */
static bool parse_choice(const char *choices, const char *text, uint32_t *place)
{
	size_t length = strlen(text), word;

	for (*place = 0;; (*place)++) {
		word = strcspn(choices, "|");
		if (word == length && memcmp(choices, text, length) == 0)
			return true;
		if (choices[word] == '\0')
			return false;
		choices += word + 1;
	}
}

bool gnn_settings_parse_list(const char *text, uint32_t min, uint32_t max, uint32_t *list,
	uint32_t *count)
{
	uint64_t value;

	for (*count = 0; *count < GNN_SETTING_LIST_MAX; text++) {
		size_t digits = strcspn(text, ",");
		char item[16] = "";

		if (digits >= sizeof(item))
			return false;
		memcpy(item, text, digits);
		if (!gnn_units_parse_count(item, &value) || value < min || value > max)
			return false;
		list[(*count)++] = (uint32_t)value;
		text += digits;
		if (*text == '\0')
			return true;
	}
	return false;
}

static bool parse_value(const struct row *row, struct gnn_setting_value *v)
{
	switch (row->kind) {
	case CHOICE:
		return parse_choice(row->choices, v->text, &v->choice);
	case COUNT:
		if (!gnn_settings_parse_list(v->text, 1, UINT32_MAX, v->list, &v->list_count))
			return false;
		v->choice = v->list[0];
		return v->list_count == 1;
	case COUNTS:
		return gnn_settings_parse_list(v->text, 1, 1 << 16, v->list, &v->list_count);
	case FLAGS:
		return gnn_settings_parse_list(v->text, 0, 1, v->list, &v->list_count);
	case NUMBER:
		return gnn_units_parse_real(v->text, &v->number);
	}
	return false;
}

static int unknown_key(const char *key)
{
	const char *names[GNN_SETTING_COUNT];

	for (uint32_t i = 0; i < GNN_SETTING_COUNT; i++)
		names[i] = rows[i].name;
	return gnn_err(GNN_ECONFIG, "model setting %.60s is unknown, the nearest is %s", key,
		gnn_nearest(key, names, GNN_SETTING_COUNT));
}

static int tell(struct gnn_settings *s, const char *key, const char *text,
	enum gnn_setting_source source)
{
	struct gnn_setting_value *v;
	uint32_t i = 0;

	while (i < GNN_SETTING_COUNT && strcmp(rows[i].name, key) != 0)
		i++;
	if (i == GNN_SETTING_COUNT)
		return unknown_key(key);
	v = &s->v[i];
	memset(v, 0, sizeof(*v));
	v->source = source;
	if (strlen(text) < sizeof(v->text)) {
		memcpy(v->text, text, strlen(text));
		if (parse_value(&rows[i], v))
			return GNN_OK;
	}
	return gnn_err(GNN_ECONFIG, "%s (%s) is \"%.60s\", wanted %s", rows[i].name,
		source_names[source], text, rows[i].choices);
}

int gnn_settings_tell_pair(struct gnn_settings *s, const char *pair)
{
	const char *equals = strchr(pair, '=');
	bool whole = strncmp(pair, PREFIX, strlen(PREFIX)) == 0;
	size_t shift = whole ? 0 : strlen(PREFIX);
	char key[64] = PREFIX;

	if (equals == NULL)
		return gnn_err(GNN_EUSAGE, "--model-set %.60s: wanted key=value", pair);
	if ((size_t)(equals - pair) + shift >= sizeof(key))
		return unknown_key(pair);
	memcpy(key + shift, pair, (size_t)(equals - pair));
	key[shift + (size_t)(equals - pair)] = '\0';
	return tell(s, key, equals + 1, GNN_TOLD_MODEL_SET);
}

int gnn_settings_tell_metadata(struct gnn_settings *s, const char *key, const char *text)
{
	if (strncmp(key, PREFIX, strlen(PREFIX)) != 0)
		return GNN_SKIPPED;
	return tell(s, key, text, GNN_TOLD_METADATA);
}

void gnn_settings_offer(struct gnn_settings *s, enum gnn_setting which, const char *text,
	enum gnn_setting_source source)
{
	int rc = GNN_OK;

	if (s->v[which].source == GNN_TOLD_NOWHERE)
		rc = tell(s, rows[which].name, text, source);
	GNN_ASSERT(rc == GNN_OK);
}

bool gnn_settings_told(const struct gnn_settings *s, enum gnn_setting which)
{
	return s->v[which].source >= GNN_TOLD_METADATA;
}

int gnn_settings_finish(struct gnn_settings *s, enum gnn_arch arch, enum gnn_library library)
{
	for (uint32_t i = 0; i < GNN_SETTING_COUNT; i++) {
		struct gnn_setting_value *v = &s->v[i];
		const struct row *row = &rows[i];
		bool applies = (row->archs >> arch & row->libraries >> library & 1) != 0;

		if (gnn_settings_told(s, i) && !applies &&
			(row->idle == NULL || strcmp(row->idle, v->text) != 0))
			return gnn_err(GNN_ECONFIG, "%s=%s (%s) is not supported for %s of %s",
				row->name, v->text, source_names[v->source], arch_names[arch],
				library_names[library]);
		if (applies && row->fallback != NULL)
			gnn_settings_offer(s, i, row->fallback, GNN_TOLD_DEFAULT);
	}
	if ((rows[GNN_SET_SELF_LOOPS].archs & 1u << arch) != 0)
		gnn_settings_offer(s, GNN_SET_SELF_LOOPS,
			library == GNN_LIBRARY_PYG ? "replace" : "none", GNN_TOLD_DEFAULT);
	return GNN_OK;
}
