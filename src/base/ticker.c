/* base/ticker.c - see ticker.h. */
#include "base/ticker.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/stage.h"

#include <pthread.h>

struct gnn_ticker {
	struct gnn_stage *stage;
	gnn_tick_fn tick;
	void *arg;
	uint64_t step_ns;
	pthread_mutex_t lock; /* guards ended */
	pthread_cond_t wake;
	bool ended;
};

static int run(void *arg)
{
	struct gnn_ticker *t = arg;
	struct timespec until;

	pthread_mutex_lock(&t->lock);
	while (!t->ended) {
		uint64_t next = gnn_clock_ns() + t->step_ns;

		until.tv_sec = (time_t)(next / 1000000000u);
		until.tv_nsec = (long)(next % 1000000000u);
		while (!t->ended && pthread_cond_timedwait(&t->wake, &t->lock, &until) == 0)
			;
		if (t->ended)
			break;
		pthread_mutex_unlock(&t->lock);
		t->tick(t->arg);
		pthread_mutex_lock(&t->lock);
	}
	pthread_mutex_unlock(&t->lock);
	return GNN_OK;
}

/* The clock of waiting is that of gnn_clock_ns: a jump of the wall clock changes nothing. */
static void init_wake(pthread_cond_t *wake)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(wake, &attr);
	pthread_condattr_destroy(&attr);
}

int gnn_ticker_start(struct gnn_ticker **out, const char *name, double seconds, gnn_tick_fn tick,
	void *arg)
{
	struct gnn_ticker *t = NULL;
	int rc;

	*out = NULL;
	GNN_ASSERT(seconds > 0.0);
	GNN_NEW(t, GNN_MEM_MISC);
	t->tick = tick;
	t->arg = arg;
	t->step_ns = (uint64_t)(seconds * 1e9);
	pthread_mutex_init(&t->lock, NULL);
	init_wake(&t->wake);
	GNN_TRY(gnn_stage_start(&t->stage, name, run, t));
	*out = t;
	t = NULL;
out:
	gnn_ticker_stop(&t);
	return rc;
}

void gnn_ticker_stop(struct gnn_ticker **ticker)
{
	struct gnn_ticker *t = *ticker;

	if (t == NULL)
		return;
	*ticker = NULL;
	pthread_mutex_lock(&t->lock);
	t->ended = true;
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
	gnn_stage_join(&t->stage);
	pthread_cond_destroy(&t->wake);
	pthread_mutex_destroy(&t->lock);
	gnn_mem_free(t);
}
