/* io/keyrun.c - see keyrun.h. */
#include "io/keyrun.h"

#include "base/mem.h"
#include "io/hash.h"

#include <string.h>

/* In front of every piece, in memory and on disk alike. */
struct head {
	uint64_t sum; /* XXH3 of the piece from the next field on */
	uint32_t bytes;
	uint32_t count;
	uint64_t first_major, first_minor;
};

_Static_assert(sizeof(struct head) == 32, "the head of a piece has no holes");

struct gnn_keyrun_writer {
	struct gnn_scratch *scratch;
	struct gnn_scratch_writer *out;
	const struct gnn_key_ops *ops;
	struct gnn_keyrun *run;
	uint8_t *piece;      /* being filled, or NULL */
	uint64_t used;
	uint64_t group_max;  /* bytes of a group at most, slack included */
	struct gnn_piece_entry entry; /* of the piece being filled */
	gnn_key last;        /* of the run's width */
	gnn_key key[GNN_KEY_GROUP]; /* keys of the run's width, until a group is whole */
	float weight[GNN_KEY_GROUP];
	uint32_t fill;
};

/* --- runs --- */

void gnn_keyrun_fini(struct gnn_keyrun *run, struct gnn_scratch *s)
{
	for (uint32_t i = 0; i < run->count; i++)
		gnn_scratch_drop(s, &run->piece[i].place);
	gnn_mem_free(run->piece);
	*run = (struct gnn_keyrun){0};
}

int gnn_keyruns_reach(struct gnn_keyruns *list, uint32_t at)
{
	void *block = list->run;
	int rc = GNN_OK;

	if (at >= list->room) {
		uint32_t room = at + 1 + list->room;

		GNN_TRY(gnn_mem_resize(&block, room, sizeof(*list->run), GNN_MEM_SORT));
		list->run = block;
		list->room = room;
	}
	if (at >= list->count)
		list->count = at + 1;
out:
	return rc;
}

void gnn_keyruns_fini(struct gnn_keyruns *list, struct gnn_scratch *s)
{
	for (uint32_t i = 0; i < list->count; i++)
		gnn_keyrun_fini(&list->run[i], s);
	gnn_mem_free(list->run);
	*list = (struct gnn_keyruns){0};
}

uint32_t gnn_keyruns_end(const struct gnn_keyruns *list)
{
	uint32_t end = 0;

	for (uint32_t i = 0; i < list->count; i++)
		end = end > list->run[i].end ? end : list->run[i].end;
	return end;
}

uint32_t gnn_keyruns_in_file(const struct gnn_keyruns *list)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < list->count; i++) {
		uint32_t p = 0;

		while (p < list->run[i].count && list->run[i].piece[p].place.memory != NULL)
			p++;
		count += p < list->run[i].count;
	}
	return count;
}

/* --- writing --- */

int gnn_keyrun_writer_open(struct gnn_keyrun_writer **out, struct gnn_scratch *s)
{
	struct gnn_keyrun_writer *w = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_NEW(w, GNN_MEM_SORT);
	w->scratch = s;
	GNN_TRY(gnn_scratch_writer_open(&w->out, s));
	*out = w;
	w = NULL;
out:
	gnn_mem_free(w);
	return rc;
}

void gnn_keyrun_writer_begin(struct gnn_keyrun_writer *w, struct gnn_keyrun *run, uint32_t end,
	bool weighted)
{
	bool wide = end > GNN_KEY_END_NARROW;

	GNN_ASSERT(w->run == NULL && w->piece == NULL && w->fill == 0);
	*run = (struct gnn_keyrun){.wide = wide, .weighted = weighted, .end = (uint8_t)end};
	w->run = run;
	w->ops = gnn_keys(wide);
	w->group_max = GNN_KEY_GROUP / 2 + GNN_KEY_GROUP * w->ops->bytes + GNN_KEY_SLACK +
		(weighted ? GNN_KEY_GROUP * sizeof(float) : 0);
	GNN_ASSERT(sizeof(struct head) + w->group_max <= gnn_scratch_piece_bytes(w->scratch));
}

static int end_piece(struct gnn_keyrun_writer *w)
{
	struct gnn_keyrun *run = w->run;
	struct head h = {
		.bytes = (uint32_t)w->used,
		.count = w->entry.count,
		.first_major = w->entry.first_major,
		.first_minor = w->entry.first_minor,
	};
	void *block = run->piece;
	int rc = GNN_OK;

	if (w->piece == NULL)
		return GNN_OK;
	memcpy(w->piece, &h, sizeof(h));
	h.sum = gnn_hash(w->piece + sizeof(h.sum), w->used - sizeof(h.sum));
	memcpy(w->piece, &h.sum, sizeof(h.sum));
	if (run->count == run->room) {
		GNN_TRY(gnn_mem_resize(&block, run->room * 2 + 4, sizeof(*run->piece),
			GNN_MEM_SORT));
		run->piece = block;
		run->room = run->room * 2 + 4;
	}
	w->entry.bytes = (uint32_t)w->used;
	GNN_TRY(gnn_scratch_writer_store(w->out, w->used, &w->entry.place));
	run->piece[run->count++] = w->entry;
	run->keys += w->entry.count;
	w->piece = NULL;
out:
	return rc;
}

static int begin_piece(struct gnn_keyrun_writer *w, const void *key)
{
	gnn_key first = w->ops->at(key, w->run->end, 0);
	int rc;

	GNN_TRY(gnn_scratch_writer_take(w->out, &w->piece));
	w->used = sizeof(struct head);
	w->entry = (struct gnn_piece_entry){
		.first_major = (uint64_t)(first >> 64),
		.first_minor = (uint64_t)first,
	};
	memcpy(&w->last, key, w->ops->bytes);
out:
	return rc;
}

static int put_group(struct gnn_keyrun_writer *w, const void *key, const float *weight,
	uint32_t count)
{
	int rc = GNN_OK;

	if (w->piece != NULL && w->used + w->group_max > gnn_scratch_piece_bytes(w->scratch))
		GNN_TRY(end_piece(w));
	if (w->piece == NULL)
		GNN_TRY(begin_piece(w, key));
	w->used += w->ops->encode(&w->last, key, count, w->piece + w->used);
	if (w->run->weighted) {
		memcpy(w->piece + w->used, weight, count * sizeof(float));
		w->used += count * sizeof(float);
	}
	w->entry.count += count;
out:
	return rc;
}

/* Fills the group that is kept here; returns the keys taken. */
static uint64_t fill_group(struct gnn_keyrun_writer *w, const void *key, const float *weight,
	uint64_t count)
{
	uint64_t n = gnn_min_u64(count, GNN_KEY_GROUP - w->fill);

	memcpy((uint8_t *)w->key + w->fill * w->ops->bytes, key, n * w->ops->bytes);
	if (w->run->weighted)
		memcpy(w->weight + w->fill, weight, n * sizeof(float));
	w->fill += (uint32_t)n;
	return n;
}

int gnn_keyrun_writer_push(struct gnn_keyrun_writer *w, const void *key, const float *weight,
	uint64_t count)
{
	const uint8_t *k = key;
	uint32_t bytes = w->ops->bytes;
	uint64_t i = 0;
	int rc = GNN_OK;

	GNN_ASSERT(w->run != NULL && (weight != NULL || !w->run->weighted || count == 0));
	while (i < count) {
		if (w->fill > 0 || count - i < GNN_KEY_GROUP) {
			i += fill_group(w, k + i * bytes, weight == NULL ? NULL : weight + i,
				count - i);
			if (w->fill < GNN_KEY_GROUP)
				break;
			w->fill = 0;
			GNN_TRY(put_group(w, w->key, w->weight, GNN_KEY_GROUP));
			continue;
		}
		GNN_TRY(put_group(w, k + i * bytes, weight == NULL ? NULL : weight + i,
			GNN_KEY_GROUP));
		i += GNN_KEY_GROUP;
	}
out:
	return rc;
}

int gnn_keyrun_writer_end(struct gnn_keyrun_writer *w)
{
	uint32_t fill = w->fill;
	int rc = GNN_OK;

	GNN_ASSERT(w->run != NULL);
	w->fill = 0;
	if (fill > 0)
		GNN_TRY(put_group(w, w->key, w->weight, fill));
	GNN_TRY(end_piece(w));
	w->run = NULL;
out:
	return rc;
}

int gnn_keyrun_writer_close(struct gnn_keyrun_writer **writer)
{
	struct gnn_keyrun_writer *w = *writer;
	int rc;

	*writer = NULL;
	if (w == NULL)
		return GNN_OK;
	rc = gnn_scratch_writer_close(&w->out);
	gnn_mem_free(w);
	return rc;
}

/* --- reading --- */

int gnn_piece_open(struct gnn_piece_cursor *c, const struct gnn_keyrun *run, uint32_t number,
	const uint8_t *piece)
{
	const struct gnn_piece_entry *e = &run->piece[number];
	struct head h;

	memcpy(&h, piece, sizeof(h));
	if (h.bytes != e->bytes || h.count != e->count || h.first_major != e->first_major ||
		h.first_minor != e->first_minor ||
		h.sum != gnn_hash(piece + sizeof(h.sum), e->bytes - sizeof(h.sum)))
		return gnn_err(GNN_EIO, "scratch file: the piece of %u bytes at offset %llu does "
			"not read back as it was written: disk or memory is faulty", e->bytes,
			(unsigned long long)e->place.offset);
	*c = (struct gnn_piece_cursor){.at = piece + sizeof(h), .left = e->count};
	if (run->wide) {
		c->last = gnn_piece_first(e);
	} else {
		uint64_t first = e->first_major << run->end | e->first_minor;

		memcpy(&c->last, &first, sizeof(first));
	}
	return GNN_OK;
}

uint32_t gnn_piece_decode(struct gnn_piece_cursor *c, const struct gnn_keyrun *run, void *key,
	float *weight)
{
	uint32_t count = c->left < GNN_KEY_GROUP ? c->left : GNN_KEY_GROUP;

	c->at += gnn_keys(run->wide)->decode(&c->last, c->at, count, key);
	if (run->weighted) {
		memcpy(weight, c->at, count * sizeof(float));
		c->at += count * sizeof(float);
	}
	c->left -= count;
	return count;
}
