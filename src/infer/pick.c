/* infer/pick.c - see pick.h. */
#include "infer/pick.h"

#include "base/mem.h"

enum { ROOM_MIN = 256 };

int gnn_pick_init(struct gnn_pick *p, uint64_t k_max)
{
	int rc;

	*p = (struct gnn_pick){.room = gnn_max_u64(2 * k_max, ROOM_MIN)};
	GNN_NEW_ARRAY(p->hash, p->room, GNN_MEM_TOPOLOGY);
out:
	return rc;
}

void gnn_pick_fini(struct gnn_pick *p)
{
	gnn_mem_free(p->hash);
	*p = (struct gnn_pick){0};
}

void gnn_pick_begin(struct gnn_pick *p, uint64_t k)
{
	p->k = k;
	p->count = 0;
	p->bound = UINT64_MAX;
	p->last = UINT64_MAX;
	p->copy = 0;
}

static void swap(uint64_t *a, uint64_t *b)
{
	uint64_t c = *a;

	*a = *b;
	*b = c;
}

/* Orders h so that h[k] is the one that sorting would put there, with no larger one in front. */
static void select_at(uint64_t *h, uint64_t count, uint64_t k)
{
	uint64_t low = 0, high = count; /* h[k] is from [low, high) */

	while (high - low > 1) {
		uint64_t pivot = h[low + (high - low - 1) / 2], i = low, j = high - 1;

		for (;;) {
			while (h[i] < pivot)
				i++;
			while (h[j] > pivot)
				j--;
			if (i >= j)
				break;
			swap(&h[i++], &h[j--]);
		}
		/* [low, j] are no larger than the pivot, [j + 1, high) no smaller; both stay. */
		if (k <= j)
			high = j + 1;
		else
			low = j + 1;
	}
}

/* Keeps the k smallest. */
static void shrink(struct gnn_pick *p)
{
	select_at(p->hash, p->count, p->k - 1);
	p->count = p->k;
	p->bound = p->hash[p->k - 1];
}

gnn_vid gnn_pick_edges(struct gnn_pick *p, const struct gnn_draw *s, uint64_t vertices,
	gnn_vid v, const struct gnn_inlist_part *part, uint64_t i, uint64_t count)
{
	uint64_t target = gnn_draw_target(s, v), end = i + count;

	for (; i < end; i++) {
		gnn_vid u = gnn_inlist_neighbor(part, i);
		uint64_t hash;

		p->copy = u == p->last ? p->copy + 1 : 0;
		p->last = u;
		if (u >= vertices || p->copy >> (64 - s->id_bits) != 0)
			return v;
		if (u == v && s->loops != NULL)
			continue;
		hash = gnn_draw_hash(gnn_draw_source(s, u, p->copy), target);
		if (hash >= p->bound)
			continue;
		p->hash[p->count++] = hash;
		if (p->count == p->room)
			shrink(p);
	}
	return GNN_PICK_FINE;
}

uint64_t gnn_pick_end(struct gnn_pick *p)
{
	if (p->count > p->k)
		shrink(p);
	return p->count < p->k ? UINT64_MAX : p->bound;
}
