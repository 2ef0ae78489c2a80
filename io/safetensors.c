/* io/safetensors.c - see safetensors.h. */
#include "io/safetensors.h"

#include "base/json.h"
#include "base/mem.h"
#include "io/file.h"

#include <cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 8, DATA_ALIGN = 8 };

struct gnn_safetensors {
	struct gnn_file          *file;
	cJSON                    *header;   /* owns all names and texts */
	const cJSON              *metadata; /* its next text, for metadata() */
	struct gnn_tensor        *tensor;   /* by offset */
	const struct gnn_tensor **by_name;
	uint32_t                  count;
};

/* Every element type of the format; weights can be read where `widen` says how. */
enum widen { NOT_A_WEIGHT, FROM_F32, FROM_F16, FROM_BF16, FROM_F64 };

static const struct {
	const char *name;
	uint32_t bytes;
	enum widen widen;
} types[] = {
	{"F32", 4, FROM_F32},      {"F16", 2, FROM_F16},      {"BF16", 2, FROM_BF16},
	{"F64", 8, FROM_F64},      {"I64", 8, NOT_A_WEIGHT},  {"U64", 8, NOT_A_WEIGHT},
	{"I32", 4, NOT_A_WEIGHT},  {"U32", 4, NOT_A_WEIGHT},  {"I16", 2, NOT_A_WEIGHT},
	{"U16", 2, NOT_A_WEIGHT},  {"I8", 1, NOT_A_WEIGHT},   {"U8", 1, NOT_A_WEIGHT},
	{"BOOL", 1, NOT_A_WEIGHT}, {"F8_E5M2", 1, NOT_A_WEIGHT}, {"F8_E4M3", 1, NOT_A_WEIGHT},
};

static uint32_t type_of(const char *name)
{
	uint32_t t = 0;

	while (t < GNN_COUNT_OF(types) && strcmp(types[t].name, name) != 0)
		t++;
	return t;
}

/* --- reading --- */

/* A whole number of at most 2^53, which a double holds exactly. */
static bool read_whole(const cJSON *number, uint64_t *out)
{
	double v;

	if (!cJSON_IsNumber(number))
		return false;
	v = number->valuedouble;
	if (!(v >= 0 && v <= 0x1p53) || floor(v) != v)
		return false;
	*out = (uint64_t)v;
	return true;
}

static bool is_printable(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

static int parse_shape(struct gnn_tensor *t, const cJSON *shape)
{
	const cJSON *dim;

	if (!cJSON_IsArray(shape))
		return gnn_err(GNN_EDATA, "tensor %s: shape is not a list", t->name);
	t->count = 1;
	cJSON_ArrayForEach(dim, shape) {
		if (t->rank == GNN_TENSOR_RANK_MAX)
			return gnn_err(GNN_EDATA, "tensor %s: more than %d dimensions", t->name,
				GNN_TENSOR_RANK_MAX);
		if (!read_whole(dim, &t->shape[t->rank]))
			return gnn_err(GNN_EDATA, "tensor %s: dimension %u is not a whole number",
				t->name, t->rank);
		if (__builtin_mul_overflow(t->count, t->shape[t->rank], &t->count))
			return gnn_err(GNN_EDATA, "tensor %s: more than 2^64 items", t->name);
		t->rank++;
	}
	return GNN_OK;
}

/* The range of the tensor's bytes, which must be what shape and type take. */
static int parse_offsets(struct gnn_tensor *t, const cJSON *pair, uint32_t item_bytes)
{
	uint64_t begin, end;

	if (!cJSON_IsArray(pair) || cJSON_GetArraySize(pair) != 2 ||
		!read_whole(pair->child, &begin) || !read_whole(pair->child->next, &end) ||
		begin > end)
		return gnn_err(GNN_EDATA, "tensor %s: data_offsets is no range of bytes", t->name);
	if (__builtin_mul_overflow(t->count, item_bytes, &t->bytes) || end - begin != t->bytes)
		return gnn_err(GNN_EDATA,
			"tensor %s: data_offsets hold %llu bytes, its shape takes %llu items of %u",
			t->name, (unsigned long long)(end - begin), (unsigned long long)t->count,
			item_bytes);
	t->offset = begin;
	return GNN_OK;
}

static int parse_tensor(struct gnn_tensor *t, const cJSON *entry)
{
	const cJSON *dtype = cJSON_GetObjectItemCaseSensitive(entry, "dtype");
	uint32_t type;
	int rc;

	t->name = entry->string;
	if (!is_printable(t->name))
		return gnn_err(GNN_EDATA, "a tensor's name holds control characters");
	if (!cJSON_IsObject(entry) || cJSON_GetArraySize(entry) != 3 || !cJSON_IsString(dtype))
		return gnn_err(GNN_EDATA, "tensor %s: wanted dtype, shape and data_offsets",
			t->name);
	type = type_of(dtype->valuestring);
	if (type == GNN_COUNT_OF(types))
		return gnn_err(GNN_EDATA,
			"tensor %s: dtype %.16s is unknown, weights are F32, F16, BF16 or F64",
			t->name, dtype->valuestring);
	t->dtype = types[type].name;
	rc = parse_shape(t, cJSON_GetObjectItemCaseSensitive(entry, "shape"));
	if (rc < 0)
		return rc;
	return parse_offsets(t, cJSON_GetObjectItemCaseSensitive(entry, "data_offsets"),
		types[type].bytes);
}

static int parse_metadata(struct gnn_safetensors *s, const cJSON *object)
{
	const cJSON *text;

	if (s->metadata != NULL || !cJSON_IsObject(object))
		return gnn_err(GNN_EDATA, "__metadata__ is given twice or is not an object");
	cJSON_ArrayForEach(text, object) {
		if (!cJSON_IsString(text))
			return gnn_err(GNN_EDATA, "__metadata__: a value is not a text");
		if (!is_printable(text->string))
			return gnn_err(GNN_EDATA, "__metadata__: a key holds control characters");
	}
	s->metadata = object;
	return GNN_OK;
}

/* How many bytes the header takes, by the first 8 of the file. */
static int read_length(struct gnn_safetensors *s, uint64_t *length)
{
	uint64_t file_bytes = gnn_file_bytes(s->file);
	const char *path = gnn_file_path(s->file);
	unsigned char raw[LENGTH_BYTES];
	int rc;

	*length = 0;
	if (file_bytes < LENGTH_BYTES)
		GNN_FAIL(GNN_EDATA, "%s: %llu bytes are too few for a safetensors file", path,
			(unsigned long long)file_bytes);
	GNN_TRY(gnn_file_pread(s->file, raw, sizeof(raw), 0));
	for (int i = LENGTH_BYTES - 1; i >= 0; i--)
		*length = *length << 8 | raw[i];
	if (*length > GNN_SAFETENSORS_HEADER_MAX)
		GNN_FAIL(GNN_EDATA, "%s: not safetensors: its header would take %llu bytes, at "
			"most %d may be", path, (unsigned long long)*length,
			GNN_SAFETENSORS_HEADER_MAX);
	if (*length > file_bytes - LENGTH_BYTES)
		GNN_FAIL(GNN_EDATA, "%s: cut short: a header of %llu bytes, the file has %llu",
			path, (unsigned long long)*length, (unsigned long long)file_bytes);
out:
	return rc;
}

/* Parses the header as JSON; *data is where the data begins. */
static int load_header(struct gnn_safetensors *s, uint64_t *data)
{
	const char *end = NULL;
	char *text = NULL;
	uint64_t length;
	int rc;

	GNN_TRY(read_length(s, &length));
	GNN_NEW_ARRAY(text, length + 1, GNN_MEM_MODEL);
	GNN_TRY(gnn_file_pread(s->file, text, length, LENGTH_BYTES));
	gnn_err_clear();
	if (text[0] == '{')
		s->header = cJSON_ParseWithLengthOpts(text, length + 1, &end, true);
	if (s->header == NULL && gnn_err_text()[0] != '\0') { /* an allocation failed */
		rc = GNN_EOS;
		goto out;
	}
	if (s->header == NULL)
		GNN_FAIL(GNN_EDATA, "%s: the header is not JSON: stopped at byte %lld of %llu",
			gnn_file_path(s->file), end != NULL ? (long long)(end - text) : 0LL,
			(unsigned long long)length);
	*data = LENGTH_BYTES + length;
out:
	gnn_mem_free(text);
	return rc;
}

static int compare_offsets(const void *a, const void *b)
{
	const struct gnn_tensor *s = a, *t = b;

	if (s->offset != t->offset)
		return s->offset < t->offset ? -1 : 1;
	return (s->bytes > t->bytes) - (s->bytes < t->bytes);
}

static int compare_names(const void *a, const void *b)
{
	const struct gnn_tensor *const *s = a, *const *t = b;

	return strcmp((*s)->name, (*t)->name);
}

/* The tensors, in order, must cover the data without gap or overlap. */
static int place_tensors(struct gnn_safetensors *s, uint64_t data)
{
	uint64_t at = 0, have = gnn_file_bytes(s->file) - data;

	qsort(s->tensor, s->count, sizeof(*s->tensor), compare_offsets);
	for (uint32_t i = 0; i < s->count; i++) {
		struct gnn_tensor *t = &s->tensor[i];

		if (t->offset != at)
			return gnn_err(GNN_EDATA,
				"tensor %s: begins at byte %llu of the data, %s byte %llu", t->name,
				(unsigned long long)t->offset,
				t->offset < at ? "inside another tensor that ends at"
					       : "leaving a gap from",
				(unsigned long long)at);
		at += t->bytes;
		if (at > have)
			return gnn_err(GNN_EDATA,
				"cut short: tensor %s ends at byte %llu of data, %llu are there",
				t->name, (unsigned long long)at, (unsigned long long)have);
		t->offset += data;
	}
	if (at != have)
		return gnn_err(GNN_EDATA, "%llu bytes behind the last tensor belong to none",
			(unsigned long long)(have - at));
	return GNN_OK;
}

static int index_names(struct gnn_safetensors *s)
{
	int rc;

	GNN_NEW_ARRAY(s->by_name, s->count, GNN_MEM_MODEL);
	for (uint32_t i = 0; i < s->count; i++)
		s->by_name[i] = &s->tensor[i];
	qsort(s->by_name, s->count, sizeof(*s->by_name), compare_names);
	for (uint32_t i = 1; i < s->count; i++)
		if (strcmp(s->by_name[i - 1]->name, s->by_name[i]->name) == 0)
			GNN_FAIL(GNN_EDATA, "tensor %s is listed twice", s->by_name[i]->name);
out:
	return rc;
}

static int parse_header(struct gnn_safetensors *s, uint64_t data)
{
	const cJSON *entry;
	int rc;

	GNN_NEW_ARRAY(s->tensor, cJSON_GetArraySize(s->header), GNN_MEM_MODEL);
	cJSON_ArrayForEach(entry, s->header) {
		if (strcmp(entry->string, "__metadata__") == 0)
			GNN_TRY(parse_metadata(s, entry));
		else
			GNN_TRY(parse_tensor(&s->tensor[s->count++], entry));
	}
	GNN_TRY(place_tensors(s, data));
	GNN_TRY(index_names(s));
out:
	return rc;
}

int gnn_safetensors_open(struct gnn_safetensors **out, const char *path)
{
	struct gnn_safetensors *s = NULL;
	uint64_t data = 0;
	int rc;

	*out = NULL;
	gnn_json_use_budget();
	GNN_NEW(s, GNN_MEM_MODEL);
	GNN_TRY(gnn_file_open(&s->file, path));
	GNN_TRY(load_header(s, &data));
	rc = parse_header(s, data);
	if (rc < 0) {
		gnn_err_place(rc, "%s", path);
		goto out;
	}
	*out = s;
	s = NULL;
out:
	gnn_safetensors_close(s);
	return rc;
}

uint32_t gnn_safetensors_count(const struct gnn_safetensors *s)
{
	return s->count;
}

const struct gnn_tensor *gnn_safetensors_at(const struct gnn_safetensors *s, uint32_t i)
{
	GNN_ASSERT(i < s->count);
	return &s->tensor[i];
}

const struct gnn_tensor *gnn_safetensors_find(const struct gnn_safetensors *s, const char *name)
{
	const struct gnn_tensor key = {.name = name}, *key_at = &key;
	const struct gnn_tensor **found = bsearch(&key_at, s->by_name, s->count,
		sizeof(*s->by_name), compare_names);

	return found != NULL ? *found : NULL;
}

bool gnn_safetensors_metadata(const struct gnn_safetensors *s, uint32_t i,
	struct gnn_tensor_text *out)
{
	const cJSON *text = s->metadata != NULL ? s->metadata->child : NULL;

	while (text != NULL && i-- > 0)
		text = text->next;
	if (text == NULL)
		return false;
	*out = (struct gnn_tensor_text){text->string, text->valuestring};
	return true;
}

/* Item i of data that need not be aligned to its items. */
static float widen_item(const unsigned char *from, enum widen widen, uint64_t i)
{
	uint32_t bits;
	_Float16 half;
	uint16_t brain;
	double wide;
	float value;

	switch (widen) {
	case FROM_F16:
		memcpy(&half, from + i * sizeof(half), sizeof(half));
		return (float)half;
	case FROM_BF16:
		memcpy(&brain, from + i * sizeof(brain), sizeof(brain));
		bits = (uint32_t)brain << 16;
		memcpy(&value, &bits, sizeof(value));
		return value;
	default:
		memcpy(&wide, from + i * sizeof(wide), sizeof(wide));
		return (float)wide;
	}
}

int gnn_safetensors_read_f32(struct gnn_safetensors *s, const struct gnn_tensor *t, float *to)
{
	enum widen widen = types[type_of(t->dtype)].widen;
	unsigned char *raw = NULL;
	int rc;

	if (widen == NOT_A_WEIGHT)
		GNN_FAIL(GNN_EDATA, "%s: tensor %s is %s, weights are F32, F16, BF16 or F64",
			gnn_file_path(s->file), t->name, t->dtype);
	if (widen == FROM_F32)
		return gnn_file_pread(s->file, to, t->bytes, t->offset);
	GNN_NEW_ARRAY(raw, t->bytes, GNN_MEM_MODEL);
	GNN_TRY(gnn_file_pread(s->file, raw, t->bytes, t->offset));
	for (uint64_t i = 0; i < t->count; i++)
		to[i] = widen_item(raw, widen, i);
out:
	gnn_mem_free(raw);
	return rc;
}

void gnn_safetensors_close(struct gnn_safetensors *s)
{
	if (s == NULL)
		return;
	gnn_file_close(s->file);
	cJSON_Delete(s->header);
	gnn_mem_free(s->by_name);
	gnn_mem_free(s->tensor);
	gnn_mem_free(s);
}

/* --- writing --- */

static const char *type_name(enum gnn_dtype t)
{
	static const char *const names[GNN_DTYPE_COUNT] = {
		[GNN_F32] = "F32", [GNN_F16] = "F16", [GNN_BF16] = "BF16", [GNN_U8] = "U8",
		[GNN_U32] = "U32", [GNN_U64] = "U64", [GNN_I64] = "I64",
	};

	GNN_ASSERT(t < GNN_DTYPE_COUNT);
	return names[t];
}

static uint64_t bytes_of(const struct gnn_tensor_out *t)
{
	uint64_t bytes = gnn_dtype_bytes(t->dtype);

	GNN_ASSERT(t->rank <= GNN_TENSOR_RANK_MAX);
	for (uint32_t d = 0; d < t->rank; d++)
		bytes *= t->shape[d];
	return bytes;
}

/* False when cJSON got no memory. */
static bool add_tensor(cJSON *root, const struct gnn_tensor_out *t, uint64_t begin)
{
	cJSON *entry = cJSON_AddObjectToObject(root, t->name);
	cJSON *shape, *range;

	if (entry == NULL || cJSON_AddStringToObject(entry, "dtype", type_name(t->dtype)) == NULL)
		return false;
	shape = cJSON_AddArrayToObject(entry, "shape");
	range = cJSON_AddArrayToObject(entry, "data_offsets");
	if (shape == NULL || range == NULL)
		return false;
	for (uint32_t d = 0; d < t->rank; d++)
		if (!cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)t->shape[d])))
			return false;
	return cJSON_AddItemToArray(range, cJSON_CreateNumber((double)begin)) &&
		cJSON_AddItemToArray(range, cJSON_CreateNumber((double)(begin + bytes_of(t))));
}

/* Wide items first: then each tensor begins at a multiple of its item size without any gap. */
static const uint32_t item_sizes[] = {8, 4, 2, 1};

static int build_header(cJSON *root, const struct gnn_tensors_out *c, uint64_t *data_bytes)
{
	bool ok = root != NULL;
	cJSON *texts;

	*data_bytes = 0;
	if (ok && c->metadata_count > 0) {
		texts = cJSON_AddObjectToObject(root, "__metadata__");
		ok = texts != NULL;
		for (uint32_t i = 0; ok && i < c->metadata_count; i++)
			ok = cJSON_AddStringToObject(texts, c->metadata[i].key,
				c->metadata[i].value) != NULL;
	}
	for (uint32_t s = 0; s < GNN_COUNT_OF(item_sizes); s++)
		for (uint32_t i = 0; ok && i < c->tensor_count; i++)
			if (gnn_dtype_bytes(c->tensor[i].dtype) == item_sizes[s]) {
				ok = add_tensor(root, &c->tensor[i], *data_bytes);
				*data_bytes += bytes_of(&c->tensor[i]);
			}
	return ok ? GNN_OK : gnn_err(GNN_EOS, "no memory for the header of a safetensors file");
}

static int write_data(struct gnn_pub *pub, const struct gnn_tensors_out *c)
{
	int rc = GNN_OK;

	for (uint32_t s = 0; s < GNN_COUNT_OF(item_sizes); s++)
		for (uint32_t i = 0; i < c->tensor_count; i++)
			if (gnn_dtype_bytes(c->tensor[i].dtype) == item_sizes[s])
				GNN_TRY(gnn_pub_write(pub, c->tensor[i].data,
					bytes_of(&c->tensor[i])));
out:
	return rc;
}

/* Length, then the text with spaces up to a multiple of 8. */
static int write_header(struct gnn_pub *pub, const char *text, uint64_t length)
{
	static const char spaces[] = "        ";
	uint64_t padded = gnn_align_up(length, DATA_ALIGN);
	unsigned char raw[LENGTH_BYTES];
	int rc;

	for (int i = 0; i < LENGTH_BYTES; i++)
		raw[i] = (unsigned char)(padded >> (8 * i));
	GNN_TRY(gnn_pub_write(pub, raw, sizeof(raw)));
	GNN_TRY(gnn_pub_write(pub, text, length));
	GNN_TRY(gnn_pub_write(pub, spaces, padded - length));
out:
	return rc;
}

int gnn_safetensors_write(const char *path, const struct gnn_tensors_out *content)
{
	struct gnn_pub *pub = NULL;
	uint64_t length, padded, data_bytes;
	char *text = NULL;
	cJSON *root;
	int rc;

	gnn_json_use_budget();
	root = cJSON_CreateObject();
	GNN_TRY(build_header(root, content, &data_bytes));
	text = cJSON_PrintUnformatted(root);
	if (text == NULL)
		GNN_FAIL(GNN_EOS, "%s: no memory for the header", path);
	length = strlen(text);
	padded = gnn_align_up(length, DATA_ALIGN);
	if (padded > GNN_SAFETENSORS_HEADER_MAX)
		GNN_FAIL(GNN_ECREAT,
			"%s: %u tensors take a header of %llu bytes, readers accept %d", path,
			content->tensor_count, (unsigned long long)padded,
			GNN_SAFETENSORS_HEADER_MAX);
	GNN_TRY(gnn_pub_begin(&pub, path));
	GNN_TRY(gnn_pub_reserve(pub, LENGTH_BYTES + padded + data_bytes));
	GNN_TRY(write_header(pub, text, length));
	GNN_TRY(write_data(pub, content));
	GNN_TRY(gnn_pub_commit(&pub));
out:
	gnn_pub_abort(pub);
	cJSON_free(text);
	cJSON_Delete(root);
	return rc;
}
