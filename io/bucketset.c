/* io/bucketset.c - see bucketset.h. */
#include "io/bucketset.h"

#include "base/mem.h"

#include <pthread.h>
#include <string.h>

struct part {
	uint32_t writer;
	uint32_t *end; /* (buckets) keys of the writer up to its end */
};

struct gnn_bucketset {
	struct gnn_bucket_layout layout;
	struct gnn_chunks *chunks;
	uint32_t bytes, chunk_keys; /* of a key; in a chunk */
	struct gnn_bucket_writer writer[GNN_BUCKET_WRITERS_MAX];
	uint32_t writers;
	bool ended;
	pthread_mutex_t lock;       /* guards the list: */
	struct part *part;
	uint32_t parts, room;
};

uint64_t gnn_bucketset_writer_bytes(const struct gnn_bucket_layout *l)
{
	return l->count * (GNN_BUCKET_LINE_BYTES + sizeof(uint32_t) + sizeof(uint8_t *) +
		sizeof(struct gnn_chunk *));
}

uint64_t gnn_bucketset_part_bytes(const struct gnn_bucket_layout *l)
{
	return l->count * sizeof(uint32_t) + 2 * sizeof(struct part);
}

int gnn_bucketset_create(struct gnn_bucketset **out, const struct gnn_bucket_layout *l,
	struct gnn_chunks *chunks, uint32_t writers)
{
	struct gnn_bucketset *s = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_ASSERT(writers <= GNN_BUCKET_WRITERS_MAX);
	GNN_NEW(s, GNN_MEM_SORT);
	pthread_mutex_init(&s->lock, NULL);
	s->layout = *l;
	s->chunks = chunks;
	s->bytes = gnn_bucket_ops(l)->bytes;
	s->chunk_keys = (uint32_t)(gnn_chunks_bytes(chunks) - GNN_CHUNK_HEAD_BYTES) / s->bytes;
	s->writers = writers;
	*out = s;
out:
	return rc;
}

const struct gnn_bucket_layout *gnn_bucketset_layout(const struct gnn_bucketset *s)
{
	return &s->layout;
}

static void list_chunks(struct gnn_bucketset *s, uint32_t bucket, struct gnn_chunk_list *to)
{
	for (uint32_t i = 0; i < s->writers; i++) {
		struct gnn_chunk **head = s->writer[i].head, *chunk, *next;

		if (head == NULL)
			continue;
		for (chunk = head[bucket]; chunk != NULL; chunk = next) {
			next = chunk->next;
			gnn_chunk_put(to, chunk);
		}
		head[bucket] = NULL;
	}
}

void gnn_bucketset_drop(struct gnn_bucketset *s, uint32_t bucket)
{
	struct gnn_chunk_list idle = {0};

	list_chunks(s, bucket, &idle);
	gnn_chunks_give(s->chunks, &idle);
}

void gnn_bucketset_move(struct gnn_bucketset *s, uint32_t bucket, struct gnn_bucketset *to,
	uint32_t writer)
{
	list_chunks(s, bucket, &to->writer[writer].idle);
}

void gnn_bucketset_destroy(struct gnn_bucketset *s)
{
	if (s == NULL)
		return;
	for (uint32_t k = 0; k < s->layout.count; k++)
		gnn_bucketset_drop(s, k);
	for (uint32_t i = 0; i < s->writers; i++) {
		if (s->writer[i].waste != NULL)
			gnn_chunk_put(&s->writer[i].idle, s->writer[i].waste);
		gnn_chunks_give(s->chunks, &s->writer[i].idle);
		gnn_mem_free(s->writer[i].line);
		gnn_mem_free(s->writer[i].count);
		gnn_mem_free(s->writer[i].at);
		gnn_mem_free(s->writer[i].head);
	}
	for (uint32_t i = 0; i < s->parts; i++)
		gnn_mem_free(s->part[i].end);
	gnn_mem_free(s->part);
	pthread_mutex_destroy(&s->lock);
	gnn_mem_free(s);
}

/* --- writing --- */

static int open_writer(struct gnn_bucketset *s, struct gnn_bucket_writer *w)
{
	uint32_t buckets = s->layout.count;
	void *block;
	int rc;

	w->chunks = s->chunks;
	w->chunk_mask = gnn_chunks_bytes(s->chunks) - 1;
	GNN_TRY(gnn_chunks_fill(s->chunks, &w->idle, 1));
	w->waste = gnn_chunk_take(&w->idle);
	GNN_TRY(gnn_mem_pages(&block, (uint64_t)buckets * GNN_BUCKET_LINE_BYTES, GNN_MEM_SORT));
	memset(block, 0, (uint64_t)buckets * GNN_BUCKET_LINE_BYTES);
	w->line = block;
	GNN_NEW_ARRAY(w->count, buckets, GNN_MEM_SORT);
	GNN_NEW_ARRAY(w->at, buckets, GNN_MEM_SORT);
	GNN_NEW_ARRAY(w->head, buckets, GNN_MEM_SORT);
out:
	return rc;
}

int gnn_bucketset_writer(struct gnn_bucketset *s, uint32_t writer, struct gnn_bucket_writer **to)
{
	struct gnn_bucket_writer *w = &s->writer[writer];
	int rc = GNN_OK;

	GNN_ASSERT(writer < s->writers);
	if (w->head == NULL)
		GNN_TRY(open_writer(s, w));
	*to = w;
out:
	return rc;
}

int gnn_bucketset_part(struct gnn_bucketset *s, uint32_t writer, uint32_t part)
{
	uint64_t bytes = s->layout.count * sizeof(uint32_t);
	uint32_t *end = NULL;
	void *list;
	int rc = GNN_OK;

	if (s->writer[writer].count == NULL)
		return GNN_OK;
	GNN_NEW_ARRAY(end, s->layout.count, GNN_MEM_SORT);
	memcpy(end, s->writer[writer].count, bytes);
	pthread_mutex_lock(&s->lock);
	list = s->part;
	if (part >= s->room)
		rc = gnn_mem_resize(&list, 2 * (uint64_t)part + 16, sizeof(*s->part), GNN_MEM_SORT);
	if (rc == GNN_OK && part >= s->room)
		s->room = 2 * part + 16;
	GNN_ASSERT(part >= s->parts || s->part[part].end == NULL);
	if (rc == GNN_OK) {
		s->part = list;
		s->part[part] = (struct part){writer, end};
		s->parts = part >= s->parts ? part + 1 : s->parts;
		end = NULL;
	}
	pthread_mutex_unlock(&s->lock);
out:
	gnn_mem_free(end);
	return rc;
}

int gnn_bucketset_end(struct gnn_bucketset *s)
{
	int rc = GNN_OK;

	GNN_ASSERT(!s->ended);
	for (uint32_t i = 0; i < s->writers; i++) {
		struct gnn_bucket_writer *w = &s->writer[i];

		if (w->head == NULL)
			continue;
		gnn_bucket_end(w, &s->layout);
		gnn_chunks_give(s->chunks, &w->idle);
		GNN_TRY(w->status);
	}
	s->ended = true;
out:
	return rc;
}

bool gnn_bucketset_ended(const struct gnn_bucketset *s)
{
	return s->ended;
}

/* --- reading --- */

uint64_t gnn_bucketset_count(const struct gnn_bucketset *s, uint32_t bucket)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < s->writers; i++)
		if (s->writer[i].count != NULL)
			count += s->writer[i].count[bucket];
	return count;
}

void gnn_bucketset_read(const struct gnn_bucketset *s, uint32_t bucket,
	struct gnn_bucket_reader *r)
{
	r->set = s;
	r->bucket = bucket;
	r->bytes = s->bytes;
	r->part = 0;
	r->left = 0;
	for (uint32_t i = 0; i < s->writers; i++)
		r->place[i] = (struct gnn_bucket_place){
			.chunk = s->writer[i].head == NULL ? NULL : s->writer[i].head[bucket]};
}

bool gnn_bucket_reader_next(struct gnn_bucket_reader *r, struct gnn_bucket_span *span)
{
	const struct gnn_bucketset *s = r->set;
	struct gnn_bucket_place *at;

	while (r->left == 0) {
		const struct part *p;

		if (r->part == s->parts)
			return false;
		p = &s->part[r->part++];
		if (p->end == NULL)
			continue; /* a number that another set has */
		r->at = &r->place[p->writer];
		r->left = p->end[r->bucket] - r->at->done;
	}
	at = r->at;
	if (at->offset == s->chunk_keys) {
		at->chunk = at->chunk->next;
		at->offset = 0;
	}
	span->key = (uint8_t *)at->chunk + GNN_CHUNK_HEAD_BYTES + at->offset * s->bytes;
	span->count = gnn_min_u64(r->left, s->chunk_keys - at->offset);
	at->offset += span->count;
	at->done += span->count;
	r->left -= span->count;
	return true;
}

static void prefetch(const uint8_t *from, uint64_t bytes)
{
	for (uint64_t at = 0; at < bytes; at += GNN_BUCKET_LINE_BYTES)
		__builtin_prefetch(from + at, 0, 2);
}

void gnn_bucketset_prefetch(const struct gnn_bucketset *s, uint32_t bucket)
{
	uint64_t chunk_bytes = gnn_chunks_bytes(s->chunks);

	for (uint32_t i = 0; i < s->writers; i++) {
		const struct gnn_bucket_writer *w = &s->writer[i];
		uint64_t left = w->head == NULL ? 0 : (uint64_t)w->count[bucket] * s->bytes;
		const struct gnn_chunk *chunk = left == 0 ? NULL : w->head[bucket];

		for (; chunk != NULL; chunk = chunk->next) {
			uint64_t bytes = gnn_min_u64(left, chunk_bytes - GNN_CHUNK_HEAD_BYTES);

			prefetch((const uint8_t *)chunk + GNN_CHUNK_HEAD_BYTES, bytes);
			left -= bytes;
		}
	}
}
