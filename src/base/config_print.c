/* base/config_print.c - see config_print.h. */
#include "base/config_print.h"

#include "base/log.h"
#include "base/setting.h"

#include <stdio.h>
#include <unistd.h>

/* A YAML scalar in double quotes. */
static void print_quoted(const char *text)
{
	gnn_out("\"");
	for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
		if (*p == '"' || *p == '\\')
			gnn_out("\\%c", *p);
		else if (*p < 0x20 || *p == 0x7f)
			gnn_out("\\x%02x", *p);
		else
			gnn_out("%c", *p);
	}
	gnn_out("\"");
}

/* Absolute, since relative ones would count from wherever the print-out is put. */
static void print_path(const char *path)
{
	char full[8192], here[4096];

	if (path[0] == '/' || getcwd(here, sizeof(here)) == NULL ||
		snprintf(full, sizeof(full), "%s/%s", here, path) >= (int)sizeof(full))
		print_quoted(path);
	else
		print_quoted(full);
}

static void print_list(const struct gnn_text_list *list)
{
	gnn_out("[");
	for (uint32_t i = 0; i < list->count; i++) {
		gnn_out("%s", i > 0 ? ", " : "");
		print_quoted(list->item[i]);
	}
	gnn_out("]");
}

static void print_row(const struct gnn_config *c, const struct gnn_option *o,
	const struct gnn_origin *origin)
{
	char number[64];
	const char *text = "";

	if (o->type != GNN_OPTION_LIST)
		text = gnn_setting_text(o, c, number, sizeof(number));
	gnn_out("%s%s: ", text == NULL ? "# " : "", o->name);
	if (text == NULL)
		gnn_out("not given");
	else if (o->type == GNN_OPTION_LIST)
		print_list((const void *)((const char *)c + o->offset));
	else if (o->type == GNN_OPTION_PATH)
		print_path(text);
	else if (o->type == GNN_OPTION_TEXT)
		print_quoted(text);
	else
		gnn_out("%s", text);
	if (origin->source == GNN_FROM_FILE)
		gnn_out("  # file, line %u\n", origin->line);
	else
		gnn_out("  # %s\n",
			origin->source == GNN_FROM_DEFAULT ? "default" : "command line");
}

void gnn_config_print(const struct gnn_config *c, const struct gnn_command *commands)
{
	uint32_t count;
	const struct gnn_option *o = gnn_options(&count);

	gnn_out("# gnnrun %s, version " GNN_VERSION, commands[c->command].name);
	if (c->config_path != NULL) {
		gnn_out("; file ");
		print_quoted(c->config_path);
	}
	gnn_out("\n");
	for (uint32_t i = 0; i < count; i++)
		if (gnn_option_taken_by(&o[i], c->command) &&
			(o[i].flags & (GNN_OPTION_HIDDEN | GNN_OPTION_NO_FILE)) == 0)
			print_row(c, &o[i], &c->origin[i]);
}
