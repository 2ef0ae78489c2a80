/* base/config_file.c - see config_file.h. */
#include "base/config_file.h"

#include "base/mem.h"
#include "base/setting.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

enum { FILE_MAX_BYTES = 1 << 20 };

struct file {
	struct gnn_config *c;
	const struct gnn_command *commands;
	yaml_parser_t parser;
	yaml_event_t event; /* the one at hand; type YAML_NO_EVENT: none */
	uint32_t key_line[GNN_OPTIONS_MAX]; /* where each row's key stands; 0: not seen */
};

/* The whole file in one block. */
static int slurp(const char *path, char **data, size_t *bytes)
{
	FILE *f = NULL;
	int rc = GNN_OK;

	*data = NULL;
	f = fopen(path, "re");
	if (f == NULL) {
		rc = gnn_err_sys(GNN_ENOENT, errno, "--config: cannot open %s", path);
		goto out;
	}
	GNN_NEW_ARRAY(*data, FILE_MAX_BYTES + 1, GNN_MEM_MISC);
	*bytes = fread(*data, 1, FILE_MAX_BYTES + 1, f);
	if (ferror(f)) {
		rc = gnn_err_sys(GNN_ENOENT, errno, "--config: cannot read %s", path);
		goto out;
	}
	if (*bytes > FILE_MAX_BYTES)
		GNN_FAIL(GNN_ECONFIG, "%s: more than %d bytes, this is no configuration", path,
			FILE_MAX_BYTES);
out:
	if (f != NULL)
		fclose(f);
	if (rc < 0) {
		gnn_mem_free(*data);
		*data = NULL;
	}
	return rc;
}

/* "file:line: " in front of a text that says what is wrong. */
static int at_line(const struct file *f, size_t line)
{
	return gnn_err_place(GNN_ECONFIG, "%s:%zu", f->c->config_path, line);
}

static size_t line_of(const struct file *f)
{
	return f->event.start_mark.line + 1;
}

static int refuse(const struct file *f, const char *what)
{
	gnn_err(GNN_ECONFIG, "%s", what);
	return at_line(f, line_of(f));
}

static int next_event(struct file *f)
{
	const yaml_parser_t *p = &f->parser;

	if (f->event.type != YAML_NO_EVENT)
		yaml_event_delete(&f->event);
	f->event.type = YAML_NO_EVENT;
	if (yaml_parser_parse(&f->parser, &f->event))
		return GNN_OK;
	if (p->error == YAML_READER_ERROR)
		return gnn_err(GNN_ECONFIG, "%s: byte %zu: %s", f->c->config_path,
			p->problem_offset, p->problem);
	gnn_err(GNN_ECONFIG, "%s", p->problem != NULL ? p->problem : "out of memory");
	return at_line(f, p->problem_mark.line + 1);
}

/* Plain nothing, ~ and null are YAML's ways to say "no value". */
static bool is_null(const yaml_event_t *e)
{
	const char *text = (const char *)e->data.scalar.value;

	return e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
		(text[0] == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
}

static int check_scalar(const struct file *f)
{
	const yaml_event_t *e = &f->event;

	if (e->type == YAML_ALIAS_EVENT)
		return refuse(f, "aliases are not taken: write the value out");
	if (e->type == YAML_MAPPING_START_EVENT)
		return refuse(f, "a nested map; options are flat `name: value` lines");
	if (e->type == YAML_SEQUENCE_START_EVENT)
		return refuse(f, "a list, where one value is wanted");
	if (e->data.scalar.anchor != NULL)
		return refuse(f, "anchors are not taken: write the value out");
	if (e->data.scalar.tag != NULL)
		return refuse(f, "tags are not taken: write the value alone");
	if (strlen((const char *)e->data.scalar.value) != e->data.scalar.length)
		return refuse(f, "a NUL byte in the text");
	return GNN_OK;
}

/* The folder of the file with its slash, for paths that are relative. */
static void folder_of(const char *path, const char *value, char *to, size_t bytes)
{
	const char *slash = strrchr(path, '/');

	to[0] = '\0';
	if (value[0] != '/' && slash != NULL)
		snprintf(to, bytes, "%.*s", (int)(slash + 1 - path), path);
}

/* The scalar at hand into a field of `to`. */
static int read_value(struct file *f, const struct gnn_option *o, bool negated,
	struct gnn_config *to)
{
	char folder[4096] = "";
	const char *text;
	int rc = GNN_OK;

	GNN_TRY(check_scalar(f));
	if (is_null(&f->event)) {
		gnn_err(GNN_ECONFIG, "%s has no value", o->name);
		return at_line(f, line_of(f));
	}
	text = (const char *)f->event.data.scalar.value;
	if (o->type == GNN_OPTION_PATH && text[0] != '\0')
		folder_of(f->c->config_path, text, folder, sizeof(folder));
	GNN_TRY(gnn_config_keep(f->c, folder, text, &text));
	rc = gnn_setting_put(o, to, text);
	if (rc < 0) {
		gnn_err_place(rc, "%s", o->name);
		return at_line(f, line_of(f));
	}
	if (negated)
		*(bool *)((char *)to + o->offset) ^= true;
out:
	return rc;
}

static int read_list(struct file *f, const struct gnn_option *o, struct gnn_config *to)
{
	int rc = GNN_OK;

	GNN_TRY(next_event(f));
	while (f->event.type != YAML_SEQUENCE_END_EVENT) {
		GNN_TRY(read_value(f, o, false, to));
		GNN_TRY(next_event(f));
	}
out:
	return rc;
}

/* The row of the key at hand, seen for the first time. */
static int read_key(struct file *f, const struct gnn_option **o, bool *negated, uint32_t *row)
{
	enum gnn_command_id command = f->c->command;
	uint32_t count;
	const char *name;
	int rc = GNN_OK;

	GNN_TRY(check_scalar(f));
	name = (const char *)f->event.data.scalar.value;
	*o = gnn_option_find(name, strlen(name), command, negated);
	if (*o == NULL) {
		gnn_option_unknown(GNN_ECONFIG, "", name, command, f->commands);
		return at_line(f, line_of(f));
	}
	if (((*o)->flags & GNN_OPTION_NO_FILE) != 0) {
		gnn_err(GNN_ECONFIG, "%s is taken on the command line only", name);
		return at_line(f, line_of(f));
	}
	*row = (uint32_t)(*o - gnn_options(&count));
	if (f->key_line[*row] != 0) {
		gnn_err(GNN_ECONFIG, "%s stands a second time, first in line %u", name,
			f->key_line[*row]);
		return at_line(f, line_of(f));
	}
	f->key_line[*row] = (uint32_t)line_of(f);
out:
	return rc;
}

/* A key and its value, which is checked but not taken where the command line has one. */
static int read_pair(struct file *f)
{
	struct gnn_config unused = {.arg_count = 0}, *to = f->c;
	const struct gnn_option *o = NULL;
	bool negated = false;
	uint32_t row = 0;
	int rc = GNN_OK;

	GNN_TRY(read_key(f, &o, &negated, &row));
	GNN_TRY(next_event(f));
	if (f->c->origin[row].source == GNN_FROM_COMMAND_LINE)
		to = &unused;
	else
		f->c->origin[row] = (struct gnn_origin){GNN_FROM_FILE, f->key_line[row]};
	if (o->type == GNN_OPTION_LIST && f->event.type == YAML_SEQUENCE_START_EVENT)
		GNN_TRY(read_list(f, o, to));
	else
		GNN_TRY(read_value(f, o, negated, to));
out:
	return rc;
}

/* One document, one map; an empty file sets nothing. */
static int read_document(struct file *f)
{
	int rc = GNN_OK;

	GNN_TRY(next_event(f)); /* stream start */
	GNN_TRY(next_event(f));
	if (f->event.type == YAML_STREAM_END_EVENT)
		goto out;
	GNN_TRY(next_event(f));
	if (f->event.type == YAML_MAPPING_START_EVENT) {
		GNN_TRY(next_event(f));
		while (f->event.type != YAML_MAPPING_END_EVENT) {
			GNN_TRY(read_pair(f));
			GNN_TRY(next_event(f));
		}
	} else if (f->event.type != YAML_SCALAR_EVENT || !is_null(&f->event)) {
		return refuse(f, "`name: value` lines are wanted, with a space behind the colon");
	}
	GNN_TRY(next_event(f)); /* document end */
	GNN_TRY(next_event(f));
	if (f->event.type != YAML_STREAM_END_EVENT)
		return refuse(f, "a second document; one is wanted");
out:
	return rc;
}

int gnn_config_file_read(struct gnn_config *c, const struct gnn_command *commands)
{
	struct file f = {.c = c, .commands = commands};
	bool parsing = false;
	char *data = NULL;
	size_t bytes = 0;
	int rc = GNN_OK;

	GNN_TRY(slurp(c->config_path, &data, &bytes));
	if (!yaml_parser_initialize(&f.parser))
		GNN_FAIL(GNN_EOS, "--config: no memory for libyaml");
	parsing = true;
	yaml_parser_set_input_string(&f.parser, (const unsigned char *)data, bytes);
	rc = read_document(&f);
out:
	if (f.event.type != YAML_NO_EVENT)
		yaml_event_delete(&f.event);
	if (parsing)
		yaml_parser_delete(&f.parser);
	gnn_mem_free(data);
	return rc;
}
