/* base/cmdline.c - see cmdline.h. */
#include "base/cmdline.h"

#include "base/config_file.h"
#include "base/nearest.h"
#include "base/setting.h"

#include <stdio.h>
#include <string.h>

struct words {
	int argc;
	char *const *argv;
	int at;
	bool options_ended; /* behind "--" */
};

/* Only of the command at hand: two commands may give one field different defaults. */
static void set_defaults(struct gnn_config *c, uint32_t commands)
{
	uint32_t count;
	const struct gnn_option *o = gnn_options(&count);

	for (uint32_t i = 0; i < count; i++) {
		if (o[i].commands != GNN_COMMANDS_ALL && (o[i].commands & commands) == 0)
			continue;
		if (o[i].preset != NULL && c->origin[i].source == GNN_FROM_DEFAULT)
			GNN_ASSERT(gnn_setting_put(&o[i], c, o[i].preset) == GNN_OK);
	}
}

static int set_flag(struct gnn_config *c, const struct gnn_option *o, const char *text)
{
	uint32_t count;
	struct gnn_origin *origin = &c->origin[o - gnn_options(&count)];
	int rc = gnn_setting_put(o, c, text);

	if (rc < 0)
		return gnn_err_place(rc, "--%s", o->name);
	*origin = (struct gnn_origin){GNN_FROM_COMMAND_LINE, 0};
	return GNN_OK;
}

/* `name` is the word at w->at without dashes, "name=value" too; a value may be the word behind. */
static int read_flag(struct gnn_config *c, const struct gnn_command *commands, struct words *w,
	const char *name)
{
	const char *equal = strchr(name, '=');
	size_t len = equal != NULL ? (size_t)(equal - name) : strlen(name);
	const struct gnn_option *o;
	char word[64];
	bool negated;

	o = gnn_option_find(name, len, c->command, &negated);
	if (o == NULL) {
		snprintf(word, sizeof(word), "%.*s", (int)len, name);
		return gnn_option_unknown(GNN_EUSAGE, "--", word, c->command, commands);
	}
	if (negated && equal != NULL)
		return gnn_err(GNN_EUSAGE, "--%.*s takes no value", (int)len, name);
	if (negated)
		return set_flag(c, o, "off");
	if (equal != NULL)
		return set_flag(c, o, equal + 1);
	if (o->type == GNN_OPTION_FLAG)
		return set_flag(c, o, "on");
	if (w->at + 1 == w->argc || strncmp(w->argv[w->at + 1], "--", 2) == 0)
		return gnn_err(GNN_EUSAGE, "--%s wants a value: %s", o->name,
			gnn_setting_wanted(o, word, sizeof(word)));
	return set_flag(c, o, w->argv[++w->at]);
}

static int read_command(struct gnn_config *c, const struct gnn_command *commands, const char *word)
{
	const char *names[GNN_CMD_COUNT];
	uint32_t count = 0;

	for (int id = 0; id < GNN_CMD_COUNT; id++) {
		if (commands[id].name == NULL)
			continue;
		if (strcmp(commands[id].name, word) == 0) {
			c->command = (enum gnn_command_id)id;
			set_defaults(c, 1u << id);
			return GNN_OK;
		}
		names[count++] = commands[id].name;
	}
	return gnn_err(GNN_EUSAGE, "there is no command '%s'; the nearest is '%s'", word,
		gnn_nearest(word, names, count));
}

static int read_words(struct gnn_config *c, const struct gnn_command *commands, struct words *w)
{
	int rc = GNN_OK;

	for (w->at = 1; w->at < w->argc && rc >= 0; w->at++) {
		const char *word = w->argv[w->at];

		if (!w->options_ended && strcmp(word, "--") == 0)
			w->options_ended = true;
		else if (!w->options_ended && strcmp(word, "-h") == 0)
			c->help = true;
		else if (!w->options_ended && strncmp(word, "--", 2) == 0)
			rc = read_flag(c, commands, w, word + 2);
		else if (!w->options_ended && strcmp(word, "-o") == 0)
			rc = read_flag(c, commands, w, "out");
		else if (!w->options_ended && word[0] == '-' && word[1] != '\0')
			rc = gnn_err(GNN_EUSAGE, "options begin with two dashes, found '%s'", word);
		else if (c->command == GNN_CMD_COUNT)
			rc = read_command(c, commands, word);
		else if (c->arg_count == GNN_ARGS_MAX)
			rc = gnn_err(GNN_EUSAGE, "too many arguments, from '%s' on", word);
		else
			c->args[c->arg_count++] = word;
	}
	return rc;
}

static int check_args(const struct gnn_config *c, const struct gnn_command *command)
{
	if (c->arg_count < command->args_min)
		return gnn_err(GNN_EUSAGE,
			"%s wants %s, found %u of these; see gnnrun %s --help", command->name,
			command->args, c->arg_count, command->name);
	if (c->arg_count > command->args_max)
		return gnn_err(GNN_EUSAGE, "%s wants %s and no more, found '%s'", command->name,
			command->args_max > 0 ? command->args : "no argument",
			c->args[command->args_max]);
	return GNN_OK;
}

int gnn_cmdline_read(struct gnn_config *c, const struct gnn_command *commands, int argc,
	char *const *argv)
{
	struct words w = {.argc = argc, .argv = argv};
	int rc = GNN_OK;

	memset(c, 0, sizeof(*c));
	c->command = GNN_CMD_COUNT;
	set_defaults(c, 0);
	GNN_TRY(read_words(c, commands, &w));
	if (c->help || c->version || c->dump_options)
		goto out;
	if (c->command == GNN_CMD_COUNT)
		GNN_FAIL(GNN_EUSAGE, "a command is wanted; gnnrun --help lists them");
	if (c->config_path != NULL)
		GNN_TRY(gnn_config_file_read(c, commands));
	if (!c->print_config)
		GNN_TRY(check_args(c, &commands[c->command]));
out:
	return rc;
}
