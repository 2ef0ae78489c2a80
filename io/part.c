/* io/part.c - see part.h. */
#include "io/part.h"

#include "io/input.h"
#include "io/npy.h"

#include <string.h>

enum { SAMPLE_BYTES = 512 };

bool gnn_part_named(const char *path, const char *suffix)
{
	size_t n = strlen(path), k = strlen(suffix);

	if (n >= 3 && strcmp(path + n - 3, ".gz") == 0)
		n -= 3;
	return n >= k && memcmp(path + n - k, suffix, k) == 0;
}

static bool is_binary(const char *p, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c < ' ' && (c < '\t' || c > '\r'))
			return true;
	}
	return false;
}

static bool is_zip(const char *p, uint64_t bytes)
{
	return bytes >= 4 && (memcmp(p, "PK\3\4", 4) == 0 || memcmp(p, "PK\5\6", 4) == 0);
}

int gnn_part_has_header(const char *path, bool *has)
{
	struct gnn_input *in = NULL;
	char sample[SAMPLE_BYTES];
	uint64_t got = 0;
	int rc = GNN_OK;

	GNN_TRY(gnn_input_open(&in, &(struct gnn_input_opts){.path = path}));
	GNN_TRY(gnn_input_read(in, sample, sizeof(sample), &got));
	*has = gnn_npy_is(sample, got) || is_zip(sample, got);
out:
	gnn_input_close(in);
	return rc;
}

int gnn_part_sniff(const char *path, const char *remedy, enum gnn_part_kind *kind)
{
	struct gnn_input *in = NULL;
	char sample[SAMPLE_BYTES];
	const char *hint = remedy != NULL ? remedy : "";
	uint64_t got;
	int rc = GNN_OK;

	*kind = GNN_PART_TEXT;
	GNN_TRY(gnn_input_open(&in, &(struct gnn_input_opts){.path = path}));
	GNN_TRY(gnn_input_read(in, sample, sizeof(sample), &got));
	if (gnn_npy_is(sample, got)) {
		*kind = GNN_PART_NPY;
	} else if (is_zip(sample, got)) {
		*kind = GNN_PART_NPZ;
		if (!gnn_input_seekable(in))
			GNN_FAIL(GNN_EDATA, "%s: a npz archive inside of gzip; decompress it first",
				path);
	} else if (gnn_part_named(path, ".npy")) {
		GNN_FAIL(GNN_EDATA,
			"%s: the magic \\x93NUMPY is missing: headerless data under a npy name%s",
			path, hint);
	} else if (gnn_part_named(path, ".npz")) {
		GNN_FAIL(GNN_EDATA, "%s: no npz archive: it does not begin with PK", path);
	} else if (is_binary(sample, got)) {
		GNN_FAIL(GNN_EDATA, "%s: neither text, npy nor npz: binary data without a header%s",
			path, hint);
	}
out:
	gnn_input_close(in);
	return rc;
}
