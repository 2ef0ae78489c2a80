/* base/json.c - see json.h. */
#include "base/json.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"

#include <cJSON.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 8 };

struct gnn_json {
	cJSON *open[DEPTH_MAX]; /* open[0] is the object itself */
	int depth;              /* of the innermost */
	bool failed;            /* the error text says why */
};

static void *allocate(size_t bytes)
{
	void *block;

	return gnn_mem_new(&block, bytes, 1, GNN_MEM_MISC) < 0 ? NULL : block;
}

static void set_hooks(void)
{
	cJSON_Hooks hooks = {allocate, gnn_mem_free};

	cJSON_InitHooks(&hooks);
}

void gnn_json_use_budget(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, set_hooks);
}

static int no_memory(void)
{
	return gnn_err(GNN_EOS, "host memory: refused for a JSON object");
}

int gnn_json_create(struct gnn_json **out)
{
	struct gnn_json *j = NULL;
	int rc = GNN_OK;

	*out = NULL;
	gnn_json_use_budget();
	GNN_NEW(j, GNN_MEM_MISC);
	j->open[0] = cJSON_CreateObject();
	if (j->open[0] == NULL) {
		rc = no_memory();
		goto out;
	}
	*out = j;
	j = NULL;
out:
	gnn_mem_free(j);
	return rc;
}

void gnn_json_destroy(struct gnn_json *j)
{
	if (j == NULL)
		return;
	cJSON_Delete(j->open[0]);
	gnn_mem_free(j);
}

/* Takes the item. */
static void add(struct gnn_json *j, const char *key, cJSON *item)
{
	cJSON *parent = j->open[j->depth];

	if (j->failed) {
		cJSON_Delete(item);
		return;
	}
	GNN_ASSERT((key == NULL) == (cJSON_IsArray(parent) != 0));
	if (item != NULL && (key != NULL ? cJSON_AddItemToObject(parent, key, item)
					 : cJSON_AddItemToArray(parent, item)))
		return;
	cJSON_Delete(item);
	j->failed = true;
}

/* cJSON holds numbers as doubles; a raw item keeps every digit. */
void gnn_json_u64(struct gnn_json *j, const char *key, uint64_t value)
{
	char digits[GNN_UNITS_BYTES];

	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
	add(j, key, cJSON_CreateRaw(digits));
}

void gnn_json_real(struct gnn_json *j, const char *key, double value)
{
	char digits[GNN_UNITS_BYTES];

	add(j, key, isfinite(value) ? cJSON_CreateRaw(gnn_units_real(digits, value))
				    : cJSON_CreateNull());
}

void gnn_json_bool(struct gnn_json *j, const char *key, bool value)
{
	add(j, key, cJSON_CreateBool(value));
}

/* Bytes of the UTF-8 sequence at s, 0 when it is none: overlong, surrogate, over U+10FFFF, cut. */
static size_t utf8_bytes(const unsigned char *s)
{
	size_t len = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3
		: s[0] < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
		(s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

/* Every bad byte becomes three. */
static void repair(const char *from, char *to)
{
	const unsigned char *s = (const unsigned char *)from;

	while (*s != '\0') {
		size_t len = utf8_bytes(s);

		memcpy(to, len > 0 ? (const char *)s : "\xef\xbf\xbd", len > 0 ? len : 3);
		to += len > 0 ? len : 3;
		s += len > 0 ? len : 1;
	}
	*to = '\0';
}

void gnn_json_text(struct gnn_json *j, const char *key, const char *value)
{
	char *clean;

	if (value == NULL) {
		add(j, key, cJSON_CreateNull());
		return;
	}
	clean = allocate(3 * strlen(value) + 1);
	if (clean == NULL) {
		j->failed = true;
		return;
	}
	repair(value, clean);
	add(j, key, cJSON_CreateString(clean));
	gnn_mem_free(clean);
}

/* The depth grows even if the item could not be added: shut stays in step. */
static void descend(struct gnn_json *j, const char *key, cJSON *item)
{
	GNN_ASSERT(j->depth + 1 < DEPTH_MAX);
	add(j, key, item);
	j->depth++;
	j->open[j->depth] = j->failed ? NULL : item;
}

void gnn_json_open_object(struct gnn_json *j, const char *key)
{
	descend(j, key, cJSON_CreateObject());
}

void gnn_json_open_array(struct gnn_json *j, const char *key)
{
	descend(j, key, cJSON_CreateArray());
}

void gnn_json_shut(struct gnn_json *j)
{
	GNN_ASSERT(j->depth > 0);
	j->depth--;
}

int gnn_json_line(struct gnn_json *j, char **text)
{
	*text = NULL;
	GNN_ASSERT(j->depth == 0);
	if (!j->failed)
		*text = cJSON_PrintUnformatted(j->open[0]);
	return *text != NULL ? GNN_OK : no_memory();
}

int gnn_json_print(struct gnn_json *j)
{
	char *text;
	int rc = gnn_json_line(j, &text);

	if (rc < 0)
		return rc;
	gnn_out("%s\n", text);
	gnn_mem_free(text);
	return GNN_OK;
}
