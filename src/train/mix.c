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

static uint32_t row_of(gnn_vid v, const uint32_t *place, const uint32_t *row)
{
	return place[v] == GNN_NOT_HOT ? GNN_NOT_HOT : row[place[v]];
}

int gnn_mix_split(struct gnn_mix *m, struct gnn_room *room, const gnn_vid *id, uint64_t count,
	const uint32_t *place, const uint32_t *row)
{
	uint64_t *words, cold = 0, hot = 0;
	int rc;

	GNN_TRY(gnn_room_take(room, 3 * count, sizeof(*words)));
	words = room->data;
	*m = (struct gnn_mix){0};
	for (uint64_t i = 0; i < count; i++)
		m->hot += row_of(id[i], place, row) != GNN_NOT_HOT;
	m->cold = count - m->hot;
	gnn_mix_lay(m, words);
	for (uint64_t i = 0; i < count; i++) {
		const uint32_t kept = row_of(id[i], place, row);
		const uint64_t at = kept == GNN_NOT_HOT ? cold : m->cold + hot;

		words[i] = at;
		words[count + at] = i;
		if (kept == GNN_NOT_HOT)
			words[2 * count + m->hot + cold++] = id[i];
		else
			words[2 * count + hot++] = kept;
	}
out:
	return rc;
}
