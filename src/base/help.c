/* base/help.c - see help.h. */
#include "base/help.h"

#include "base/log.h"
#include "base/setting.h"

#include <stdio.h>
#include <string.h>

enum { INDENT = 6, WIDTH = 79, TEXT_MAX = 512 };

/* Words of `text` in lines of WIDTH, each indented. */
static void print_wrapped(const char *text, int indent)
{
	int column = 0;

	while (*text != '\0') {
		int len = (int)strcspn(text, " ");

		if (column > 0 && column + 1 + len > WIDTH) {
			gnn_out("\n");
			column = 0;
		}
		if (column == 0)
			column = indent, gnn_out("%*s", indent, "");
		else
			column++, gnn_out(" ");
		gnn_out("%.*s", len, text);
		column += len;
		text += len;
		text += strspn(text, " ");
	}
	gnn_out("\n");
}

/* "--threads N", "--[no-]shuffle", "--io auto|uring|pread". */
static void flag_text(const struct gnn_option *o, char *to, size_t bytes)
{
	char words[160];

	if (o->type == GNN_OPTION_FLAG)
		snprintf(to, bytes, "--%s%s",
			o->preset != NULL && strcmp(o->preset, "on") == 0 ? "[no-]" : "", o->name);
	else
		snprintf(to, bytes, "--%s %s", o->name,
			gnn_setting_wanted(o, words, sizeof(words)));
}

static void print_option(const struct gnn_option *o)
{
	char flag[200], text[TEXT_MAX];
	const char *preset = o->type == GNN_OPTION_FLAG ? NULL : o->preset;

	flag_text(o, flag, sizeof(flag));
	gnn_out("  %s\n", flag);
	snprintf(text, sizeof(text), "%s%s%s%s", o->help, preset != NULL ? " [" : "",
		preset != NULL ? preset : "", preset != NULL ? "]" : "");
	print_wrapped(text, INDENT);
	for (const struct gnn_choice *h = o->choices; h != NULL && h->name != NULL; h++) {
		if (h->help == NULL)
			continue;
		snprintf(text, sizeof(text), "%s: %s", h->name, h->help);
		print_wrapped(text, INDENT + 2);
	}
}

static bool is_shown(const struct gnn_option *o, enum gnn_option_group group,
	enum gnn_command_id command)
{
	return o->group == group && (o->flags & GNN_OPTION_HIDDEN) == 0 &&
		gnn_option_taken_by(o, command);
}

static void print_group(enum gnn_option_group group, enum gnn_command_id command)
{
	uint32_t count;
	const struct gnn_option *o = gnn_options(&count);
	bool any = false;

	for (uint32_t i = 0; i < count; i++) {
		if (!is_shown(&o[i], group, command))
			continue;
		if (!any)
			gnn_out("\n%s\n", gnn_option_group_name(group));
		any = true;
		print_option(&o[i]);
	}
}

static void print_commands(const struct gnn_command *commands)
{
	for (int id = 0; id < GNN_CMD_COUNT; id++)
		if (commands[id].name != NULL)
			gnn_out("  %-9s %-24s %s\n", commands[id].name, commands[id].args,
				commands[id].summary);
}

void gnn_help(const struct gnn_command *commands, enum gnn_command_id command)
{
	if (command == GNN_CMD_COUNT) {
		gnn_out("gnnrun " GNN_VERSION ": graph neural networks on graphs larger than the "
			"machine\n\nusage: gnnrun COMMAND ARGUMENTS [--option value ...]\n\n");
		print_commands(commands);
		gnn_out("\n  gnnrun COMMAND --help shows the command's own options. "
			"These are everybody's:\n");
	} else {
		gnn_out("usage: gnnrun %s%s%s [--option value ...]\n\n", commands[command].name,
			commands[command].args[0] != '\0' ? " " : "", commands[command].args);
		print_wrapped(commands[command].summary, 2);
	}
	for (int g = 0; g < GNN_GROUP_COUNT; g++)
		print_group((enum gnn_option_group)g, command);
	gnn_out("\n-o stands for --out, -h for --help. Sizes take K M G T, powers of 1024.\n"
		"Exit codes: 0 done, 64 usage, 65 bad data, 66 no such input, 69 a needed thing\n"
		"is missing, 70 a bug, 71 the system refused, 73 cannot create output,\n"
		"74 I/O error, 75 stopped with a valid checkpoint, 78 configuration.\n");
}

/* `|` would end a table's cell. */
static void print_cell(const char *text)
{
	for (; *text != '\0'; text++)
		gnn_out(*text == '|' ? "\\|" : "%c", *text);
}

static void print_takers(const struct gnn_command *commands, const struct gnn_option *o)
{
	bool any = false;

	if (o->commands == GNN_COMMANDS_ALL) {
		gnn_out("all");
		return;
	}
	for (int id = 0; id < GNN_CMD_COUNT; id++) {
		if (commands[id].name == NULL || !gnn_option_taken_by(o, (enum gnn_command_id)id))
			continue;
		gnn_out("%s%s", any ? ", " : "", commands[id].name);
		any = true;
	}
}

static void print_markdown_row(const struct gnn_command *commands, const struct gnn_option *o)
{
	char words[160];
	const char *wanted = gnn_setting_wanted(o, words, sizeof(words));
	bool any = false;

	gnn_out("| `%s` | ", o->name);
	print_cell(wanted);
	gnn_out(" | %s | ", o->preset != NULL ? o->preset : "");
	print_takers(commands, o);
	gnn_out(" | ");
	print_cell(o->help);
	for (const struct gnn_choice *h = o->choices; h != NULL && h->name != NULL; h++) {
		if (h->help == NULL)
			continue;
		gnn_out("%s`%s`: %s", any ? "; " : ". ", h->name, h->help);
		any = true;
	}
	gnn_out("%s |\n", (o->flags & GNN_OPTION_NO_FILE) != 0 ? ". Command line only" : "");
}

static const char preamble[] =
	"# Options\n\n"
	"Generated from the option table by `gnnrun --dump-options-md`; a test compares.\n\n"
	"Every option is a flag, `--name value` or `--name=value`, and a key of the file of\n"
	"`--config`, `name: value`. The command line wins over the file, the file over the\n"
	"default; a list given on the command line replaces the file's. Switches are `on` or\n"
	"`off` (`true`, `false`, `yes`, `no`); on the command line `--name` and `--no-name`.\n"
	"Sizes take `K M G T`, powers of 1024. Numbers are decimal, without a leading zero.\n"
	"Relative paths in a file count from the file's folder.\n\n"
	"An unknown flag or a wrong value on the command line ends the program with 64, an\n"
	"unknown or repeated key, a nested map or a wrong value in the file with 78, both with\n"
	"the place. `--print-config` prints every option, its value and where it comes from, in a\n"
	"form that `--config` reads back.\n";

void gnn_help_markdown(const struct gnn_command *commands)
{
	uint32_t count;
	const struct gnn_option *o = gnn_options(&count);

	gnn_out("%s", preamble);
	for (int g = 0; g < GNN_GROUP_COUNT; g++) {
		gnn_out("\n## %s\n\n| option | value | default | commands | meaning |\n"
			"|---|---|---|---|---|\n",
			gnn_option_group_name((enum gnn_option_group)g));
		for (uint32_t i = 0; i < count; i++)
			if ((int)o[i].group == g && (o[i].flags & GNN_OPTION_HIDDEN) == 0)
				print_markdown_row(commands, &o[i]);
	}
}
