/*
 * mpi/comm_mpi.c - ranks that speak MPI: one thread does, all others post requests to it.
 *
 * The thread starts what was posted, asks what is done, and watches the other ranks (mpi/watch.h).
 * Between questions that found nothing it sleeps, longer and longer: ranks share their cores with
 * the work.
 */
#include "mpi/comm_ops.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stage.h"
#include "mpi/watch.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
	PIECE_BYTES   = 1 << 30,   /* MPI counts are ints */
	SPINS         = 64,        /* questions before the first sleep, */
	SPINS_ROOMY   = 1 << 14,   /* with cores to spare: messages in pieces wait for it */
	ROOMY_CORES   = 4,
	NAP_US_MAX    = 200,
	NAPS_ALIKE    = 16,        /* before they grow by 1 us: messages in pieces wait for them */
	SLACK_NS      = 1000,      /* that the kernel may add to a nap, in the place of 50 us */
	IDLE_NS       = 2000000,   /* between looks at the watch when nothing is in flight */
};
static const uint64_t GRACE_NS = 4000000000u; /* for all to learn of a failure and to leave */

/* How a rank ends: a failure that it tells, or 0. */
struct verdict {
	int32_t  status;
	uint32_t rank;
};

struct comm_mpi {
	struct gnn_comm          base;
	struct gnn_comm_opts     opts;
	struct gnn_stage        *thread;
	pthread_mutex_t          lock; /* guards down to `phase` */
	pthread_cond_t           posted, finished;
	struct gnn_comm_request *fresh, **fresh_end; /* posted, not yet started */
	struct gnn_notice        told;    /* own failure, for the thread */
	struct gnn_notice        failure; /* lowest known */
	bool                     started, ending;
	const char              *phase;
	/* Of the thread alone: */
	MPI_Comm                 world, control;
	struct gnn_watch         watch;
	struct verdict          *verdicts; /* (size), for the end, which must not fail */
	struct gnn_comm_request *active;
	uint32_t                 idle; /* questions in a row that found nothing */
	uint32_t                 spins;
};

static struct comm_mpi *mpi_of(struct gnn_comm *c)
{
	return (struct comm_mpi *)c;
}

/* Another rank's words, or this one's own as they were. */
static int say_failure(const struct comm_mpi *m, const struct gnn_notice *n)
{
	if (n->rank == m->base.rank)
		return gnn_err(n->status, "%s", n->text);
	return gnn_err(n->status, "rank %u on %s: %s", n->rank, m->base.ranks[n->rank].host,
		n->text);
}

/* --- requests, on the thread --- */

static void start_message(struct comm_mpi *m, struct gnn_comm_request *r, MPI_Request *piece)
{
	int peer = (int)r->peer, tag = (int)r->tag;

	for (uint32_t i = 0; i < r->piece_count; i++) {
		uint64_t at = (uint64_t)i * PIECE_BYTES;
		int bytes = (int)gnn_min_u64(r->bytes - at, PIECE_BYTES);

		if (r->kind == GNN_COMM_SEND)
			MPI_Isend((const char *)r->from + at, bytes, MPI_BYTE, peer, tag,
				m->world, &piece[i]);
		else
			MPI_Irecv((char *)r->to + at, bytes, MPI_BYTE, peer, tag, m->world,
				&piece[i]);
	}
}

static void start_collective(struct comm_mpi *m, struct gnn_comm_request *r, MPI_Request *piece)
{
	int bytes = (int)r->bytes;

	GNN_ASSERT(r->bytes <= PIECE_BYTES / m->base.size);
	if (r->kind == GNN_COMM_GATHER)
		MPI_Iallgather(MPI_IN_PLACE, 0, MPI_BYTE, r->to, bytes, MPI_BYTE, m->world, piece);
	else if (r->kind == GNN_COMM_BROADCAST)
		MPI_Ibcast(r->to, bytes, MPI_BYTE, (int)r->peer, m->world, piece);
	else
		MPI_Ibarrier(m->world, piece);
}

/* Nobody else is served meanwhile: for measuring only. */
static void time_collective(struct comm_mpi *m, struct gnn_comm_request *r)
{
	double start;
	int bytes = (int)r->bytes;

	MPI_Barrier(m->world);
	start = MPI_Wtime();
	if (r->kind == GNN_COMM_MPI_SUM)
		MPI_Allreduce(r->from, r->to, bytes / (int)sizeof(double), MPI_DOUBLE, MPI_SUM,
			m->world);
	else
		MPI_Alltoall(r->from, bytes, MPI_BYTE, r->to, bytes, MPI_BYTE, m->world);
	*r->seconds = MPI_Wtime() - start;
}

static int start_request(struct comm_mpi *m, struct gnn_comm_request *r)
{
	bool timed = r->kind == GNN_COMM_MPI_EXCHANGE || r->kind == GNN_COMM_MPI_SUM;
	bool message = r->kind == GNN_COMM_SEND || r->kind == GNN_COMM_RECV;
	MPI_Request *piece;
	int rc;

	r->piece_count = 1;
	if (message && r->bytes > PIECE_BYTES)
		r->piece_count = (uint32_t)gnn_ceil_div(r->bytes, PIECE_BYTES);
	GNN_NEW_ARRAY(piece, r->piece_count, GNN_MEM_MISC);
	r->pieces = piece;
	if (message)
		start_message(m, r, piece);
	else if (!timed)
		start_collective(m, r, piece);
	if (timed) {
		piece[0] = MPI_REQUEST_NULL; /* done when it is asked about */
		time_collective(m, r);
	}
	r->next = m->active;
	m->active = r;
out:
	return rc;
}

static void start_fresh(struct comm_mpi *m)
{
	struct gnn_comm_request *r;

	pthread_mutex_lock(&m->lock);
	r = m->fresh;
	m->fresh = NULL;
	m->fresh_end = &m->fresh;
	pthread_mutex_unlock(&m->lock);
	while (r != NULL) {
		struct gnn_comm_request *next = r->next;

		if (start_request(m, r) < 0)
			gnn_watch_tell(&m->watch, m->base.rank, GNN_EOS, gnn_err_text());
		r = next;
		m->idle = 0;
	}
}

static void finish(struct comm_mpi *m, struct gnn_comm_request *r)
{
	gnn_mem_free(r->pieces);
	r->pieces = NULL;
	pthread_mutex_lock(&m->lock);
	r->done = true;
	pthread_cond_broadcast(&m->finished);
	pthread_mutex_unlock(&m->lock);
}

static void test_active(struct comm_mpi *m)
{
	struct gnn_comm_request **at = &m->active, *r;
	int done;

	while ((r = *at) != NULL) {
		MPI_Testall((int)r->piece_count, r->pieces, &done, MPI_STATUSES_IGNORE);
		if (!done) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		m->idle = 0;
		finish(m, r);
	}
}

/* --- the thread --- */

static void exchange_news(struct comm_mpi *m)
{
	struct gnn_notice own;
	const char *phase;

	pthread_mutex_lock(&m->lock);
	own = m->told;
	phase = m->phase;
	pthread_mutex_unlock(&m->lock);
	if (own.status != 0)
		gnn_watch_tell(&m->watch, m->base.rank, own.status, own.text);
	gnn_watch_step(&m->watch, phase);
	if (m->watch.lowest.status == 0)
		return;
	pthread_mutex_lock(&m->lock);
	m->failure = m->watch.lowest;
	pthread_cond_broadcast(&m->finished);
	pthread_mutex_unlock(&m->lock);
}

static void rest(struct comm_mpi *m)
{
	struct timespec until;

	if (m->active != NULL) {
		if (m->idle++ > m->spins)
			usleep((useconds_t)gnn_min_u64((m->idle - m->spins) / NAPS_ALIKE + 1,
				NAP_US_MAX));
		return;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += IDLE_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_mutex_lock(&m->lock);
	if (m->fresh == NULL && !m->ending)
		pthread_cond_timedwait(&m->posted, &m->lock, &until);
	pthread_mutex_unlock(&m->lock);
}

static bool is_ending(struct comm_mpi *m)
{
	bool ending;

	pthread_mutex_lock(&m->lock);
	ending = m->ending;
	pthread_mutex_unlock(&m->lock);
	return ending;
}

/* Ranks that the launcher did not bind to cores of their own. */
static void count_sharers(struct comm_mpi *m)
{
	struct gnn_comm_rank *me = &m->base.ranks[m->base.rank];

	me->sharers = 0;
	for (uint32_t r = 0; r < m->base.size; r++)
		if (m->base.ranks[r].core_set == me->core_set &&
			strcmp(m->base.ranks[r].host, me->host) == 0)
			me->sharers++;
}

/* Host, place among those that share memory, and whether the launcher counts as MPI does. */
static int introduce(struct comm_mpi *m)
{
	int rank, size, local_rank, local_size, provided, rc;
	struct gnn_comm_rank me;
	MPI_Comm local;

	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
		return gnn_err(GNN_EOS, "MPI does not start");
	MPI_Comm_dup(MPI_COMM_WORLD, &m->world);
	MPI_Comm_dup(MPI_COMM_WORLD, &m->control);
	MPI_Comm_rank(m->world, &rank);
	MPI_Comm_size(m->world, &size);
	MPI_Comm_split_type(m->world, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &local);
	MPI_Comm_rank(local, &local_rank);
	MPI_Comm_size(local, &local_size);
	MPI_Comm_free(&local);
	m->base.rank = (uint32_t)rank;
	m->base.size = (uint32_t)size;
	gnn_comm_describe(&me);
	me.local_rank = (uint32_t)local_rank;
	me.local_size = (uint32_t)local_size;
	GNN_NEW_ARRAY(m->base.ranks, size, GNN_MEM_MISC);
	MPI_Allgather(&me, sizeof(me), MPI_BYTE, m->base.ranks, sizeof(me), MPI_BYTE, m->world);
	count_sharers(m);
	m->spins = m->base.ranks[rank].cores / m->base.ranks[rank].sharers < ROOMY_CORES ? SPINS :
		SPINS_ROOMY;
	GNN_NEW_ARRAY(m->verdicts, size, GNN_MEM_MISC);
	GNN_TRY(gnn_watch_init(&m->watch, m->control,
		(uint64_t)m->opts.peer_timeout_s * 1000000000u, m->base.ranks));
out:
	return rc;
}

/* Others gave this rank up, and have said so: it was stopped and goes on now. */
static bool is_accused(const struct comm_mpi *m)
{
	return m->watch.lowest.rank == m->base.rank && m->watch.own.status == 0;
}

/* Who says why when not all are left: rank 0; where it is gone, its neighbour. */
static bool is_speaker(const struct comm_mpi *m)
{
	const struct gnn_watch *w = &m->watch;

	if (w->rank == 0)
		return !is_accused(m);
	return w->gone[0] && w->neighbour[0] == 0;
}

/* Ends the job without the ranks that no longer answer. */
static void abandon(struct comm_mpi *m)
{
	GNN_ASSERT(m->watch.lowest.status < 0);
	if (is_speaker(m)) {
		(void)say_failure(m, &m->watch.lowest);
		gnn_log_failure(gnn_err_text());
	}
	MPI_Abort(MPI_COMM_WORLD, -m->watch.lowest.status);
}

/* What each rank tells, once all are here. */
static void gather_verdicts(struct comm_mpi *m)
{
	struct verdict own = {m->watch.own.status, m->watch.own.rank};
	uint64_t deadline = 0;
	MPI_Request r;
	int done = 0;

	MPI_Iallgather(&own, sizeof(own), MPI_BYTE, m->verdicts, sizeof(own), MPI_BYTE,
		m->control, &r);
	while (!done) {
		exchange_news(m);
		MPI_Test(&r, &done, MPI_STATUS_IGNORE);
		if (deadline == 0 && m->watch.lowest.status != 0)
			deadline = gnn_clock_ns() + (is_speaker(m) ? 1 : 2) * GRACE_NS;
		if (deadline != 0 && gnn_clock_ns() > deadline)
			abandon(m);
		usleep(50);
	}
}

/* The failure of the lowest rank is that of the job; its notice is here or on the way. */
static int judge(struct comm_mpi *m)
{
	const struct verdict *all = m->verdicts;
	uint32_t lowest = UINT32_MAX;

	for (uint32_t r = 0; r < m->base.size; r++)
		if (all[r].status < 0 && all[r].rank < lowest)
			lowest = all[r].rank;
	if (lowest == UINT32_MAX)
		return GNN_OK;
	while (m->watch.lowest.status == 0 || m->watch.lowest.rank != lowest)
		gnn_watch_step(&m->watch, "end");
	return say_failure(m, &m->watch.lowest);
}

static int leave(struct comm_mpi *m)
{
	int rc;

	exchange_news(m); /* what was told last */
	gather_verdicts(m);
	rc = judge(m);
	/* A launcher ends all ranks as soon as one leaves with a failure: that is said before. */
	if (rc < 0 && m->base.rank == 0 && !is_accused(m))
		gnn_log_failure(gnn_err_text());
	gather_verdicts(m);
	gnn_watch_fini(&m->watch);
	MPI_Finalize();
	return rc;
}

static int speak_mpi(void *arg)
{
	struct comm_mpi *m = arg;
	int rc = introduce(m), others;

	prctl(PR_SET_TIMERSLACK, SLACK_NS, 0, 0, 0);
	/* The others wait for this rank already, and it cannot tell them. */
	if (rc < 0 && MPI_Initialized(&others) == MPI_SUCCESS && others) {
		gnn_log_failure(gnn_err_text());
		MPI_Abort(MPI_COMM_WORLD, -rc);
	}
	pthread_mutex_lock(&m->lock);
	m->started = true;
	pthread_cond_broadcast(&m->finished);
	pthread_mutex_unlock(&m->lock);
	if (rc < 0)
		return rc;
	while (!is_ending(m)) {
		start_fresh(m);
		test_active(m);
		exchange_news(m);
		rest(m);
	}
	return leave(m);
}

/* --- the callers --- */

static void mpi_post(struct gnn_comm *c, struct gnn_comm_request *r)
{
	struct comm_mpi *m = mpi_of(c);

	pthread_mutex_lock(&m->lock);
	*m->fresh_end = r;
	m->fresh_end = &r->next;
	pthread_cond_signal(&m->posted);
	pthread_mutex_unlock(&m->lock);
}

static int mpi_wait(struct gnn_comm *c, struct gnn_comm_request *r)
{
	struct comm_mpi *m = mpi_of(c);
	bool done;
	int rc = GNN_OK;

	pthread_mutex_lock(&m->lock);
	while (!r->done && m->failure.status == 0)
		pthread_cond_wait(&m->finished, &m->lock);
	done = r->done;
	if (!done)
		rc = say_failure(m, &m->failure);
	pthread_mutex_unlock(&m->lock);
	if (done)
		gnn_mem_free(r); /* else the thread still has it */
	return rc;
}

static void mpi_fail(struct gnn_comm *c, int status)
{
	struct comm_mpi *m = mpi_of(c);

	pthread_mutex_lock(&m->lock);
	/* A failure that is another rank's came from here, and is told already. */
	if (m->told.status == 0 && m->failure.status == 0) {
		m->told.status = status;
		snprintf(m->told.text, sizeof(m->told.text), "%s", gnn_err_text());
	}
	pthread_cond_signal(&m->posted);
	pthread_mutex_unlock(&m->lock);
}

static bool mpi_failed(struct gnn_comm *c)
{
	struct comm_mpi *m = mpi_of(c);
	bool failed;

	pthread_mutex_lock(&m->lock);
	failed = m->failure.status != 0;
	pthread_mutex_unlock(&m->lock);
	return failed;
}

static void mpi_phase(struct gnn_comm *c, const char *phase)
{
	struct comm_mpi *m = mpi_of(c);

	pthread_mutex_lock(&m->lock);
	m->phase = phase;
	pthread_mutex_unlock(&m->lock);
}

static void free_requests(struct gnn_comm_request *r)
{
	while (r != NULL) {
		struct gnn_comm_request *next = r->next;

		gnn_mem_free(r->pieces);
		gnn_mem_free(r);
		r = next;
	}
}

static void free_comm(struct comm_mpi *m)
{
	free_requests(m->active);
	free_requests(m->fresh);
	for (uint32_t i = 0; i < m->base.kept_count; i++)
		gnn_mem_free(m->base.kept[i]);
	gnn_mem_free(m->base.kept);
	gnn_mem_free(m->base.ranks);
	gnn_mem_free(m->verdicts);
	pthread_cond_destroy(&m->posted);
	pthread_cond_destroy(&m->finished);
	pthread_mutex_destroy(&m->lock);
	gnn_mem_free(m);
}

static int mpi_end(struct gnn_comm *c, int rc, bool *said)
{
	struct comm_mpi *m = mpi_of(c);

	if (rc < 0)
		mpi_fail(c, rc);
	pthread_mutex_lock(&m->lock);
	m->ending = true;
	pthread_cond_signal(&m->posted);
	pthread_mutex_unlock(&m->lock);
	rc = gnn_stage_join(&m->thread);
	*said = true;
	free_comm(m);
	return rc;
}

static const struct gnn_comm_ops mpi_ops = {
	.post = mpi_post,
	.wait = mpi_wait,
	.fail = mpi_fail,
	.failed = mpi_failed,
	.phase = mpi_phase,
	.end = mpi_end,
};

int gnn_comm_mpi_start(struct gnn_comm **out, const struct gnn_comm_opts *o)
{
	struct comm_mpi *m = NULL;
	int rc;

	*out = NULL;
	GNN_NEW(m, GNN_MEM_MISC);
	m->base.ops = &mpi_ops;
	m->opts = *o;
	m->base.peer_timeout_s = o->peer_timeout_s;
	m->fresh_end = &m->fresh;
	m->phase = "start";
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->posted, NULL);
	pthread_cond_init(&m->finished, NULL);
	rc = gnn_stage_start(&m->thread, "mpi", speak_mpi, m);
	if (rc == GNN_OK) {
		pthread_mutex_lock(&m->lock);
		while (!m->started)
			pthread_cond_wait(&m->finished, &m->lock);
		pthread_mutex_unlock(&m->lock);
		if (m->base.size == 0) /* not even introduced */
			rc = gnn_stage_join(&m->thread);
	}
	if (rc < 0) {
		free_comm(m);
		return rc;
	}
	*out = &m->base;
out:
	return rc;
}
