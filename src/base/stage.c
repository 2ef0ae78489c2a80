/* base/stage.c - see stage.h. */
#include "base/stage.h"

#include "base/mem.h"
#include "base/trace.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>

struct gnn_stage {
	pthread_t thread;
	gnn_stage_fn body;
	void *arg;
	char name[16]; /* the kernel's limit, its NUL included */
	struct gnn_err_state result;
};

static void *run(void *arg)
{
	struct gnn_stage *s = arg;
	uint64_t span;

	pthread_setname_np(pthread_self(), s->name);
	gnn_trace_thread(s->name);
	span = gnn_trace_begin();
	gnn_err_save(&s->result, s->body(s->arg));
	gnn_trace_end(span, s->name);
	return NULL;
}

int gnn_stage_start(struct gnn_stage **out, const char *name, gnn_stage_fn body, void *arg)
{
	struct gnn_stage *s = NULL;
	sigset_t all, before;
	int rc, errnum;

	*out = NULL;
	GNN_NEW(s, GNN_MEM_MISC);
	s->body = body;
	s->arg = arg;
	snprintf(s->name, sizeof(s->name), "%s", name);
	/* Signals go to the main thread, which alone knows what to do with them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	errnum = pthread_create(&s->thread, NULL, run, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (errnum != 0) {
		rc = gnn_err_sys(GNN_EOS, errnum,
			"cannot start thread %s; see the limits of threads (ulimit -u, cgroup "
			"pids.max) and of memory", s->name);
		goto out;
	}
	*out = s;
	s = NULL;
out:
	gnn_mem_free(s);
	return rc;
}

int gnn_stage_join(struct gnn_stage **stage)
{
	struct gnn_stage *s = *stage;
	int rc;

	if (s == NULL)
		return GNN_OK;
	*stage = NULL;
	pthread_join(s->thread, NULL);
	rc = s->result.status < 0 ? gnn_err_restore(&s->result) : s->result.status;
	gnn_mem_free(s);
	return rc;
}
