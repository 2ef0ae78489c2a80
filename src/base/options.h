/*
 * base/options.h - the one table of options: flags, file keys, help and docs/config.md follow it.
 *
 * Flow     [options] -> setting, config, help
 * Owns     the table
 * Lends    rows, for ever
 * Thread   any thread; constant
 * Fails    a name that is not there is NULL; gnn_option_unknown says so
 *
 * A new option is one row in options.c and one field in struct gnn_config. A name may stand in
 * several rows when no command takes two of them.
 */
#ifndef GNN_BASE_OPTIONS_H
#define GNN_BASE_OPTIONS_H

#include "base/choices.h"
#include "base/config.h"

enum gnn_option_type {
	GNN_OPTION_FLAG,   /* bool: --name, --no-name, --name=on|off */
	GNN_OPTION_COUNT,  /* uint64_t */
	GNN_OPTION_SIZE,   /* uint64_t, K M G T */
	GNN_OPTION_REAL,   /* double */
	GNN_OPTION_TEXT,   /* const char *, NULL when not given */
	GNN_OPTION_PATH,   /* the same; in a file relative to the file's folder */
	GNN_OPTION_CHOICE, /* int */
	GNN_OPTION_WORD,   /* const char *, the name of one of the choices */
	GNN_OPTION_LIST,   /* struct gnn_text_list; given repeatedly */
};

enum gnn_option_group {
	GNN_GROUP_INPUT,
	GNN_GROUP_GRAPH,
	GNN_GROUP_MODEL,
	GNN_GROUP_OUTPUT,
	GNN_GROUP_RUN,
	GNN_GROUP_MACHINE,
	GNN_GROUP_REPORT,
	GNN_GROUP_CONFIG,
	GNN_GROUP_COUNT,
};

enum {
	GNN_OPTION_HIDDEN  = 1, /* for tests: neither in help nor in the docs */
	GNN_OPTION_NO_FILE = 2, /* on the command line only */
};

struct gnn_option {
	const char             *name;
	enum gnn_option_type    type;
	enum gnn_option_group   group;
	uint32_t                commands;  /* bit of each gnn_command_id that takes it */
	uint32_t                flags;
	size_t                  offset;    /* in struct gnn_config */
	const char             *preset;    /* the default, as text; NULL: not given */
	double                  min, max;  /* of numbers; max 0: no limit */
	const char             *zero_word; /* stands for 0, for NaN in reals: "auto" */
	const struct gnn_choice *choices;
	const char             *wanted;    /* the value in help: "N", "FILE" */
	const char             *help;
};

#define GNN_COMMANDS_ALL ((1u << GNN_CMD_COUNT) - 1)

GNN_BEGIN_DECLS

const struct gnn_option *gnn_options(uint32_t *count);
const char *gnn_option_group_name(enum gnn_option_group group);

/* With GNN_CMD_COUNT only options of every command are taken. */
bool gnn_option_taken_by(const struct gnn_option *o, enum gnn_command_id command);

/*
 * The row of a name that the command takes, or NULL; `len` bytes of the name count. negated: the
 * name is "no-" and a flag's.
 */
const struct gnn_option *gnn_option_find(const char *name, size_t len,
	enum gnn_command_id command, bool *negated);

/* Whether an option of the command in hand was given, on the command line or in the file. */
bool gnn_option_given(const struct gnn_config *c, const char *name);

/* Says that the command takes no such option: whose it is, or which is nearest. */
int gnn_option_unknown(int status, const char *dashes, const char *name,
	enum gnn_command_id command, const struct gnn_command *commands);

GNN_END_DECLS

#endif
