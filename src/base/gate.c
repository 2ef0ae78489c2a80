/* base/gate.c - see gate.h. */
#include "base/gate.h"

#include "base/mem.h"

#include <pthread.h>

struct gnn_gate {
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t  grown;
	uint64_t        value;
	bool            cancelled;
};

int gnn_gate_create(struct gnn_gate **out, uint64_t value)
{
	struct gnn_gate *g;
	int rc;

	*out = NULL;
	GNN_NEW(g, GNN_MEM_MISC);
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->grown, NULL);
	g->value = value;
	*out = g;
out:
	return rc;
}

void gnn_gate_raise(struct gnn_gate *g, uint64_t value)
{
	pthread_mutex_lock(&g->lock);
	GNN_ASSERT(value >= g->value);
	g->value = value;
	pthread_cond_broadcast(&g->grown);
	pthread_mutex_unlock(&g->lock);
}

int gnn_gate_wait(struct gnn_gate *g, uint64_t value)
{
	bool there;

	pthread_mutex_lock(&g->lock);
	while (g->value < value && !g->cancelled)
		pthread_cond_wait(&g->grown, &g->lock);
	there = g->value >= value;
	pthread_mutex_unlock(&g->lock);
	return there ? GNN_OK : gnn_err(GNN_ESTOP, "stopped, because another stage has failed");
}

uint64_t gnn_gate_value(struct gnn_gate *g)
{
	uint64_t value;

	pthread_mutex_lock(&g->lock);
	value = g->value;
	pthread_mutex_unlock(&g->lock);
	return value;
}

void gnn_gate_cancel(struct gnn_gate *g)
{
	if (g == NULL)
		return;
	pthread_mutex_lock(&g->lock);
	g->cancelled = true;
	pthread_cond_broadcast(&g->grown);
	pthread_mutex_unlock(&g->lock);
}

void gnn_gate_destroy(struct gnn_gate *g)
{
	if (g == NULL)
		return;
	pthread_cond_destroy(&g->grown);
	pthread_mutex_destroy(&g->lock);
	gnn_mem_free(g);
}
