/* infer/inlist.c - see inlist.h. */
#include "infer/inlist.h"

#include "base/mem.h"
#include "io/stream.h"

enum { NEIGHBORS, WEIGHTS, STREAMS };

struct gnn_inlist {
	const struct gnn_degrees *degrees;
	struct gnn_stream *stream[STREAMS]; /* NULL: not read */
	struct gnn_piece  *piece[STREAMS];
	enum gnn_dtype     dtype;
	gnn_vid            vertex;  /* whose list goes on */
	uint64_t           skipped; /* edges of it in the parts before */
};

int gnn_inlist_open(struct gnn_inlist **out, const struct gnn_inlist_opts *o)
{
	const struct gnn_array *array[STREAMS] = {
		o->neighbors ? o->store->in.neighbors : NULL,
		o->weights ? o->store->in.weights : NULL};
	struct gnn_inlist *l = NULL;
	int rc;

	*out = NULL;
	GNN_ASSERT(o->neighbors || o->weights);
	GNN_NEW(l, GNN_MEM_MISC);
	l->degrees = o->degrees;
	l->dtype = o->store->in.neighbors->dtype;
	for (int k = 0; k < STREAMS; k++) {
		uint64_t item = array[k] != NULL ? gnn_dtype_bytes(array[k]->dtype) : 0;

		if (array[k] != NULL)
			GNN_TRY(gnn_stream_open(&l->stream[k], &(struct gnn_stream_opts){
				.container = o->store->container, .array = array[k],
				.first_byte = o->store->first_in * item,
				.bytes = o->store->in_edges * item,
				.piece_bytes = GNN_INLIST_EDGES * item, .ahead = 2, .lent = 1,
				.verify = o->verify}));
	}
	*out = l;
	l = NULL;
out:
	gnn_inlist_close(l);
	return rc;
}

/* Over vertices whose lists are behind, empty ones too, to that of the next edge. */
static void skip_finished(struct gnn_inlist *l)
{
	while (l->vertex < l->degrees->vertices && l->skipped >= l->degrees->in[l->vertex]) {
		l->skipped -= l->degrees->in[l->vertex];
		l->vertex++;
	}
}

int gnn_inlist_next(struct gnn_inlist *l, struct gnn_inlist_part *part)
{
	int rc = GNN_EOF;

	*part = (struct gnn_inlist_part){.dtype = l->dtype};
	for (int k = 0; k < STREAMS; k++) {
		if (l->stream[k] == NULL)
			continue;
		if (l->piece[k] != NULL)
			gnn_stream_put(l->stream[k], l->piece[k]);
		l->piece[k] = NULL;
		rc = gnn_stream_next(l->stream[k], &l->piece[k]);
		if (rc != GNN_OK)
			return rc;
	}
	if (l->piece[NEIGHBORS] != NULL) {
		part->neighbors = l->piece[NEIGHBORS]->data;
		part->count = l->piece[NEIGHBORS]->bytes / gnn_dtype_bytes(l->dtype);
	}
	if (l->piece[WEIGHTS] != NULL) {
		part->weights = l->piece[WEIGHTS]->data;
		part->count = l->piece[WEIGHTS]->bytes / sizeof(float);
	}
	skip_finished(l);
	part->first = l->vertex;
	part->skipped = l->skipped;
	l->skipped += part->count;
	return GNN_OK;
}

void gnn_inlist_close(struct gnn_inlist *l)
{
	if (l == NULL)
		return;
	for (int k = 0; k < STREAMS; k++)
		gnn_stream_close(l->stream[k]);
	gnn_mem_free(l);
}

uint64_t gnn_inlist_read_bytes(const struct gnn_inlist *l)
{
	uint64_t bytes = 0;

	for (int k = 0; k < STREAMS; k++)
		if (l->stream[k] != NULL)
			bytes += gnn_stream_read_bytes(l->stream[k]);
	return bytes;
}
