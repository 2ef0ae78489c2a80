/* io/input.c - see input.h. */
#include "io/input.h"

#include "base/mem.h"
#include "io/file.h"
#include "io/hash.h"
#include "io/npz.h"

#include <stdio.h>
#include <string.h>

#include <zlib.h>

enum { PACKED_BYTES = 256 << 10, SKIP_BYTES = 256 << 10, REST_BYTES = 256 << 10 };

enum coding { PLAIN, GZIP, DEFLATE };

struct gnn_input {
	struct gnn_file *file;
	char name[GNN_INPUT_NAME_MAX];
	enum coding coding;
	uint64_t begin, end; /* of the packed bytes in the file */
	uint64_t at;         /* of the next packed byte */
	uint64_t bytes;      /* decoded, in all */
	uint64_t done;       /* decoded, so far */
	bool check_crc;      /* a member that has been read in sequence */
	uint32_t crc_want, crc;

	z_stream z;
	bool z_open;         /* inflateInit succeeded */
	bool z_ended;        /* the stream has come to its end */
	uint8_t *packed;     /* (PACKED_BYTES) */

	struct gnn_input_record *record;
	uint64_t hashed;     /* the file's bytes [0, hashed) are in the hash */
	XXH3_state_t hash;
};

static voidpf z_alloc(voidpf opaque, uInt items, uInt size)
{
	void *block;

	(void)opaque;
	return gnn_mem_new(&block, items, size, GNN_MEM_IO) < 0 ? Z_NULL : block;
}

static void z_free(voidpf opaque, voidpf block)
{
	(void)opaque;
	gnn_mem_free(block);
}

/* Every byte of the file that is read comes through here; those in sequence are hashed. */
static int read_packed(struct gnn_input *in, void *to, uint64_t bytes, uint64_t offset)
{
	int rc = gnn_file_pread(in->file, to, bytes, offset);

	if (rc == GNN_OK && in->record != NULL && offset == in->hashed) {
		gnn_hash_update(&in->hash, to, bytes);
		in->hashed += bytes;
	}
	return rc;
}

static int start_inflate(struct gnn_input *in, int window_bits)
{
	int rc = GNN_OK;

	GNN_NEW_ARRAY(in->packed, PACKED_BYTES, GNN_MEM_IO);
	in->z.zalloc = z_alloc;
	in->z.zfree = z_free;
	if (inflateInit2(&in->z, window_bits) != Z_OK) /* allocation is all that can fail */
		return GNN_EOS;
	in->z_open = true;
out:
	return rc;
}

static int open_member(struct gnn_input *in, const char *name)
{
	const struct gnn_npz_member *m;
	struct gnn_npz *z = NULL;
	char names[512];
	int rc = GNN_OK;

	GNN_TRY(gnn_npz_open(&z, in->file));
	m = gnn_npz_find(z, name);
	if (m == NULL) {
		gnn_npz_names(z, names, sizeof(names));
		GNN_FAIL(GNN_EDATA, "%s: no array %s in this npz; it holds %s",
			gnn_file_path(in->file), name, names[0] != '\0' ? names : "nothing");
	}
	snprintf(in->name, sizeof(in->name), "%s:%s", gnn_file_path(in->file), m->name);
	GNN_TRY(gnn_npz_data_offset(in->file, m, &in->begin));
	in->end = in->begin + m->packed_bytes;
	in->bytes = m->bytes;
	in->crc_want = m->crc;
	in->check_crc = true;
	in->coding = m->method == GNN_NPZ_STORED ? PLAIN : DEFLATE;
	if (in->coding == DEFLATE)
		GNN_TRY(start_inflate(in, -MAX_WBITS));
out:
	gnn_npz_close(z);
	return rc;
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), k = strlen(suffix);

	return n >= k && strcmp(name + n - k, suffix) == 0;
}

static int open_whole(struct gnn_input *in)
{
	uint8_t magic[2] = {0};
	int rc = GNN_OK;

	snprintf(in->name, sizeof(in->name), "%s", gnn_file_path(in->file));
	in->end = in->bytes = gnn_file_bytes(in->file);
	if (in->bytes >= sizeof(magic))
		GNN_TRY(gnn_file_pread(in->file, magic, sizeof(magic), 0));
	if (magic[0] != 0x1f || magic[1] != 0x8b) {
		if (has_suffix(in->name, ".gz"))
			GNN_FAIL(GNN_EDATA, "%s: not gzip, though its name says so: it begins with "
				"bytes %02x %02x; wanted 1f 8b", in->name, magic[0], magic[1]);
		goto out;
	}
	in->coding = GZIP;
	in->bytes = GNN_INPUT_UNKNOWN;
	GNN_TRY(start_inflate(in, MAX_WBITS + 16));
out:
	return rc;
}

int gnn_input_open(struct gnn_input **out, const struct gnn_input_opts *o)
{
	struct gnn_input *in = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_NEW(in, GNN_MEM_IO);
	GNN_TRY(gnn_file_open(&in->file, o->path));
	if (o->record != NULL && !o->record->done) {
		in->record = o->record;
		XXH3_64bits_reset(&in->hash);
	}
	GNN_TRY(o->member != NULL ? open_member(in, o->member) : open_whole(in));
	in->at = in->begin;
	*out = in;
	in = NULL;
out:
	gnn_input_close(in);
	return rc;
}

static int refill(struct gnn_input *in)
{
	uint64_t bytes = gnn_min_u64(PACKED_BYTES, in->end - in->at);
	int rc = GNN_OK;

	if (bytes == 0)
		return gnn_err(GNN_EDATA, "%s: the compressed data ends early, at byte %llu of the "
			"file, after %llu decoded bytes; the file is cut short", in->name,
			(unsigned long long)in->at, (unsigned long long)in->done);
	rc = read_packed(in, in->packed, bytes, in->at);
	in->at += bytes;
	in->z.next_in = in->packed;
	in->z.avail_in = (uInt)bytes;
	return rc;
}

/* Behind a gzip member: another member, zero padding, or the end of the file. */
static int next_gzip_member(struct gnn_input *in)
{
	int rc = GNN_OK;

	for (;;) {
		if (in->z.avail_in == 0 && in->at == in->end) {
			in->z_ended = true;
			goto out;
		}
		if (in->z.avail_in == 0)
			GNN_TRY(refill(in));
		if (*in->z.next_in != 0)
			break;
		in->z.next_in++;
		in->z.avail_in--;
	}
	if (*in->z.next_in != 0x1f)
		GNN_FAIL(GNN_EDATA, "%s: bytes that are not gzip follow the compressed data, near "
			"byte %llu of the file", in->name,
			(unsigned long long)(in->at - in->z.avail_in));
	inflateReset(&in->z);
out:
	return rc;
}

static int inflate_some(struct gnn_input *in, uint8_t *to, uint64_t bytes, uint64_t *got)
{
	int rc = GNN_OK, z = Z_OK;

	*got = 0;
	while (*got < bytes && !in->z_ended) {
		uInt ask = (uInt)gnn_min_u64(bytes - *got, 1u << 30);

		if (in->z.avail_in == 0)
			GNN_TRY(refill(in));
		in->z.next_out = to + *got;
		in->z.avail_out = ask;
		z = inflate(&in->z, Z_NO_FLUSH);
		*got += ask - in->z.avail_out;
		if (z == Z_MEM_ERROR)
			return GNN_EOS;
		if (z == Z_STREAM_END && in->coding == DEFLATE)
			in->z_ended = true;
		else if (z == Z_STREAM_END)
			GNN_TRY(next_gzip_member(in));
		else if (z != Z_OK && z != Z_BUF_ERROR)
			GNN_FAIL(GNN_EDATA,
				"%s: the compressed data is damaged near byte %llu of the file, "
				"after %llu decoded bytes: %s",
				in->name, (unsigned long long)(in->at - in->z.avail_in),
				(unsigned long long)(in->done + *got),
				in->z.msg != NULL ? in->z.msg : "it needs a dictionary");
	}
out:
	return rc;
}

/* The directory of the archive states the length and the CRC-32 of a member. */
static int check_member(struct gnn_input *in, bool ended)
{
	if (ended ? in->done != in->bytes : in->done > in->bytes)
		return gnn_err(GNN_EDATA, "%s: found %s%llu bytes, the archive says %llu", in->name,
			ended ? "" : "over ", (unsigned long long)in->done,
			(unsigned long long)in->bytes);
	if (ended && in->crc != in->crc_want)
		return gnn_err(GNN_EDATA, "%s: CRC-32 is %08x, the archive says %08x; the file is "
			"damaged", in->name, in->crc, in->crc_want);
	return GNN_OK;
}

int gnn_input_read(struct gnn_input *in, void *to, uint64_t bytes, uint64_t *got)
{
	int rc = GNN_OK;

	if (in->coding == PLAIN) {
		*got = gnn_min_u64(bytes, in->end - in->at);
		if (*got > 0)
			GNN_TRY(read_packed(in, to, *got, in->at));
		in->at += *got;
	} else {
		GNN_TRY(inflate_some(in, to, bytes, got));
	}
	in->done += *got;
	if (in->check_crc) {
		in->crc = (uint32_t)crc32_z(in->crc, to, *got);
		GNN_TRY(check_member(in, *got < bytes || in->done == in->bytes));
	}
out:
	return rc;
}

int gnn_input_skip(struct gnn_input *in, uint64_t bytes)
{
	uint8_t *drop = NULL;
	uint64_t got = 0;
	int rc = GNN_OK;

	if (in->coding == PLAIN) {
		in->at += gnn_min_u64(bytes, in->end - in->at);
		in->check_crc = false;
		return GNN_OK;
	}
	GNN_NEW_ARRAY(drop, SKIP_BYTES, GNN_MEM_IO);
	while (bytes > 0) {
		GNN_TRY(gnn_input_read(in, drop, gnn_min_u64(bytes, SKIP_BYTES), &got));
		if (got == 0)
			break;
		bytes -= got;
	}
out:
	gnn_mem_free(drop);
	return rc;
}

bool gnn_input_seekable(const struct gnn_input *in)
{
	return in->coding == PLAIN;
}

int gnn_input_pread(struct gnn_input *in, void *to, uint64_t bytes, uint64_t offset)
{
	GNN_ASSERT(in->coding == PLAIN);
	if (offset > in->bytes || bytes > in->bytes - offset)
		return gnn_err(GNN_EDATA,
			"%s: %llu bytes wanted at byte %llu, the data ends at %llu", in->name,
			(unsigned long long)bytes, (unsigned long long)offset,
			(unsigned long long)in->bytes);
	return read_packed(in, to, bytes, in->begin + offset);
}

uint64_t gnn_input_bytes(const struct gnn_input *in)
{
	return in->bytes;
}

const char *gnn_input_name(const struct gnn_input *in)
{
	return in->name;
}

int gnn_input_finish(struct gnn_input *in)
{
	uint64_t size = gnn_file_bytes(in->file);
	void *block = NULL;
	int rc = GNN_OK;

	if (in->record == NULL)
		return GNN_OK;
	if (in->hashed < size)
		GNN_TRY(gnn_mem_pages(&block, REST_BYTES, GNN_MEM_IO));
	while (in->hashed < size)
		GNN_TRY(read_packed(in, block, gnn_min_u64(REST_BYTES, size - in->hashed),
			in->hashed));
	snprintf(in->record->path, sizeof(in->record->path), "%s", gnn_file_path(in->file));
	in->record->bytes = size;
	in->record->xxh3 = XXH3_64bits_digest(&in->hash);
	in->record->done = true;
out:
	gnn_mem_free(block);
	return rc;
}

void gnn_input_close(struct gnn_input *in)
{
	if (in == NULL)
		return;
	if (in->z_open)
		inflateEnd(&in->z);
	gnn_mem_free(in->packed);
	gnn_file_close(in->file);
	gnn_mem_free(in);
}
