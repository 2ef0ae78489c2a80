/* train/mix.c - see mix.h. */
#include "train/mix.h"

uint64_t gnn_mix_words(const struct gnn_mix *m)
{
	return 3 * (m->cold + m->hot);
}

void gnn_mix_lay(struct gnn_mix *m, const uint64_t *words)
{
	const uint64_t rows = m->cold + m->hot;

	m->from = words;
	m->row = words + rows;
	m->kept_row = words + 2 * rows;
	m->cold_id = words + 2 * rows + m->hot;
}

/* Where the i-th of a batch's vertices is kept, or GNN_NOT_HOT. */
struct rows {
	const gnn_vid  *id;
	const uint32_t *place, *row;  /* of a plan, or: */
	const struct gnn_mix *from;
	uint64_t        kept;         /* rows of it from there on are not hot */
};

static uint32_t row_of(const struct rows *r, uint64_t i)
{
	uint64_t at;

	if (r->from == NULL)
		return r->place[r->id[i]] == GNN_NOT_HOT ? GNN_NOT_HOT : r->row[r->place[r->id[i]]];
	at = r->from->from[i];
	if (at < r->from->cold || r->from->kept_row[at - r->from->cold] >= r->kept)
		return GNN_NOT_HOT;
	return (uint32_t)r->from->kept_row[at - r->from->cold];
}

static int split(struct gnn_mix *m, struct gnn_room *room, const struct rows *r, uint64_t count)
{
	uint64_t *words, cold = 0, hot = 0;
	int rc;

	GNN_TRY(gnn_room_take(room, 3 * count, sizeof(*words)));
	words = room->data;
	*m = (struct gnn_mix){0};
	for (uint64_t i = 0; i < count; i++)
		m->hot += row_of(r, i) != GNN_NOT_HOT;
	m->cold = count - m->hot;
	gnn_mix_lay(m, words);
	for (uint64_t i = 0; i < count; i++) {
		const uint32_t kept = row_of(r, i);
		const uint64_t at = kept == GNN_NOT_HOT ? cold : m->cold + hot;

		words[i] = at;
		words[count + at] = i;
		if (kept == GNN_NOT_HOT)
			words[2 * count + m->hot + cold++] = r->id[i];
		else
			words[2 * count + hot++] = kept;
	}
out:
	return rc;
}

int gnn_mix_split(struct gnn_mix *m, struct gnn_room *room, const gnn_vid *id, uint64_t count,
	const uint32_t *place, const uint32_t *row)
{
	return split(m, room, &(struct rows){.id = id, .place = place, .row = row}, count);
}

int gnn_mix_cut(struct gnn_mix *m, struct gnn_room *room, const struct gnn_mix *from,
	const gnn_vid *id, uint64_t kept)
{
	return split(m, room, &(struct rows){.id = id, .from = from, .kept = kept},
		from->cold + from->hot);
}
