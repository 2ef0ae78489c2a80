/* infer/degrees.c - see degrees.h. */
#include "infer/degrees.h"

#include "base/mem.h"
#include "io/stream.h"

enum { OFFSET_PIECE_BYTES = 1 << 20 };

uint64_t gnn_degrees_bytes(const struct gnn_store *s)
{
	uint64_t words = s->vertices / 64 + 1;

	return s->vertices * 4 * (s->self_loops != NULL ? 2 : 1) + words * 16 +
		4u * (OFFSET_PIECE_BYTES + 2 * GNN_PAGE_BYTES);
}

/* One degree from two neighbouring offsets. */
static int set_degree(uint32_t *degree, const char *name, gnn_vid v, uint64_t begin, uint64_t end)
{
	if (end < begin)
		return gnn_err(GNN_EDATA, "%s: row %llu ends at %llu, before its begin %llu", name,
			(unsigned long long)v, (unsigned long long)end, (unsigned long long)begin);
	if (end - begin > UINT32_MAX)
		return gnn_err(GNN_EDATA, "%s: vertex %llu has %llu edges, at most 2^32 - 1 can be "
			"counted", name, (unsigned long long)v, (unsigned long long)(end - begin));
	*degree = (uint32_t)(end - begin);
	return GNN_OK;
}

/* All degrees from one array of offsets, whose lists end at `edges`. */
static int read_degrees(struct gnn_degrees *d, uint32_t *degree, const struct gnn_store *s,
	const struct gnn_array *offsets, gnn_eid edges, bool verify)
{
	struct gnn_stream *stream = NULL;
	struct gnn_piece *piece;
	uint64_t seen = 0, last = 0;
	int rc;

	GNN_TRY(gnn_stream_open(&stream, &(struct gnn_stream_opts){
		.container = s->container, .array = offsets,
		.first_byte = s->first * sizeof(gnn_eid),
		.bytes = (s->vertices + 1) * sizeof(gnn_eid), .piece_bytes = OFFSET_PIECE_BYTES,
		.ahead = 2, .lent = 1, .verify = verify}));
	while ((rc = gnn_stream_next(stream, &piece)) == GNN_OK) {
		const uint64_t *offset = piece->data;
		uint64_t count = piece->bytes / sizeof(*offset);

		for (uint64_t i = 0; i < count && rc == GNN_OK; i++, seen++) {
			if (seen > 0)
				rc = set_degree(&degree[seen - 1], offsets->name,
					s->first + seen - 1, last, offset[i]);
			last = offset[i];
		}
		gnn_stream_put(stream, piece);
		if (rc < 0)
			goto out;
	}
	if (rc < 0)
		goto out;
	rc = GNN_OK;
	if (seen != s->vertices + 1 || last != edges)
		GNN_FAIL(GNN_EDATA, "%s ends at %llu, the store has %llu edges", offsets->name,
			(unsigned long long)last, (unsigned long long)edges);
	d->read_bytes += gnn_stream_read_bytes(stream);
out:
	gnn_stream_close(stream);
	return rc;
}

/* Among the first `count` vertices. */
static void mark_hubs(struct gnn_degrees *d, uint64_t count)
{
	for (gnn_vid v = 0; v < count; v++)
		if (d->in[v] >= GNN_HUB_DEGREE)
			d->hub_bits[v >> 6] |= UINT64_C(1) << (v & 63);
	for (uint64_t w = 0; w <= d->vertices / 64; w++) {
		d->hub_rank[w] = d->hub_count;
		d->hub_count += (uint64_t)__builtin_popcountll(d->hub_bits[w]);
	}
}

int gnn_degrees_load(struct gnn_degrees **out, const struct gnn_store *s, bool verify)
{
	struct gnn_degrees *d = NULL;
	uint64_t words = s->vertices / 64 + 1;
	int rc;

	*out = NULL;
	GNN_NEW(d, GNN_MEM_MISC);
	d->vertices = s->vertices;
	GNN_NEW_ARRAY(d->in, s->vertices, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(d->hub_bits, words, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(d->hub_rank, words, GNN_MEM_TOPOLOGY);
	GNN_TRY(read_degrees(d, d->in, s, s->in.offsets, s->first_in + s->in_edges, verify));
	if (s->self_loops != NULL) {
		GNN_NEW_ARRAY(d->loops, s->vertices, GNN_MEM_TOPOLOGY);
		GNN_TRY(gnn_array_load(s->container, s->self_loops, s->first * sizeof(*d->loops),
			s->vertices * sizeof(*d->loops), d->loops));
		d->read_bytes += s->vertices * sizeof(*d->loops);
	}
	mark_hubs(d, d->vertices);
	*out = d;
	d = NULL;
out:
	gnn_degrees_free(d);
	return rc;
}

int gnn_degrees_load_out(struct gnn_degrees *d, const struct gnn_store *s, bool verify)
{
	int rc;

	GNN_ASSERT(d->backend == NULL && d->out == NULL);
	GNN_NEW_ARRAY(d->out, s->vertices, GNN_MEM_TOPOLOGY);
	GNN_TRY(read_degrees(d, d->out, s, s->out.offsets, s->first_out + s->edges, verify));
out:
	return rc;
}

/* Items of 4 bytes; NULL stays NULL. */
static int pick(void **to, const void *from, const gnn_vid *id, uint64_t count)
{
	uint32_t *item;
	int rc = GNN_OK;

	if (from == NULL)
		return GNN_OK;
	GNN_NEW_ARRAY(item, count, GNN_MEM_TOPOLOGY);
	for (uint64_t i = 0; i < count; i++)
		item[i] = ((const uint32_t *)from)[id[i]];
	*to = item;
out:
	return rc;
}

int gnn_degrees_pick(struct gnn_degrees **out, const struct gnn_degrees *from, const gnn_vid *id,
	uint64_t count, uint64_t dst_count)
{
	struct gnn_degrees *d = NULL;
	int rc;

	*out = NULL;
	GNN_NEW(d, GNN_MEM_MISC);
	d->vertices = count;
	GNN_TRY(pick((void **)&d->in, from->in, id, count));
	GNN_TRY(pick((void **)&d->out, from->out, id, count));
	GNN_TRY(pick((void **)&d->loops, from->loops, id, count));
	GNN_TRY(pick((void **)&d->weighted, from->weighted, id, count));
	GNN_TRY(pick((void **)&d->loop_weights, from->loop_weights, id, count));
	GNN_NEW_ARRAY(d->hub_bits, count / 64 + 1, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(d->hub_rank, count / 64 + 1, GNN_MEM_TOPOLOGY);
	mark_hubs(d, dst_count);
	*out = d;
	d = NULL;
out:
	gnn_degrees_free(d);
	return rc;
}

/* (V) items of 4 bytes. */
static int mirror(struct gnn_degrees *d, const void **there, const void *here)
{
	return gnn_backend_mirror(d->backend, there, here, d->vertices * 4);
}

int gnn_degrees_mirror(struct gnn_degrees *d, struct gnn_backend *b)
{
	uint64_t words = d->vertices / 64 + 1;
	int rc;

	GNN_ASSERT(d->backend == NULL);
	d->backend = b;
	GNN_TRY(mirror(d, (const void **)&d->in_there, d->in));
	GNN_TRY(mirror(d, (const void **)&d->out_there, d->out));
	GNN_TRY(mirror(d, (const void **)&d->loops_there, d->loops));
	GNN_TRY(mirror(d, (const void **)&d->weighted_there, d->weighted));
	GNN_TRY(mirror(d, (const void **)&d->loop_weights_there, d->loop_weights));
	GNN_TRY(gnn_backend_mirror(b, (const void **)&d->hub_bits_there, d->hub_bits, words * 8));
	GNN_TRY(gnn_backend_mirror(b, (const void **)&d->hub_rank_there, d->hub_rank, words * 8));
out:
	return rc;
}

static void free_mirror(struct gnn_degrees *d)
{
	const void *array[] = {d->in_there, d->out_there, d->loops_there, d->weighted_there,
		d->loop_weights_there, d->hub_bits_there, d->hub_rank_there};

	for (uint32_t i = 0; i < GNN_COUNT_OF(array); i++)
		gnn_backend_unmirror(d->backend, array[i]);
}

void gnn_degrees_free(struct gnn_degrees *d)
{
	if (d == NULL)
		return;
	free_mirror(d);
	gnn_mem_free(d->in);
	gnn_mem_free(d->out);
	gnn_mem_free(d->loops);
	gnn_mem_free(d->weighted);
	gnn_mem_free(d->loop_weights);
	gnn_mem_free(d->hub_bits);
	gnn_mem_free(d->hub_rank);
	gnn_mem_free(d);
}
