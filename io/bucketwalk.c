/* io/bucketwalk.c - see bucketwalk.h. */
#include "io/bucketwalk.h"

#include "base/err.h"

enum { SLICE_EDGES = 4096, ID_BITS = 32 };

_Static_assert((GNN_CHUNK_BYTES_MAX - GNN_CHUNK_HEAD_BYTES) / sizeof(uint32_t) <= SLICE_EDGES,
	"a span fits a slice");

/* Source << 32 | destination. */
struct slice {
	uint64_t edge[SLICE_EDGES], count;
	float weight[SLICE_EDGES];
	bool weighted;
};

typedef int (*slice_fn)(const void *with, struct slice *s);

static int walk(const struct gnn_bucketset *set, uint32_t bucket, bool weighted, bool both_ways,
	slice_fn fn, const void *with)
{
	const struct gnn_bucket_layout *l = gnn_bucketset_layout(set);
	struct gnn_bucket_reader r;
	struct gnn_bucket_span span;
	struct slice s;
	int rc = GNN_OK;

	s.count = 0;
	s.weighted = weighted;
	gnn_bucketset_read(set, bucket, &r);
	while (gnn_bucket_reader_next(&r, &span)) {
		if (s.count + span.count > SLICE_EDGES) {
			GNN_TRY(fn(with, &s));
			s.count = 0;
		}
		s.count += gnn_bucket_ops(l)->restore(l, span.key, span.count, bucket, both_ways,
			s.edge + s.count, weighted ? s.weight + s.count : NULL);
	}
	if (s.count > 0)
		GNN_TRY(fn(with, &s));
out:
	return rc;
}

static void part_ids(const struct slice *s, uint64_t *src, uint64_t *dst)
{
	for (uint64_t i = 0; i < s->count; i++) {
		src[i] = s->edge[i] >> ID_BITS;
		dst[i] = (uint32_t)s->edge[i];
	}
}

static int hand_on(const void *with, struct slice *s)
{
	uint64_t src[SLICE_EDGES], dst[SLICE_EDGES];
	const struct gnn_bucketwalk_opts *o = with;

	part_ids(s, src, dst);
	return o->fn(o->receiver, &(struct gnn_edges){
		src, dst, s->weighted ? s->weight : NULL, s->count});
}

int gnn_bucketwalk(const struct gnn_bucketset *set, uint32_t bucket,
	const struct gnn_bucketwalk_opts *o)
{
	return walk(set, bucket, o->weighted, o->both_ways, hand_on, o);
}

static void map_ids(const struct gnn_bucketrelay *r, struct slice *s)
{
	uint64_t id[2 * SLICE_EDGES], *dst = id + s->count;

	part_ids(s, id, dst);
	r->map(r->with, id, 2 * s->count);
	for (uint64_t i = 0; i < s->count; i++)
		s->edge[i] = id[i] << ID_BITS | dst[i];
}

static int relay(const void *with, struct slice *s)
{
	const struct gnn_bucketrelay *r = with;
	const struct gnn_bucket_layout *l = gnn_bucketset_layout(r->to);
	struct gnn_bucket_writer *w;
	int rc;

	if (r->map != NULL)
		map_ids(r, s);
	GNN_TRY(gnn_bucketset_writer(r->to, r->writer, &w));
	gnn_bucket_ops(l)->by_src(w, l, s->edge, s->weighted ? s->weight : NULL, s->count,
		r->both_ways);
	rc = w->status;
out:
	return rc;
}

int gnn_bucketwalk_relay(const struct gnn_bucketset *set, uint32_t bucket,
	const struct gnn_bucketrelay *r)
{
	return walk(set, bucket, r->weighted, r->both_ways, relay, r);
}
