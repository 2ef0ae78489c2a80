/* base/queue.c - see queue.h. One lock, two conditions, a ring. */
#include "base/queue.h"

#include "base/mem.h"

#include <pthread.h>

struct gnn_queue {
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t not_full, not_empty;
	uint32_t capacity, count, head;
	bool closed, cancelled;
	void *ring[];
};

int gnn_queue_create(struct gnn_queue **out, uint32_t capacity)
{
	void *block;

	*out = NULL;
	GNN_ASSERT(capacity > 0);
	if (gnn_mem_new(&block, 1, sizeof(struct gnn_queue) + capacity * sizeof(void *),
		    GNN_MEM_MISC) < 0)
		return GNN_EOS;
	*out = block;
	(*out)->capacity = capacity;
	pthread_mutex_init(&(*out)->lock, NULL);
	pthread_cond_init(&(*out)->not_full, NULL);
	pthread_cond_init(&(*out)->not_empty, NULL);
	return GNN_OK;
}

static int cancelled(void)
{
	return gnn_err(GNN_ESTOP, "stopped, because another stage has failed");
}

int gnn_queue_push(struct gnn_queue *q, void *item)
{
	int rc = GNN_OK;

	pthread_mutex_lock(&q->lock);
	GNN_ASSERT(!q->closed || q->cancelled);
	while (q->count == q->capacity && !q->cancelled)
		pthread_cond_wait(&q->not_full, &q->lock);
	if (q->cancelled) {
		rc = cancelled();
	} else {
		q->ring[(q->head + q->count) % q->capacity] = item;
		q->count++;
		pthread_cond_signal(&q->not_empty);
	}
	pthread_mutex_unlock(&q->lock);
	return rc;
}

int gnn_queue_pop(struct gnn_queue *q, void **item)
{
	int rc = GNN_OK;

	*item = NULL;
	pthread_mutex_lock(&q->lock);
	while (q->count == 0 && !q->closed && !q->cancelled)
		pthread_cond_wait(&q->not_empty, &q->lock);
	if (q->cancelled) {
		rc = cancelled();
	} else if (q->count == 0) {
		rc = GNN_EOF;
	} else {
		*item = q->ring[q->head];
		q->head = (q->head + 1) % q->capacity;
		q->count--;
		pthread_cond_signal(&q->not_full);
	}
	pthread_mutex_unlock(&q->lock);
	return rc;
}

static void wake_all(struct gnn_queue *q, bool *flag)
{
	pthread_mutex_lock(&q->lock);
	*flag = true;
	pthread_cond_broadcast(&q->not_full);
	pthread_cond_broadcast(&q->not_empty);
	pthread_mutex_unlock(&q->lock);
}

void gnn_queue_close(struct gnn_queue *q)
{
	wake_all(q, &q->closed);
}

void gnn_queue_cancel(struct gnn_queue *q)
{
	wake_all(q, &q->cancelled);
}

void gnn_queue_destroy(struct gnn_queue *q)
{
	if (q == NULL)
		return;
	pthread_cond_destroy(&q->not_empty);
	pthread_cond_destroy(&q->not_full);
	pthread_mutex_destroy(&q->lock);
	gnn_mem_free(q);
}
