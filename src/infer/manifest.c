/* infer/manifest.c - see manifest.h. */
#include "infer/manifest.h"

#include "base/json.h"
#include "base/mem.h"
#include "io/file.h"

#include <cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define MANIFEST_NAME "manifest.json"

enum { VERSION = 1, PATH_BYTES = 4096, SUM_DIGITS = 16, LIMIT_BYTES = 1 << 30 };

/* --- building --- */

struct gnn_manifest_file *gnn_manifest_add(struct gnn_manifest *m, const char *label,
	uint64_t sums)
{
	struct gnn_manifest_file *f;
	void *block = m->file;

	GNN_ASSERT(m->file_count < GNN_MANIFEST_FILES_MAX);
	if (gnn_mem_resize(&block, m->file_count + 1, sizeof(*m->file), GNN_MEM_MISC) < 0)
		return NULL;
	m->file = block;
	f = &m->file[m->file_count];
	*f = (struct gnn_manifest_file){.sum_count = sums};
	if (gnn_mem_new(&block, sums, sizeof(*f->sums), GNN_MEM_MISC) < 0)
		return NULL;
	f->sums = block;
	snprintf(f->label, sizeof(f->label), "%s", label);
	m->file_count++;
	return f;
}

const struct gnn_manifest_file *gnn_manifest_find(const struct gnn_manifest *m, const char *label)
{
	for (uint32_t i = 0; i < m->file_count; i++)
		if (strcmp(m->file[i].label, label) == 0)
			return &m->file[i];
	return NULL;
}

void gnn_manifest_fact(struct gnn_manifest *m, const char *name, const char *value)
{
	struct gnn_fact *f = &m->fact[m->fact_count++];

	GNN_ASSERT(m->fact_count <= GNN_MANIFEST_FACTS_MAX);
	snprintf(f->name, sizeof(f->name), "%s", name);
	snprintf(f->value, sizeof(f->value), "%s", value);
}

void gnn_manifest_fini(struct gnn_manifest *m)
{
	for (uint32_t i = 0; i < m->file_count; i++)
		gnn_mem_free(m->file[i].sums);
	gnn_mem_free(m->file);
	*m = (struct gnn_manifest){0};
}

/* --- writing --- */

static int put_file(struct gnn_json *j, const struct gnn_manifest_file *f)
{
	char *text = NULL;
	int rc;

	GNN_NEW_ARRAY(text, f->sum_count * SUM_DIGITS + 1, GNN_MEM_MISC);
	for (uint64_t i = 0; i < f->sum_count; i++)
		snprintf(text + i * SUM_DIGITS, SUM_DIGITS + 1, "%016" PRIx64, f->sums[i]);
	gnn_json_open_object(j, NULL);
	gnn_json_text(j, "label", f->label);
	gnn_json_u64(j, "first_row", f->first_row);
	gnn_json_u64(j, "rows", f->rows);
	gnn_json_u64(j, "row_bytes", f->row_bytes);
	gnn_json_u64(j, "sealed_rows", f->sealed_rows);
	gnn_json_u64(j, "sealed_bytes", f->sealed_bytes);
	gnn_json_text(j, "sums", text);
	gnn_json_shut(j);
out:
	gnn_mem_free(text);
	return rc;
}

static void put_position(struct gnn_json *j, const struct gnn_position *p)
{
	gnn_json_open_object(j, "position");
	gnn_json_u64(j, "layer", p->layer);
	gnn_json_u64(j, "pass", p->pass);
	gnn_json_u64(j, "step", p->step);
	gnn_json_u64(j, "row", p->row);
	gnn_json_u64(j, "states", p->states);
	gnn_json_shut(j);
}

static void put_layers(struct gnn_json *j, const struct gnn_manifest *m)
{
	gnn_json_open_array(j, "layers");
	for (uint32_t l = 0; l < m->layer_count; l++) {
		gnn_json_open_object(j, NULL);
		gnn_json_u64(j, "shards", m->shards[l]);
		gnn_json_u64(j, "messages", m->messages[l]);
		gnn_json_shut(j);
	}
	gnn_json_shut(j);
}

static int to_line(const struct gnn_manifest *m, char **text)
{
	struct gnn_json *j = NULL;
	int rc;

	GNN_TRY(gnn_json_create(&j));
	gnn_json_text(j, "format", "gnnrun-manifest");
	gnn_json_u64(j, "version", VERSION);
	gnn_json_open_object(j, "facts");
	for (uint32_t i = 0; i < m->fact_count; i++)
		gnn_json_text(j, m->fact[i].name, m->fact[i].value);
	gnn_json_shut(j);
	gnn_json_u64(j, "plan", m->plan);
	gnn_json_u64(j, "level", m->level);
	gnn_json_u64(j, "chunk_bytes", m->chunk_bytes);
	put_layers(j, m);
	put_position(j, &m->position);
	gnn_json_open_array(j, "files");
	for (uint32_t i = 0; i < m->file_count; i++)
		GNN_TRY(put_file(j, &m->file[i]));
	gnn_json_shut(j);
	rc = gnn_json_line(j, text);
out:
	gnn_json_destroy(j);
	return rc;
}

int gnn_manifest_write(const struct gnn_manifest *m, const char *folder)
{
	char path[PATH_BYTES], sum[SUM_DIGITS + 3];
	struct gnn_pub *pub = NULL;
	char *text = NULL;
	uint64_t bytes;
	int rc;

	snprintf(path, sizeof(path), "%s/" MANIFEST_NAME, folder);
	GNN_TRY(to_line(m, &text));
	bytes = strlen(text);
	if (bytes > 0 && text[bytes - 1] == '\n')
		bytes--;
	snprintf(sum, sizeof(sum), "\n%016" PRIx64 "\n", (uint64_t)XXH3_64bits(text, bytes));
	GNN_TRY(gnn_pub_begin(&pub, path));
	GNN_TRY(gnn_pub_write(pub, text, bytes));
	GNN_TRY(gnn_pub_write(pub, sum, strlen(sum)));
	GNN_TRY(gnn_pub_commit(&pub));
out:
	gnn_pub_abort(pub);
	gnn_mem_free(text);
	return rc;
}

/* --- reading --- */

static uint64_t number(const cJSON *object, const char *key)
{
	const cJSON *n = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(n) && n->valuedouble >= 0.0 ? (uint64_t)n->valuedouble : 0;
}

static const char *text_of(const cJSON *object, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

	return text != NULL ? text : "";
}

static int take_file(struct gnn_manifest *m, const cJSON *o)
{
	const char *sums = text_of(o, "sums");
	uint64_t count = strlen(sums) / SUM_DIGITS;
	struct gnn_manifest_file *f = gnn_manifest_add(m, text_of(o, "label"), count);
	char digits[SUM_DIGITS + 1] = "";

	if (f == NULL)
		return GNN_EOS;
	f->first_row = number(o, "first_row");
	f->rows = number(o, "rows");
	f->row_bytes = number(o, "row_bytes");
	f->sealed_rows = number(o, "sealed_rows");
	f->sealed_bytes = number(o, "sealed_bytes");
	for (uint64_t i = 0; i < count; i++) {
		memcpy(digits, sums + i * SUM_DIGITS, SUM_DIGITS);
		f->sums[i] = strtoull(digits, NULL, 16);
	}
	return GNN_OK;
}

static void take_position(struct gnn_position *p, const cJSON *o)
{
	*p = (struct gnn_position){.layer = (uint32_t)number(o, "layer"),
		.pass = (uint32_t)number(o, "pass"), .step = (enum gnn_step)number(o, "step"),
		.row = number(o, "row"), .states = number(o, "states") != 0};
}

static int take(struct gnn_manifest *m, const cJSON *root)
{
	const cJSON *item;
	int rc = GNN_OK;

	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, "facts"))
		if (cJSON_IsString(item) && m->fact_count < GNN_MANIFEST_FACTS_MAX)
			gnn_manifest_fact(m, item->string, item->valuestring);
	m->plan = (enum gnn_plan_kind)number(root, "plan");
	m->level = (uint32_t)number(root, "level");
	m->chunk_bytes = number(root, "chunk_bytes");
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, "layers")) {
		if (m->layer_count == GNN_LAYERS_MAX)
			break;
		m->shards[m->layer_count] = (uint32_t)number(item, "shards");
		m->messages[m->layer_count++] = number(item, "messages");
	}
	take_position(&m->position, cJSON_GetObjectItemCaseSensitive(root, "position"));
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, "files"))
		if (m->file_count < GNN_MANIFEST_FILES_MAX)
			GNN_TRY(take_file(m, item));
out:
	return rc;
}

/* The first line's end, when the second line is its sum. */
static const char *sound_line(const char *text, uint64_t bytes)
{
	const char *end = memchr(text, '\n', bytes);

	if (end == NULL || (uint64_t)(text + bytes - end) != SUM_DIGITS + 2)
		return NULL;
	return strtoull(end + 1, NULL, 16) == XXH3_64bits(text, (size_t)(end - text)) ? end : NULL;
}

int gnn_manifest_read(struct gnn_manifest *m, const char *folder)
{
	char path[PATH_BYTES];
	cJSON *root = NULL;
	const char *end;
	char *text = NULL;
	uint64_t bytes;
	int rc;

	*m = (struct gnn_manifest){0};
	snprintf(path, sizeof(path), "%s/" MANIFEST_NAME, folder);
	if (!gnn_file_exists(path))
		return GNN_SKIPPED;
	gnn_json_use_budget();
	GNN_TRY(gnn_file_slurp(path, LIMIT_BYTES, &text, &bytes));
	end = sound_line(text, bytes);
	gnn_err_clear();
	if (end != NULL)
		root = cJSON_ParseWithLength(text, (size_t)(end - text));
	if (root == NULL && gnn_err_text()[0] != '\0') { /* its memory was refused */
		rc = GNN_EOS;
		goto out;
	}
	if (root == NULL || number(root, "version") != VERSION)
		GNN_FAIL(GNN_EDATA, "%s: damaged, or of another version; without --resume the run "
			"begins anew", path);
	GNN_TRY(take(m, root));
out:
	cJSON_Delete(root);
	gnn_mem_free(text);
	if (rc < 0)
		gnn_manifest_fini(m);
	return rc;
}
