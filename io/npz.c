/* io/npz.c - see npz.h. */
#include "io/npz.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

/* Record sizes without their variable parts, and signatures. APPNOTE.TXT 4.3. */
enum {
	END_BYTES = 22, END64_LOCATOR_BYTES = 20, END64_BYTES = 56, CENTRAL_BYTES = 46,
	LOCAL_BYTES = 30, COMMENT_MAX = 65535, MEMBERS_MAX = 65536,
	DIRECTORY_BYTES_MAX = 64 << 20,
};

static const uint32_t sig_local = 0x04034b50, sig_central = 0x02014b50, sig_end = 0x06054b50,
	sig_end64 = 0x06064b50, sig_locator = 0x07064b50;

struct directory {
	uint64_t count, bytes, offset;
};

static uint16_t le16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t le32(const uint8_t *p)
{
	return (uint32_t)le16(p) | (uint32_t)le16(p + 2) << 16;
}

static uint64_t le64(const uint8_t *p)
{
	return le32(p) | (uint64_t)le32(p + 4) << 32;
}

/* The end record lies in the last 64 KiB, in front of a comment of the length it states. */
static int find_end(struct gnn_file *f, uint8_t *end, uint64_t *end_offset)
{
	uint64_t size = gnn_file_bytes(f);
	uint64_t bytes = gnn_min_u64(size, END_BYTES + COMMENT_MAX);
	uint8_t *tail = NULL;
	int rc = GNN_OK;

	GNN_NEW_ARRAY(tail, bytes + 1, GNN_MEM_IO);
	GNN_TRY(gnn_file_pread(f, tail, bytes, size - bytes));
	for (uint64_t i = bytes + 1; i-- > END_BYTES;) {
		const uint8_t *p = tail + i - END_BYTES;

		if (le32(p) == sig_end && i + le16(p + 20) == bytes) {
			memcpy(end, p, END_BYTES);
			*end_offset = size - bytes + i - END_BYTES;
			goto out;
		}
	}
	rc = gnn_err(GNN_EDATA, "%s: the directory at the end of this npz archive is missing; the "
		"file is cut short or no npz", gnn_file_path(f));
out:
	gnn_mem_free(tail);
	return rc;
}

static int find_directory(struct gnn_file *f, struct directory *d)
{
	uint8_t end[END_BYTES] = {0}, locator[END64_LOCATOR_BYTES], end64[END64_BYTES];
	uint64_t end_offset = 0;
	int rc = GNN_OK;

	GNN_TRY(find_end(f, end, &end_offset));
	*d = (struct directory){le16(end + 10), le32(end + 12), le32(end + 16)};
	if (end_offset < END64_LOCATOR_BYTES)
		goto out;
	GNN_TRY(gnn_file_pread(f, locator, sizeof(locator), end_offset - sizeof(locator)));
	if (le32(locator) != sig_locator)
		goto out;
	if (le64(locator + 8) > end_offset - END64_LOCATOR_BYTES)
		GNN_FAIL(GNN_EDATA, "%s: the ZIP64 record is said to lie at byte %llu, behind the "
			"directory", gnn_file_path(f), (unsigned long long)le64(locator + 8));
	GNN_TRY(gnn_file_pread(f, end64, sizeof(end64), le64(locator + 8)));
	if (le32(end64) != sig_end64)
		GNN_FAIL(GNN_EDATA,
			"%s: no ZIP64 record at byte %llu, where the archive says it is",
			gnn_file_path(f), (unsigned long long)le64(locator + 8));
	*d = (struct directory){le64(end64 + 32), le64(end64 + 40), le64(end64 + 48)};
out:
	return rc;
}

/* Fields that are all ones stand, 8 bytes each and in this order, in the ZIP64 extra field. */
static bool read_extra64(const uint8_t *extra, uint64_t extra_bytes, struct gnn_npz_member *m)
{
	uint64_t *field[] = {&m->bytes, &m->packed_bytes, &m->header_offset};

	for (uint64_t at = 0; at + 4 <= extra_bytes;) {
		uint64_t bytes = le16(extra + at + 2), used = 0;

		if (at + 4 + bytes > extra_bytes)
			return false;
		for (int i = 0; le16(extra + at) == 1 && i < 3; i++) {
			if (*field[i] != UINT32_MAX)
				continue;
			if (used + 8 > bytes)
				return false;
			*field[i] = le64(extra + at + 4 + used);
			used += 8;
		}
		at += 4 + bytes;
	}
	return true;
}

/* One central record at p; *used is its length. */
static int read_member(struct gnn_file *f, const uint8_t *p, uint64_t left,
	struct gnn_npz_member *m, uint64_t *used)
{
	uint64_t name_bytes, extra_bytes;

	if (left < CENTRAL_BYTES || le32(p) != sig_central)
		return gnn_err(GNN_EDATA, "%s: the npz directory is damaged", gnn_file_path(f));
	name_bytes = le16(p + 28);
	extra_bytes = le16(p + 30);
	*used = CENTRAL_BYTES + name_bytes + extra_bytes + le16(p + 32);
	if (*used > left || name_bytes == 0 || name_bytes >= GNN_NPZ_NAME_MAX)
		return gnn_err(GNN_EDATA, "%s: the npz directory is damaged: a name of %llu bytes",
			gnn_file_path(f), (unsigned long long)name_bytes);
	memcpy(m->name, p + CENTRAL_BYTES, name_bytes);
	m->method = le16(p + 10);
	m->crc = le32(p + 16);
	m->packed_bytes = le32(p + 20);
	m->bytes = le32(p + 24);
	m->header_offset = le32(p + 42);
	if (!read_extra64(p + CENTRAL_BYTES + name_bytes, extra_bytes, m))
		return gnn_err(GNN_EDATA, "%s: member %s has a damaged ZIP64 field",
			gnn_file_path(f), m->name);
	if (le16(p + 8) & 1)
		return gnn_err(GNN_EDATA, "%s: member %s is encrypted", gnn_file_path(f), m->name);
	if (m->method != GNN_NPZ_STORED && m->method != GNN_NPZ_DEFLATED)
		return gnn_err(GNN_EDATA,
			"%s: member %s is packed by method %u; read are 0 (stored) and 8 "
			"(deflated)",
			gnn_file_path(f), m->name, m->method);
	if (m->method == GNN_NPZ_STORED && m->bytes != m->packed_bytes)
		return gnn_err(GNN_EDATA, "%s: member %s is stored, but %llu bytes are said to be "
			"%llu", gnn_file_path(f), m->name, (unsigned long long)m->packed_bytes,
			(unsigned long long)m->bytes);
	return GNN_OK;
}

int gnn_npz_open(struct gnn_npz **out, struct gnn_file *f)
{
	struct gnn_npz *z = NULL;
	struct directory d = {0};
	uint8_t *raw = NULL;
	uint64_t at = 0, used = 0;
	int rc = GNN_OK;

	*out = NULL;
	GNN_TRY(find_directory(f, &d));
	if (d.offset > gnn_file_bytes(f) || d.bytes > gnn_file_bytes(f) - d.offset ||
		d.count > MEMBERS_MAX || d.bytes > DIRECTORY_BYTES_MAX ||
		d.count * CENTRAL_BYTES > d.bytes)
		GNN_FAIL(GNN_EDATA,
			"%s: the npz directory is said to hold %llu members in %llu bytes at byte "
			"%llu of %llu",
			gnn_file_path(f), (unsigned long long)d.count, (unsigned long long)d.bytes,
			(unsigned long long)d.offset, (unsigned long long)gnn_file_bytes(f));
	GNN_NEW(z, GNN_MEM_MISC);
	GNN_NEW_ARRAY(z->member, d.count, GNN_MEM_MISC);
	GNN_NEW_ARRAY(raw, d.bytes, GNN_MEM_IO);
	GNN_TRY(gnn_file_pread(f, raw, d.bytes, d.offset));
	for (; z->count < d.count; z->count++, at += used)
		GNN_TRY(read_member(f, raw + at, d.bytes - at, &z->member[z->count], &used));
	*out = z;
	z = NULL;
out:
	gnn_mem_free(raw);
	gnn_npz_close(z);
	return rc;
}

const struct gnn_npz_member *gnn_npz_find(const struct gnn_npz *z, const char *name)
{
	uint64_t len = strlen(name);

	for (uint64_t i = 0; i < z->count; i++) {
		const char *have = z->member[i].name;

		if (strncmp(have, name, len) == 0 &&
			(have[len] == '\0' || strcmp(have + len, ".npy") == 0))
			return &z->member[i];
	}
	return NULL;
}

int gnn_npz_data_offset(struct gnn_file *f, const struct gnn_npz_member *m, uint64_t *offset)
{
	uint8_t local[LOCAL_BYTES];
	uint64_t size = gnn_file_bytes(f);
	int rc = GNN_OK;

	if (m->header_offset > size || size - m->header_offset < LOCAL_BYTES)
		GNN_FAIL(GNN_EDATA, "%s: member %s is said to begin at byte %llu of %llu",
			gnn_file_path(f), m->name, (unsigned long long)m->header_offset,
			(unsigned long long)size);
	GNN_TRY(gnn_file_pread(f, local, sizeof(local), m->header_offset));
	*offset = m->header_offset + LOCAL_BYTES + le16(local + 26) + le16(local + 28);
	if (le32(local) != sig_local || *offset > size || m->packed_bytes > size - *offset)
		GNN_FAIL(GNN_EDATA,
			"%s: member %s is damaged: its %llu bytes at byte %llu do not lie in the "
			"file of %llu",
			gnn_file_path(f), m->name, (unsigned long long)m->packed_bytes,
			(unsigned long long)m->header_offset, (unsigned long long)size);
out:
	return rc;
}

void gnn_npz_names(const struct gnn_npz *z, char *to, uint64_t to_bytes)
{
	uint64_t at = 0;

	to[0] = '\0';
	for (uint64_t i = 0; i < z->count && at + 1 < to_bytes; i++) {
		const char *name = z->member[i].name;
		int len = (int)strlen(name);
		int wrote;

		if (len > 4 && strcmp(name + len - 4, ".npy") == 0)
			len -= 4;
		wrote = snprintf(to + at, to_bytes - at, "%s%.*s", i > 0 ? ", " : "", len, name);
		at += (uint64_t)(wrote > 0 ? wrote : 0);
	}
}

void gnn_npz_close(struct gnn_npz *z)
{
	if (z == NULL)
		return;
	gnn_mem_free(z->member);
	gnn_mem_free(z);
}
