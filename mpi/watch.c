/* mpi/watch.c - see watch.h. */
#include "mpi/watch.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

enum { TAG_NOTICE = 1, TAG_BEAT = 2, BEATS_PER_TIMEOUT = 8 };

static void listen(struct gnn_watch *w)
{
	MPI_Irecv(&w->arriving, sizeof(w->arriving), MPI_BYTE, MPI_ANY_SOURCE, TAG_NOTICE,
		w->comm, &w->receive);
}

static void listen_beat(struct gnn_watch *w, uint32_t k)
{
	MPI_Irecv(&w->beat_in[k], sizeof(w->beat_in[k]), MPI_BYTE, (int)w->neighbour[k],
		TAG_BEAT, w->comm, &w->receive_beat[k]);
}

int gnn_watch_init(struct gnn_watch *w, MPI_Comm comm, uint64_t timeout_ns,
	const struct gnn_comm_rank *ranks)
{
	int rank, size, rc;

	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	*w = (struct gnn_watch){.comm = comm, .rank = (uint32_t)rank, .size = (uint32_t)size,
		.timeout_ns = timeout_ns, .ranks = ranks, .receive = MPI_REQUEST_NULL};
	GNN_NEW_ARRAY(w->tell, w->size, GNN_MEM_MISC);
	for (uint32_t r = 0; r < w->size; r++)
		w->tell[r] = MPI_REQUEST_NULL;
	w->neighbour[0] = (w->rank + 1) % w->size;
	w->neighbour[1] = (w->rank + w->size - 1) % w->size;
	w->neighbours = w->neighbour[0] == w->neighbour[1] ? 1 : GNN_NEIGHBOURS;
	listen(w);
	for (uint32_t k = 0; k < w->neighbours; k++) {
		w->heard_ns[k] = gnn_clock_ns();
		w->send_beat[k] = MPI_REQUEST_NULL;
		listen_beat(w, k);
	}
out:
	return rc;
}

static void learn(struct gnn_watch *w, const struct gnn_notice *n)
{
	if (w->lowest.status == 0 || n->rank < w->lowest.rank)
		w->lowest = *n;
}

void gnn_watch_tell(struct gnn_watch *w, uint32_t rank, int status, const char *text)
{
	if (w->own.status != 0)
		return;
	w->own.status = status;
	w->own.rank = rank;
	snprintf(w->own.text, sizeof(w->own.text), "%s", text);
	learn(w, &w->own);
}

static void send_notices(struct gnn_watch *w)
{
	for (uint32_t r = 0; r < w->size; r++)
		if (r != w->rank)
			MPI_Isend(&w->own, sizeof(w->own), MPI_BYTE, (int)r, TAG_NOTICE, w->comm,
				&w->tell[r]);
	w->told = true;
}

static void hear(struct gnn_watch *w, uint32_t k, uint64_t now)
{
	int done;

	MPI_Test(&w->receive_beat[k], &done, MPI_STATUS_IGNORE);
	if (done) {
		w->last[k] = w->beat_in[k];
		w->heard_ns[k] = now;
		listen_beat(w, k);
	}
	if (!w->gone[k] && now - w->heard_ns[k] > w->timeout_ns) {
		char text[GNN_ERR_TEXT_MAX];

		snprintf(text, sizeof(text), "silent for %.0f s (last at: %.31s); see "
			"--peer-timeout", (double)(now - w->heard_ns[k]) * 1e-9,
			w->last[k].phase[0] != '\0' ? w->last[k].phase : "start");
		w->gone[k] = true;
		gnn_watch_tell(w, w->neighbour[k], GNN_EIO, text);
	}
}

static void beat(struct gnn_watch *w, const char *phase)
{
	int done;

	for (uint32_t k = 0; k < w->neighbours; k++) {
		MPI_Test(&w->send_beat[k], &done, MPI_STATUS_IGNORE);
		if (!done)
			continue; /* it does not even take the last one */
		snprintf(w->beat_out[k].phase, sizeof(w->beat_out[k].phase), "%s", phase);
		MPI_Isend(&w->beat_out[k], sizeof(w->beat_out[k]), MPI_BYTE,
			(int)w->neighbour[k], TAG_BEAT, w->comm, &w->send_beat[k]);
	}
}

void gnn_watch_step(struct gnn_watch *w, const char *phase)
{
	uint64_t now = gnn_clock_ns();
	int done;

	if (w->own.status != 0 && !w->told)
		send_notices(w);
	MPI_Test(&w->receive, &done, MPI_STATUS_IGNORE);
	if (done) {
		learn(w, &w->arriving);
		listen(w);
	}
	for (uint32_t k = 0; k < w->neighbours; k++)
		hear(w, k, now);
	if (now >= w->next_beat_ns) {
		beat(w, phase);
		w->next_beat_ns = now + w->timeout_ns / BEATS_PER_TIMEOUT;
	}
}

static void drop(MPI_Request *r)
{
	if (*r == MPI_REQUEST_NULL)
		return;
	MPI_Cancel(r);
	MPI_Request_free(r);
}

void gnn_watch_fini(struct gnn_watch *w)
{
	drop(&w->receive);
	for (uint32_t k = 0; k < w->neighbours; k++) {
		drop(&w->receive_beat[k]);
		if (w->send_beat[k] != MPI_REQUEST_NULL)
			MPI_Request_free(&w->send_beat[k]);
	}
	for (uint32_t r = 0; w->tell != NULL && r < w->size; r++)
		if (w->tell[r] != MPI_REQUEST_NULL)
			MPI_Request_free(&w->tell[r]);
	gnn_mem_free(w->tell);
	w->tell = NULL;
}
