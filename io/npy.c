/* io/npy.c - see npy.h. A small reader of Python literals, and nothing it does not know. */
#include "io/npy.h"

#include "io/quote.h"

#include <string.h>

static const char magic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

enum { KEY_DESCR = 1, KEY_ORDER = 2, KEY_SHAPE = 4, KEYS_ALL = 7 };

struct cursor {
	const char *p, *end;
};

bool gnn_npy_is(const void *start, uint64_t bytes)
{
	return bytes >= sizeof(magic) && memcmp(start, magic, sizeof(magic)) == 0;
}

int gnn_npy_start(const void *start, uint64_t bytes, const char *name, uint64_t *text_at,
	uint64_t *text_bytes)
{
	const uint8_t *p = start;
	uint32_t width;

	if (!gnn_npy_is(start, bytes))
		return gnn_err(GNN_EDATA, "%s: no npy file: the magic \\x93NUMPY is missing", name);
	if (bytes < 10 || p[6] < 1 || p[6] > 3)
		return gnn_err(GNN_EDATA, "%s: npy version %u.%u; wanted 1, 2 or 3", name,
			bytes < 10 ? 0 : p[6], bytes < 10 ? 0 : p[7]);
	width = p[6] == 1 ? 2 : 4;
	*text_at = 8 + width;
	*text_bytes = 0;
	for (uint32_t i = 0; i < width && 8 + i < bytes; i++)
		*text_bytes |= (uint64_t)p[8 + i] << 8 * i;
	if (*text_bytes > GNN_NPY_HEADER_BYTES_MAX)
		return gnn_err(GNN_EDATA, "%s: a npy header of %llu bytes; wanted at most %d", name,
			(unsigned long long)*text_bytes, GNN_NPY_HEADER_BYTES_MAX);
	return GNN_OK;
}

static void skip_space(struct cursor *c)
{
	while (c->p < c->end && strchr(" \t\r\n", *c->p) != NULL && *c->p != '\0')
		c->p++;
}

static bool take(struct cursor *c, char want)
{
	skip_space(c);
	if (c->p == c->end || *c->p != want)
		return false;
	c->p++;
	return true;
}

static bool take_word(struct cursor *c, const char *want)
{
	size_t len = strlen(want);

	skip_space(c);
	if ((size_t)(c->end - c->p) < len || memcmp(c->p, want, len) != 0)
		return false;
	c->p += len;
	return true;
}

/* A string in either kind of quotes; longer ones than `to_bytes` are cut. */
static bool take_text(struct cursor *c, char *to, size_t to_bytes)
{
	size_t n = 0;
	char quote;

	skip_space(c);
	if (c->p == c->end || (*c->p != '\'' && *c->p != '"'))
		return false;
	quote = *c->p++;
	while (c->p < c->end && *c->p != quote) {
		if (n + 1 < to_bytes)
			to[n++] = *c->p;
		c->p++;
	}
	to[n] = '\0';
	if (c->p == c->end)
		return false;
	c->p++;
	return true;
}

static bool take_number(struct cursor *c, uint64_t *value)
{
	uint64_t v = 0;
	const char *start;

	skip_space(c);
	start = c->p;
	for (; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++) {
		if (__builtin_mul_overflow(v, 10, &v) ||
			__builtin_add_overflow(v, (uint64_t)(*c->p - '0'), &v))
			return false;
	}
	*value = v;
	if (c->p > start && c->p < c->end && *c->p == 'L') { /* a long of Python 2 */
		c->p++;
		return true;
	}
	return c->p > start;
}

static bool take_shape(struct cursor *c, struct gnn_npy *n)
{
	if (!take(c, '('))
		return false;
	while (!take(c, ')')) {
		if (n->rank == GNN_NPY_RANK_MAX || !take_number(c, &n->shape[n->rank]))
			return false;
		n->rank++;
		if (!take(c, ',')) {
			return take(c, ')');
		}
	}
	return true;
}

static bool take_order(struct cursor *c, struct gnn_npy *n)
{
	n->fortran = take_word(c, "True");
	return n->fortran || take_word(c, "False");
}

/* '<f4'; what is no string is a structure, which is of no use here: its text is kept. */
static bool take_descr(struct cursor *c, struct gnn_npy *n)
{
	const char *start;
	int depth = 0;

	n->type = GNN_NUM_OTHER;
	skip_space(c);
	start = c->p;
	if (take_text(c, n->descr, sizeof(n->descr)))
		return true;
	if (c->p == c->end || *c->p != '[')
		return false;
	do {
		depth += *c->p == '[' || *c->p == '(';
		depth -= *c->p == ']' || *c->p == ')';
		c->p++;
	} while (c->p < c->end && depth > 0);
	strncpy(n->descr, "structured", sizeof(n->descr) - 1);
	return depth == 0 && c->p > start;
}

static bool take_pairs(struct cursor *c, struct gnn_npy *n, int *seen)
{
	static const struct {
		const char *key;
		int bit;
		bool (*take)(struct cursor *c, struct gnn_npy *n);
	} keys[] = {
		{"descr", KEY_DESCR, take_descr},
		{"fortran_order", KEY_ORDER, take_order},
		{"shape", KEY_SHAPE, take_shape},
	};
	char key[GNN_NPY_DESCR_MAX];

	while (!take(c, '}')) {
		size_t i = 0;

		if (!take_text(c, key, sizeof(key)) || !take(c, ':'))
			return false;
		while (i < GNN_COUNT_OF(keys) && strcmp(keys[i].key, key) != 0)
			i++;
		if (i == GNN_COUNT_OF(keys) || (*seen & keys[i].bit) || !keys[i].take(c, n))
			return false;
		*seen |= keys[i].bit;
		if (!take(c, ','))
			return take(c, '}');
	}
	return true;
}

/* '>' is foreign on this machine; '=' does not occur in files, but is harmless. */
static void understand_descr(struct gnn_npy *n)
{
	char native[GNN_NPY_DESCR_MAX];

	if (n->descr[0] == '\0' || strchr("<>|=", n->descr[0]) == NULL)
		return;
	memcpy(native, n->descr, sizeof(native));
	native[0] = '<';
	n->type = gnn_num_parse(native);
	n->swapped = n->descr[0] == '>';
}

int gnn_npy_parse(const char *text, uint64_t bytes, const char *name, struct gnn_npy *out)
{
	struct cursor c = {text, text + bytes};
	char quoted[GNN_QUOTE_MAX];
	int seen = 0;

	*out = (struct gnn_npy){.count = 1};
	if (!take(&c, '{') || !take_pairs(&c, out, &seen) || seen != KEYS_ALL) {
		gnn_quote(text, bytes, quoted);
		return gnn_err(GNN_EDATA, "%s: the npy header %s cannot be read; wanted {'descr': "
			"..., 'fortran_order': ..., 'shape': (...)}", name, quoted);
	}
	understand_descr(out);
	for (uint32_t i = 0; i < out->rank; i++) {
		if (__builtin_mul_overflow(out->count, out->shape[i], &out->count) ||
			out->count > UINT64_MAX / 16)
			return gnn_err(GNN_EDATA, "%s: a npy shape of over 2^60 elements", name);
	}
	return GNN_OK;
}
