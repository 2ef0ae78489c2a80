/* train/owners.c - see owners.h. */
#include "train/owners.h"

#include "base/mem.h"
#include "base/rng.h"
#include "train/params.h"

#include <string.h>

enum { TAG_ASK = 110, TAG_ANSWER, LAYER_BITS = 5 };

_Static_assert(GNN_NET_LAYERS_MAX <= 1 << LAYER_BITS, "a layer in the low bits of a question");

/* Of a vertex that somebody asked for, in an open table. */
struct known {
	gnn_vid  id;
	uint32_t taken; /* layers that a rank counts it in; 0: a free place */
};

struct gnn_owners {
	struct gnn_comm    *comm;
	struct gnn_backend *backend;
	uint32_t            rank, size;
	uint64_t           *sizes;    /* (P, P) questions of a rank to a home */
	uint64_t           *at;       /* (P + 1) of those to each home, then of those to here */
	uint64_t           *here;     /* (P + 1) */
	struct gnn_comm_request **request; /* (2, P) */
	struct gnn_room     id;       /* of a device, in host memory */
	struct gnn_room     place;    /* (n) row of each question */
	struct gnn_room     ask;      /* (n) id << LAYER_BITS | highest layer, by home */
	struct gnn_room     asked;    /* likewise of the others to this home */
	struct gnn_room     answer, answered; /* (n) words of the same */
	struct gnn_room     counts;   /* (n) by row */
	struct gnn_room     table;
};

int gnn_owners_create(struct gnn_owners **out, struct gnn_comm *c, struct gnn_backend *b)
{
	const uint64_t size = gnn_comm_size(c);
	struct gnn_owners *o = NULL;
	int rc;

	*out = NULL;
	GNN_NEW(o, GNN_MEM_MISC);
	o->comm = c;
	o->backend = b;
	o->rank = gnn_comm_rank(c);
	o->size = (uint32_t)size;
	GNN_NEW_ARRAY(o->sizes, size * size, GNN_MEM_MISC);
	GNN_NEW_ARRAY(o->at, size + 1, GNN_MEM_MISC);
	GNN_NEW_ARRAY(o->here, size + 1, GNN_MEM_MISC);
	GNN_NEW_ARRAY(o->request, 2 * size, GNN_MEM_MISC);
	*out = o;
	o = NULL;
out:
	gnn_owners_destroy(o);
	return rc;
}

void gnn_owners_destroy(struct gnn_owners *o)
{
	if (o == NULL)
		return;
	struct gnn_room *const rooms[] = {&o->ask, &o->asked, &o->answer, &o->answered};

	for (uint32_t i = 0; i < GNN_COUNT_OF(rooms); i++)
		gnn_comm_keep(o->comm, rooms[i]->data);
	gnn_room_fini(&o->id);
	gnn_room_fini(&o->place);
	gnn_room_fini(&o->counts);
	gnn_room_fini(&o->table);
	gnn_mem_free(o->sizes);
	gnn_mem_free(o->at);
	gnn_mem_free(o->here);
	gnn_mem_free(o->request);
	gnn_mem_free(o);
}

/* Ids of the rows, where the host reads them. */
static int read_ids(struct gnn_owners *o, const struct gnn_sample *s, uint64_t count,
	const gnn_vid **id)
{
	const uint64_t bytes = count * sizeof(gnn_vid);
	int rc = GNN_OK;

	*id = s->id;
	if (o->backend->ops->unified)
		return GNN_OK;
	GNN_TRY(gnn_room_take(&o->id, count, sizeof(gnn_vid)));
	GNN_TRY(o->backend->ops->copy(o->backend, o->id.data, bytes, s->id, bytes, bytes, 1));
	GNN_TRY(o->backend->ops->sync(o->backend));
	*id = o->id.data;
out:
	return rc;
}

/* The highest layer that has row `row` among its destinations; blocks shrink upwards. */
static uint32_t highest(const struct gnn_sample *s, uint64_t row)
{
	uint32_t l = 0;

	while (l + 1 < s->layers && row < s->block[l + 1].dst_count)
		l++;
	return l;
}

/* The questions of this rank, by home, and how many there are of everybody. */
static int write_questions(struct gnn_owners *o, const struct gnn_sample *s)
{
	const uint64_t count = s->block[0].dst_count;
	const gnn_vid *id;
	uint64_t *ask, *place, *next;
	int rc;

	GNN_TRY(read_ids(o, s, count, &id));
	GNN_TRY(gnn_room_take(&o->ask, count, sizeof(*ask)));
	GNN_TRY(gnn_room_take(&o->place, count, sizeof(*place)));
	ask = o->ask.data;
	place = o->place.data;
	next = o->here; /* filled anew behind */
	memset(o->at, 0, (o->size + UINT64_C(1)) * sizeof(*o->at));
	for (uint64_t i = 0; i < count; i++)
		o->at[id[i] % o->size + 1]++;
	GNN_TRY(gnn_comm_gather(o->comm, o->at + 1, o->size * sizeof(*o->at), o->sizes));
	for (uint32_t h = 0; h < o->size; h++) {
		o->at[h + 1] += o->at[h];
		next[h] = o->at[h];
	}
	for (uint64_t i = 0; i < count; i++) {
		const uint64_t to = next[id[i] % o->size]++;

		ask[to] = id[i] << LAYER_BITS | highest(s, i);
		place[to] = i;
	}
	o->here[0] = 0;
	for (uint32_t r = 0; r < o->size; r++)
		o->here[r + 1] = o->here[r] + o->sizes[r * o->size + o->rank];
out:
	return rc;
}

/* Pieces of one list to all ranks, and theirs into another; own pieces are copied. */
struct swap {
	uint32_t        tag;
	const char     *out;
	const uint64_t *out_at; /* (P + 1) items */
	char           *in;
	const uint64_t *in_at;
	uint64_t        item;
};

static int post_all(struct gnn_owners *o, const struct swap *x)
{
	int rc = GNN_OK;

	for (uint32_t r = 0; r < o->size; r++) {
		const uint64_t out = (x->out_at[r + 1] - x->out_at[r]) * x->item;
		const uint64_t in = (x->in_at[r + 1] - x->in_at[r]) * x->item;

		if (r == o->rank) {
			GNN_ASSERT(in == out);
			memcpy(x->in + x->in_at[r] * x->item, x->out + x->out_at[r] * x->item, in);
			continue;
		}
		if (in > 0)
			GNN_TRY(gnn_comm_recv(o->comm, r, x->tag, x->in + x->in_at[r] * x->item,
				in, &o->request[r]));
		if (out > 0)
			GNN_TRY(gnn_comm_send(o->comm, r, x->tag, x->out + x->out_at[r] * x->item,
				out, &o->request[o->size + r]));
	}
out:
	return rc;
}

static int swap_all(struct gnn_owners *o, const struct swap *x)
{
	int rc = post_all(o, x);

	if (rc < 0) /* others must hear of it: what was posted is waited for */
		(void)gnn_comm_agree(o->comm, rc);
	for (uint32_t i = 0; i < 2 * o->size; i++) {
		const int one = gnn_comm_wait(o->comm, &o->request[i]);

		rc = rc < 0 ? rc : one;
	}
	return rc;
}

static struct known *look_up(struct known *table, uint64_t mask, gnn_vid id)
{
	uint64_t i = gnn_rng_u64(id, 0, 0) & mask;

	while (table[i].taken != 0 && table[i].id != id)
		i = (i + 1) & mask;
	table[i].id = id;
	return &table[i];
}

/* Rank by rank, so that the lowest takes a layer first. */
static int answer(struct gnn_owners *o)
{
	const uint64_t total = o->here[o->size], *asked = o->asked.data;
	uint32_t *words;
	uint64_t places = 2;
	int rc;

	while (places < 2 * total)
		places *= 2;
	GNN_TRY(gnn_room_take(&o->table, places, sizeof(struct known)));
	memset(o->table.data, 0, places * sizeof(struct known));
	GNN_TRY(gnn_room_take(&o->answer, total, sizeof(*words)));
	words = o->answer.data;
	for (uint64_t i = 0; i < total; i++) {
		const uint32_t top = (uint32_t)(asked[i] & ((1 << LAYER_BITS) - 1));
		const uint32_t layers = UINT32_MAX >> (31 - top);
		struct known *k = look_up(o->table.data, places - 1, asked[i] >> LAYER_BITS);

		words[i] = layers & ~k->taken;
		k->taken |= layers;
	}
out:
	return rc;
}

int gnn_owners_find(struct gnn_owners *o, const struct gnn_sample *s, const uint32_t **counts)
{
	const uint64_t count = s->block[0].dst_count, *place;
	const uint32_t *answered;
	uint32_t *to;
	int rc;

	*counts = NULL;
	GNN_TRY(write_questions(o, s));
	GNN_TRY(gnn_room_take(&o->asked, o->here[o->size], sizeof(uint64_t)));
	GNN_TRY(swap_all(o, &(struct swap){TAG_ASK, o->ask.data, o->at, o->asked.data, o->here,
		sizeof(uint64_t)}));
	GNN_TRY(answer(o));
	GNN_TRY(gnn_room_take(&o->answered, count, sizeof(uint32_t)));
	GNN_TRY(swap_all(o, &(struct swap){TAG_ANSWER, o->answer.data, o->here,
		o->answered.data, o->at, sizeof(uint32_t)}));
	GNN_TRY(gnn_room_take(&o->counts, count, sizeof(*to)));
	to = o->counts.data;
	place = o->place.data;
	answered = o->answered.data;
	for (uint64_t i = 0; i < count; i++)
		to[place[i]] = answered[i];
	*counts = to;
out:
	return rc;
}
