/* base/trace.c - see trace.h. */
#include "base/trace.h"

#include "base/clock.h"
#include "base/sink.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 16, EVENT_MAX_BYTES = 256 };

#define FLUSH_NS UINT64_C(1000000000)

static atomic_bool enabled;
static atomic_uint lane_count;
static _Thread_local unsigned lane; /* 0: none yet */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static struct gnn_sink sink = {.fd = -1};
static char buffer[BUFFER_BYTES];
static size_t filled;
static uint64_t flushed_ns;

static unsigned own_lane(void)
{
	if (lane == 0)
		lane = atomic_fetch_add(&lane_count, 1) + 1;
	return lane;
}

static void flush(uint64_t now)
{
	gnn_sink_write(&sink, buffer, filled);
	filled = 0;
	flushed_ns = now;
}

static void put(const char *event, int len, uint64_t now)
{
	GNN_ASSERT(len > 0 && len < EVENT_MAX_BYTES);
	pthread_mutex_lock(&lock);
	if (sink.fd >= 0) {
		if (filled + (size_t)len > BUFFER_BYTES)
			flush(now);
		memcpy(buffer + filled, event, (size_t)len);
		filled += (size_t)len;
		if (now - flushed_ns > FLUSH_NS)
			flush(now);
	}
	pthread_mutex_unlock(&lock);
}

int gnn_trace_open(const char *path)
{
	if (gnn_sink_open(&sink, path, '[') < 0)
		return gnn_err_place(GNN_ECREAT, "--trace");
	filled = 0;
	atomic_store(&enabled, true);
	put("[\n", 2, gnn_clock_ns());
	gnn_trace_thread("main");
	return GNN_OK;
}

void gnn_trace_thread(const char *name)
{
	char event[EVENT_MAX_BYTES];

	if (!atomic_load_explicit(&enabled, memory_order_relaxed))
		return;
	put(event,
		snprintf(event, sizeof(event),
			"{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%ld,\"tid\":%u,"
			"\"args\":{\"name\":\"%.32s\"}},\n",
			(long)getpid(), own_lane(), name),
		gnn_clock_ns());
}

uint64_t gnn_trace_begin(void)
{
	return atomic_load_explicit(&enabled, memory_order_relaxed) ? gnn_clock_ns() : 0;
}

void gnn_trace_end(uint64_t begun, const char *name)
{
	char event[EVENT_MAX_BYTES];
	uint64_t now;

	if (begun == 0)
		return;
	now = gnn_clock_ns();
	put(event,
		snprintf(event, sizeof(event),
			"{\"ph\":\"X\",\"name\":\"%.64s\",\"pid\":%ld,\"tid\":%u,\"ts\":%.3f,"
			"\"dur\":%.3f},\n",
			name, (long)getpid(), own_lane(), (double)begun * 1e-3,
			(double)(now - begun) * 1e-3),
		now);
}

/* The last event has no comma behind it: the process's name. */
int gnn_trace_close(void)
{
	char event[EVENT_MAX_BYTES];
	int len;

	if (!atomic_exchange(&enabled, false))
		return GNN_OK;
	len = snprintf(event, sizeof(event),
		"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%ld,\"tid\":0,"
		"\"args\":{\"name\":\"gnnrun\"}}\n]\n",
		(long)getpid());
	put(event, len, gnn_clock_ns());
	flush(0);
	return gnn_sink_close(&sink);
}
