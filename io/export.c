/* io/export.c - see export.h. */
#include "io/export.h"

#include "base/mem.h"
#include "io/file.h"
#include "io/stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { HEADER_MAX = 192, HEADER_ALIGN = 64, LEAD_BYTES = 10, PIECE_BYTES = 4 << 20, AHEAD = 3 };

static const char *const numpy_types[GNN_DTYPE_COUNT] = {
	[GNN_F32] = "<f4",
	[GNN_F16] = "<f2",
	[GNN_BF16] = "<f4",
	[GNN_U8] = "|u1",
	[GNN_U32] = "<u4",
	[GNN_U64] = "<u8",
	[GNN_I64] = "<i8",
};

/* Magic, version, length of the text in 16 bits, the text, spaces, a line end. */
static uint64_t make_header(char header[HEADER_MAX], const struct gnn_array *a)
{
	char shape[64];
	uint64_t bytes, text_bytes;
	int used;

	if (a->rank == 1)
		snprintf(shape, sizeof(shape), "(%" PRIu64 ",)", a->rows);
	else
		snprintf(shape, sizeof(shape), "(%" PRIu64 ", %" PRIu64 ")", a->rows, a->cols);
	memset(header, ' ', HEADER_MAX);
	memcpy(header, "\x93NUMPY\x01\x00", 8);
	used = snprintf(header + LEAD_BYTES, HEADER_MAX - LEAD_BYTES,
		"{'descr': '%s', 'fortran_order': False, 'shape': %s, }", numpy_types[a->dtype],
		shape);
	bytes = gnn_align_up(LEAD_BYTES + (uint64_t)used + 1, HEADER_ALIGN);
	GNN_ASSERT(bytes <= HEADER_MAX);
	text_bytes = bytes - LEAD_BYTES;
	header[LEAD_BYTES + used] = ' '; /* where snprintf put its NUL */
	header[8] = (char)(text_bytes & 0xff);
	header[9] = (char)(text_bytes >> 8);
	header[bytes - 1] = '\n';
	return bytes;
}

/* bf16 is the upper half of f32. */
static void widen(uint32_t *to, const uint16_t *from, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		to[i] = (uint32_t)from[i] << 16;
}

static int write_piece(struct gnn_pub *pub, const struct gnn_piece *p, uint32_t *wide)
{
	if (wide == NULL)
		return gnn_pub_write(pub, p->data, p->bytes);
	widen(wide, p->data, p->bytes / 2);
	return gnn_pub_write(pub, wide, p->bytes * 2);
}

static int copy(struct gnn_stream *s, struct gnn_pub *pub, uint32_t *wide)
{
	struct gnn_piece *p;
	int rc = GNN_OK;

	for (;;) {
		GNN_TRY(gnn_stream_next(s, &p));
		if (rc == GNN_EOF)
			return GNN_OK;
		GNN_TRY(write_piece(pub, p, wide));
		gnn_stream_put(s, p);
	}
out:
	return rc;
}

int gnn_export_npy(struct gnn_container *c, const struct gnn_array *a, const char *path,
	uint64_t *written_bytes)
{
	char header[HEADER_MAX];
	uint64_t header_bytes = make_header(header, a);
	struct gnn_pub *pub = NULL;
	struct gnn_stream *s = NULL;
	uint32_t *wide = NULL;
	int rc = GNN_OK;

	if (a->dtype == GNN_BF16)
		GNN_NEW_ARRAY(wide, PIECE_BYTES / 2, GNN_MEM_IO);
	*written_bytes = header_bytes + a->bytes * (wide != NULL ? 2 : 1);
	GNN_TRY(gnn_stream_open_array(&s, c, a, PIECE_BYTES, AHEAD));
	GNN_TRY(gnn_pub_begin(&pub, path));
	GNN_TRY(gnn_pub_reserve(pub, *written_bytes));
	GNN_TRY(gnn_pub_write(pub, header, header_bytes));
	GNN_TRY(copy(s, pub, wide));
	rc = gnn_pub_commit(&pub);
out:
	gnn_pub_abort(pub);
	gnn_stream_close(s);
	gnn_mem_free(wide);
	return rc;
}
