/* io/idset.c - see idset.h. */
#include "io/idset.h"

#include "base/mem.h"
#include "io/idlist.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	SEGMENT_BYTES_MAX = 1 << 20, /* of bits */
	SEGMENT_BYTES_MIN = 1 << 12,
	SEGMENTS_WANTED = 16,        /* at least, where there is little memory */
	WORD_BITS = 64,
	WINDOW = 4096,               /* ids read at a time */
};

struct segment {
	atomic_uint_fast64_t *_Atomic word; /* NULL until an id falls into it */
	uint32_t *before; /* ones in the words before, of this segment; after seal */
	uint64_t base;    /* ones in the segments before; after seal */
};

struct gnn_idset {
	struct gnn_scratch *scratch;
	uint32_t words;           /* of a segment */
	uint64_t segments;
	uint64_t limit;           /* segments x words x WORD_BITS */
	struct segment *segment;  /* (segments) */
	pthread_mutex_t lock;     /* guards the making of segments */
	struct gnn_idlist *list;  /* of the ids from the limit on */
	uint64_t bits;            /* ids below the limit; after seal */
};

struct gnn_idset_writer {
	struct gnn_idset *set;
	struct gnn_keyrun_writer *runs;
	struct gnn_keyrun run; /* of the ids from the limit on */
	bool in_run;
};

int gnn_idset_create(struct gnn_idset **out, struct gnn_scratch *s, uint64_t memory_bytes)
{
	uint64_t bits = memory_bytes / 3 * 2; /* bytes of bits; the ranks take half as much */
	uint64_t segment = SEGMENT_BYTES_MAX;
	struct gnn_idset *set = NULL;
	int rc = GNN_OK;

	*out = NULL;
	while (segment > SEGMENT_BYTES_MIN && bits / segment < SEGMENTS_WANTED)
		segment /= 2;
	GNN_NEW(set, GNN_MEM_SORT);
	pthread_mutex_init(&set->lock, NULL);
	set->scratch = s;
	set->words = (uint32_t)(segment / sizeof(uint64_t));
	set->segments = gnn_max_u64(1, bits / segment);
	set->limit = set->segments * set->words * WORD_BITS;
	GNN_NEW_ARRAY(set->segment, set->segments, GNN_MEM_SORT);
	GNN_TRY(gnn_idlist_create(&set->list, s));
	*out = set;
	set = NULL;
out:
	gnn_idset_destroy(set);
	return rc;
}

void gnn_idset_destroy(struct gnn_idset *set)
{
	if (set == NULL)
		return;
	gnn_idlist_destroy(set->list);
	for (uint64_t i = 0; set->segment != NULL && i < set->segments; i++) {
		gnn_mem_free(set->segment[i].word);
		gnn_mem_free(set->segment[i].before);
	}
	gnn_mem_free(set->segment);
	pthread_mutex_destroy(&set->lock);
	gnn_mem_free(set);
}

uint64_t gnn_idset_limit(const struct gnn_idset *set)
{
	return set->limit;
}

uint64_t gnn_idset_count(const struct gnn_idset *set)
{
	return set->bits + gnn_idlist_count(set->list);
}

/* --- writing --- */

int gnn_idset_writer_create(struct gnn_idset_writer **out, struct gnn_idset *set,
	struct gnn_keyrun_writer *runs)
{
	struct gnn_idset_writer *w = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_NEW(w, GNN_MEM_SORT);
	w->set = set;
	w->runs = runs;
	*out = w;
out:
	return rc;
}

void gnn_idset_writer_destroy(struct gnn_idset_writer *w)
{
	if (w == NULL)
		return;
	gnn_keyrun_fini(&w->run, w->set->scratch);
	gnn_mem_free(w);
}

static int make_segment(struct gnn_idset *set, struct segment *s)
{
	void *words;
	int rc = GNN_OK;

	pthread_mutex_lock(&set->lock);
	if (atomic_load(&s->word) == NULL) {
		rc = gnn_mem_new(&words, set->words, sizeof(*s->word), GNN_MEM_SORT);
		if (rc == GNN_OK)
			atomic_store(&s->word, words);
	}
	pthread_mutex_unlock(&set->lock);
	return rc;
}

/* Ids below the limit. Most have been seen before: then nothing is written. */
int gnn_idset_add(struct gnn_idset *set, const uint64_t *ids, uint64_t count)
{
	uint64_t i = 0;
	int rc = GNN_OK;

	while (i < count) {
		uint64_t number = ids[i] / WORD_BITS, bits = 0;
		struct segment *s = &set->segment[number / set->words];
		atomic_uint_fast64_t *word = atomic_load_explicit(&s->word, memory_order_acquire);

		if (word == NULL) {
			GNN_TRY(make_segment(set, s));
			continue;
		}
		word += number % set->words;
		do
			bits |= (uint64_t)1 << ids[i++] % WORD_BITS;
		while (i < count && ids[i] / WORD_BITS == number);
		if ((atomic_load_explicit(word, memory_order_relaxed) & bits) != bits)
			atomic_fetch_or_explicit(word, bits, memory_order_relaxed);
	}
out:
	return rc;
}

int gnn_idset_writer_push(struct gnn_idset_writer *w, const uint64_t *ids, uint64_t count)
{
	struct gnn_idset *set = w->set;
	uint64_t small = gnn_keys(false)->upto(ids, 0, count, gnn_key_make(set->limit, 0), false);
	int rc;

	GNN_TRY(gnn_idset_add(set, ids, small));
	if (small == count)
		goto out;
	if (!w->in_run)
		gnn_keyrun_writer_begin(w->runs, &w->run, 0, false);
	w->in_run = true;
	/* An id is a key with an end of 0. */
	GNN_TRY(gnn_keyrun_writer_push(w->runs, ids + small, NULL, count - small));
out:
	return rc;
}

int gnn_idset_writer_end(struct gnn_idset_writer *w)
{
	int rc;

	if (!w->in_run)
		return GNN_OK;
	GNN_TRY(gnn_keyrun_writer_end(w->runs));
	GNN_TRY(gnn_idlist_add(w->set->list, &w->run));
	w->in_run = false;
out:
	return rc;
}

/* --- sealing --- */

static inline uint32_t ones_in(uint64_t x)
{
	x -= x >> 1 & 0x5555555555555555u;
	x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
	return (uint32_t)(x * 0x0101010101010101u >> 56);
}

static int count_bits(struct gnn_idset *set)
{
	int rc = GNN_OK;

	for (uint64_t i = 0; i < set->segments; i++) {
		struct segment *s = &set->segment[i];
		uint32_t ones = 0;

		s->base = set->bits;
		if (s->word == NULL)
			continue;
		GNN_NEW_ARRAY(s->before, set->words, GNN_MEM_SORT);
		for (uint32_t k = 0; k < set->words; k++) {
			uint64_t word = s->word[k];

			s->before[k] = ones;
			ones += ones_in(word);
		}
		set->bits += ones;
	}
out:
	return rc;
}

int gnn_idset_seal(struct gnn_idset *set, uint64_t merge_bytes, uint64_t copy_bytes,
	uint32_t threads)
{
	int rc;

	GNN_TRY(count_bits(set));
	GNN_TRY(gnn_idlist_seal(set->list, merge_bytes, copy_bytes, threads));
out:
	return rc;
}

/* --- ranks --- */

static inline uint64_t rank_of(const struct gnn_idset *set, uint64_t id, bool *found)
{
	uint64_t number = id / WORD_BITS, bit = id % WORD_BITS, word;
	const struct segment *s = &set->segment[number / set->words];

	*found = s->before != NULL;
	if (!*found)
		return s->base;
	number %= set->words;
	word = atomic_load_explicit(&s->word[number], memory_order_relaxed);
	*found = word >> bit & 1;
	return s->base + s->before[number] + ones_in(word & (((uint64_t)1 << bit) - 1));
}

void gnn_idset_rank(const void *with, uint64_t *ids, uint64_t count)
{
	const struct gnn_idset *set = with;
	bool found;

	for (uint64_t i = 0; i < count; i++) {
		GNN_DASSERT(ids[i] < set->limit);
		ids[i] = rank_of(set, ids[i], &found);
		GNN_DASSERT(found);
	}
}

int gnn_idset_row_of(struct gnn_idset *set, uint64_t id, uint64_t *row)
{
	bool found;
	int rc;

	if (id < set->limit) {
		*row = rank_of(set, id, &found);
		return found ? GNN_OK : GNN_EOF;
	}
	rc = gnn_idlist_find(set->list, id, row);
	*row += set->bits;
	return rc;
}

void gnn_idset_end_lookups(struct gnn_idset *set)
{
	gnn_idlist_end_finds(set->list);
}

/* --- reading --- */

struct gnn_idset_reader {
	struct gnn_idset *set;
	uint64_t next_word;        /* of the bitmap */
	struct gnn_gather *gather; /* of the list; NULL while in the bitmap */
	uint64_t ids[WINDOW];
	uint64_t count, at;        /* of the ids, where rank is in them */
	uint64_t row;              /* of ids[at] */
};

int gnn_idset_reader_open(struct gnn_idset_reader **out, struct gnn_idset *set)
{
	struct gnn_idset_reader *r = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_NEW(r, GNN_MEM_SORT);
	r->set = set;
	*out = r;
out:
	return rc;
}

void gnn_idset_reader_close(struct gnn_idset_reader *r)
{
	if (r == NULL)
		return;
	gnn_gather_close(r->gather);
	gnn_mem_free(r);
}

static uint64_t read_bits(struct gnn_idset_reader *r)
{
	const struct gnn_idset *set = r->set;
	uint64_t words = set->segments * set->words, n = 0;

	while (r->next_word < words && n + WORD_BITS <= WINDOW) {
		const struct segment *s = &set->segment[r->next_word / set->words];
		uint64_t bits;

		if (s->before == NULL) {
			r->next_word += set->words;
			continue;
		}
		bits = s->word[r->next_word % set->words];
		for (; bits != 0; bits &= bits - 1)
			r->ids[n++] = r->next_word * WORD_BITS + (uint64_t)__builtin_ctzll(bits);
		r->next_word++;
	}
	return n;
}

/* The next ids; their number is 0 at the end. */
static int fill(struct gnn_idset_reader *r, uint64_t *count)
{
	struct gnn_gathered got = {.key = r->ids};
	int rc = GNN_OK;

	*count = r->gather == NULL ? read_bits(r) : 0;
	if (*count > 0 || gnn_idlist_count(r->set->list) == 0)
		return GNN_OK;
	if (r->gather == NULL)
		GNN_TRY(gnn_idlist_read(r->set->list, WINDOW, &r->gather));
	GNN_TRY(gnn_gather_next(r->gather, &got));
	*count = got.count;
out:
	return rc;
}

int gnn_idset_reader_next(struct gnn_idset_reader *r, const uint64_t **ids, uint64_t *count)
{
	int rc = fill(r, count);

	*ids = r->ids;
	return rc < 0 || *count > 0 ? rc : GNN_EOF;
}

int gnn_idset_reader_rank(struct gnn_idset_reader *r, uint64_t *ids, uint64_t count)
{
	int rc = GNN_OK;

	for (uint64_t i = 0; i < count; i++) {
		while (r->at == r->count || r->ids[r->at] < ids[i]) {
			if (r->at < r->count) {
				r->at++;
				r->row++;
				continue;
			}
			GNN_TRY(fill(r, &r->count));
			GNN_ASSERT(r->count > 0);
			r->at = 0;
		}
		GNN_ASSERT(r->ids[r->at] == ids[i]);
		ids[i] = r->row;
	}
out:
	return rc;
}
