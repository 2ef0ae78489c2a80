/*
 * layer/settings.h - what a model's tensors cannot say: gnnrun.* of __metadata__ and --model-set.
 *
 * Flow     metadata, command line, keys, defaults -> [settings] -> model -> layer_<arch>.c
 * Owns     plain values
 * Lends    names
 * Thread   one caller
 * Fails    GNN_EUSAGE no "key=value"; GNN_ECONFIG an unknown key (with the nearest) or value
 */
#ifndef GNN_LAYER_SETTINGS_H
#define GNN_LAYER_SETTINGS_H

#include "base/err.h"

enum gnn_arch { GNN_ARCH_GCN, GNN_ARCH_SAGE, GNN_ARCH_GIN, GNN_ARCH_GAT, GNN_ARCH_GATV2,
	GNN_ARCH_GRAPHCONV };
enum gnn_library { GNN_LIBRARY_PYG, GNN_LIBRARY_DGL };
enum gnn_self_loops { GNN_LOOPS_REPLACE, GNN_LOOPS_NONE };
enum gnn_layer_norm_mode { GNN_LAYER_NORM_NODE, GNN_LAYER_NORM_GRAPH };
enum gnn_jk { GNN_JK_LAST, GNN_JK_CAT, GNN_JK_MAX };
enum gnn_aggregator { GNN_AGGREGATE_MEAN, GNN_AGGREGATE_SUM, GNN_AGGREGATE_MAX,
	GNN_AGGREGATE_GCN, GNN_AGGREGATE_POOL };

enum gnn_setting {
	GNN_SET_LIBRARY,
	GNN_SET_ARCH,
	GNN_SET_LAYERS,
	GNN_SET_ACTIVATION,
	GNN_SET_FINAL_ACTIVATION,
	GNN_SET_HEADS,
	GNN_SET_CONCAT,
	GNN_SET_NEGATIVE_SLOPE,
	GNN_SET_RESIDUAL,
	GNN_SET_SELF_LOOPS,
	GNN_SET_NORM,
	GNN_SET_AGGREGATOR,
	GNN_SET_NORMALIZE,
	GNN_SET_LAYER_NORM_MODE,
	GNN_SET_JK,
	GNN_SET_ACT_FIRST,
	GNN_SET_MLP_ACTIVATION,
	GNN_SETTING_COUNT,
};

/* Later ones win; what the keys say must agree with what is told. */
enum gnn_setting_source {
	GNN_TOLD_NOWHERE,
	GNN_TOLD_DEFAULT,
	GNN_TOLD_KEYS,
	GNN_TOLD_METADATA,
	GNN_TOLD_MODEL_SET,
};

enum { GNN_SETTING_LIST_MAX = 64, GNN_SETTING_TEXT_MAX = 256 };

struct gnn_setting_value {
	enum gnn_setting_source source;
	char     text[GNN_SETTING_TEXT_MAX];
	uint32_t choice;  /* place in the row's choices, or the number of layers */
	double   number;
	uint32_t list[GNN_SETTING_LIST_MAX];
	uint32_t list_count;
};

struct gnn_settings {
	struct gnn_setting_value v[GNN_SETTING_COUNT];
};

GNN_BEGIN_DECLS

/* "key=value"; "gnnrun." in front may be left out. */
int gnn_settings_tell_pair(struct gnn_settings *s, const char *pair);
/* One text of __metadata__; GNN_SKIPPED when the key is not "gnnrun.*". */
int gnn_settings_tell_metadata(struct gnn_settings *s, const char *key, const char *text);
/* Sets a value that the program itself finds, in the words of a user, unless one is there. */
void gnn_settings_offer(struct gnn_settings *s, enum gnn_setting which, const char *text,
	enum gnn_setting_source source);
bool gnn_settings_told(const struct gnn_settings *s, enum gnn_setting which);

/* Defaults of what applies to the architecture; GNN_ECONFIG when something told does not. */
int gnn_settings_finish(struct gnn_settings *s, enum gnn_arch arch, enum gnn_library library);

/* "8,1", each from min to max; at most GNN_SETTING_LIST_MAX. */
bool gnn_settings_parse_list(const char *text, uint32_t min, uint32_t max, uint32_t *list,
	uint32_t *count);

const char *gnn_settings_name   (enum gnn_setting which);  /* "gnnrun.library" ... */
const char *gnn_settings_choices(enum gnn_setting which);  /* "pyg|dgl" ... */
const char *gnn_settings_source(enum gnn_setting_source source);
const char *gnn_arch_name   (enum gnn_arch arch);
const char *gnn_library_name(enum gnn_library library);

GNN_END_DECLS

#endif
