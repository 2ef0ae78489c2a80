/* base/setting.c - see setting.h. */
#include "base/setting.h"

#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

const char *gnn_setting_wanted(const struct gnn_option *o, char *to, size_t bytes)
{
	size_t len = 0;

	if (o->type == GNN_OPTION_FLAG)
		return "on|off";
	if (o->choices == NULL)
		return o->wanted;
	to[0] = '\0';
	for (const struct gnn_choice *h = o->choices; h->name != NULL && len < bytes; h++)
		len += (size_t)snprintf(to + len, bytes - len, "%s%s", len > 0 ? "|" : "",
			h->name);
	return to;
}

/* -1: none of the words that YAML and people use. */
static int parse_switch(const char *text)
{
	static const char *const words[] = {"off", "on", "false", "true", "no", "yes"};

	for (int i = 0; i < (int)GNN_COUNT_OF(words); i++)
		if (strcasecmp(text, words[i]) == 0)
			return i & 1;
	return -1;
}

static int set_choice(const struct gnn_option *o, const char *text, void *field)
{
	int on = parse_switch(text);
	char words[160];

	for (const struct gnn_choice *h = o->choices; h->name != NULL; h++) {
		if (strcmp(h->name, text) != 0 && (on < 0 || parse_switch(h->name) != on))
			continue;
		if (o->type == GNN_OPTION_WORD)
			*(const char **)field = h->name;
		else
			*(int *)field = h->value;
		return GNN_OK;
	}
	return gnn_err(GNN_EUSAGE, "wants %s, found '%s'",
		gnn_setting_wanted(o, words, sizeof(words)), text);
}

static bool in_range(const struct gnn_option *o, double value)
{
	return value >= o->min && (o->max == 0.0 || value <= o->max);
}

static bool parse_number(const struct gnn_option *o, const char *text, void *field)
{
	uint64_t n = 0;
	double x = NAN;
	bool zero = o->zero_word != NULL && strcmp(text, o->zero_word) == 0;

	if (o->type == GNN_OPTION_REAL) {
		if (!zero && (!gnn_units_parse_real(text, &x) || !in_range(o, x)))
			return false;
		*(double *)field = x;
		return true;
	}
	if (!zero && !(o->type == GNN_OPTION_SIZE ? gnn_units_parse_size(text, &n)
						  : gnn_units_parse_count(text, &n)))
		return false;
	*(uint64_t *)field = n;
	return in_range(o, (double)n);
}

static int refuse_number(const struct gnn_option *o, const char *text)
{
	static const char *const kinds[] = {
		[GNN_OPTION_COUNT] = "a whole number in decimal digits",
		[GNN_OPTION_SIZE] = "a size such as 4096, 512K, 8M, 1.5G",
		[GNN_OPTION_REAL] = "a decimal number",
	};
	char low[GNN_UNITS_BYTES], high[GNN_UNITS_BYTES], limits[96] = "";

	if (o->max != 0.0)
		snprintf(limits, sizeof(limits), " from %s to %s", gnn_units_real(low, o->min),
			gnn_units_real(high, o->max));
	else if (o->min != 0.0 || o->type == GNN_OPTION_REAL)
		snprintf(limits, sizeof(limits), " from %s", gnn_units_real(low, o->min));
	return gnn_err(GNN_EUSAGE, "wants %s%s%s%s, found '%s'", kinds[o->type], limits,
		o->zero_word != NULL ? " or " : "", o->zero_word != NULL ? o->zero_word : "", text);
}

static int set_switch(bool *field, const char *text)
{
	int on = parse_switch(text);

	if (on < 0)
		return gnn_err(GNN_EUSAGE, "wants on or off, found '%s'", text);
	*field = on != 0;
	return GNN_OK;
}

static int set_text(const char **field, const char *text)
{
	if (text[0] == '\0')
		return gnn_err(GNN_EUSAGE, "is empty");
	*field = text;
	return GNN_OK;
}

static int add_text(struct gnn_text_list *list, const char *text)
{
	if (list->count == GNN_LIST_MAX)
		return gnn_err(GNN_EUSAGE, "is given more than %d times", GNN_LIST_MAX);
	return set_text(&list->item[list->count++], text);
}

int gnn_setting_put(const struct gnn_option *o, struct gnn_config *c, const char *text)
{
	void *field = (char *)c + o->offset;

	switch (o->type) {
	case GNN_OPTION_FLAG:
		return set_switch(field, text);
	case GNN_OPTION_COUNT:
	case GNN_OPTION_SIZE:
	case GNN_OPTION_REAL:
		return parse_number(o, text, field) ? GNN_OK : refuse_number(o, text);
	case GNN_OPTION_TEXT:
	case GNN_OPTION_PATH:
		return set_text(field, text);
	case GNN_OPTION_LIST:
		return add_text(field, text);
	case GNN_OPTION_CHOICE:
	case GNN_OPTION_WORD:
		return set_choice(o, text, field);
	}
	return gnn_err(GNN_EBUG, "option %s has no type", o->name);
}

const char *gnn_setting_text(const struct gnn_option *o, const struct gnn_config *c, char *to,
	size_t bytes)
{
	const void *field = (const char *)c + o->offset;
	const struct gnn_choice *h = o->choices;
	char number[GNN_UNITS_BYTES];
	const char *text = NULL;

	GNN_ASSERT(o->type != GNN_OPTION_LIST);
	if (o->type == GNN_OPTION_TEXT || o->type == GNN_OPTION_PATH ||
		o->type == GNN_OPTION_WORD)
		return *(const char *const *)field;
	if (o->type == GNN_OPTION_FLAG)
		return *(const bool *)field ? "on" : "off";
	if (o->type == GNN_OPTION_CHOICE) {
		while (h->name != NULL && h->value != *(const int *)field)
			h++;
		return h->name;
	}
	if (o->type == GNN_OPTION_REAL) {
		double x = *(const double *)field;

		text = isnan(x) ? o->zero_word : gnn_units_real(number, x);
	} else {
		uint64_t n = *(const uint64_t *)field;

		if (n == 0 && o->zero_word != NULL)
			text = o->zero_word;
		else if (o->type == GNN_OPTION_SIZE)
			text = gnn_units_size(number, n);
		else
			snprintf(number, sizeof(number), "%llu", (unsigned long long)n);
	}
	snprintf(to, bytes, "%s", text != NULL ? text : number);
	return to;
}
