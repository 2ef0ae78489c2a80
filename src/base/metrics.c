/* base/metrics.c - see metrics.h. */
#include "base/metrics.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/sink.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards sink and lost */
static struct gnn_sink sink = {.fd = -1};
static bool lost; /* a line, for want of memory */
static char run_id[64];
static uint64_t start_ns;

int gnn_metrics_open(const char *path)
{
	time_t now = time(NULL);
	struct tm utc;
	size_t len;

	start_ns = gnn_clock_ns();
	gmtime_r(&now, &utc);
	len = strftime(run_id, sizeof(run_id), "%Y%m%dT%H%M%SZ", &utc);
	snprintf(run_id + len, sizeof(run_id) - len, "-%ld", (long)getpid());
	lost = false;
	if (gnn_sink_open(&sink, path, '{') < 0)
		return gnn_err_place(GNN_ECREAT, "--metrics");
	return GNN_OK;
}

bool gnn_metrics_enabled(void)
{
	return sink.fd >= 0;
}

static void note_loss(void)
{
	pthread_mutex_lock(&lock);
	lost = true;
	pthread_mutex_unlock(&lock);
}

struct gnn_json *gnn_metrics_begin(const char *event)
{
	struct gnn_json *line;

	if (!gnn_metrics_enabled())
		return NULL;
	if (gnn_json_create(&line) < 0) {
		note_loss();
		return NULL;
	}
	gnn_json_text(line, "schema", "gnnrun-metrics-1");
	gnn_json_text(line, "run_id", run_id);
	gnn_json_text(line, "event", event);
	gnn_json_real(line, "time_s", gnn_clock_s_since(start_ns));
	return line;
}

void gnn_metrics_end(struct gnn_json *line)
{
	char *text = NULL;
	size_t len;

	if (line == NULL)
		return;
	if (gnn_json_line(line, &text) < 0) {
		note_loss();
	} else {
		len = strlen(text);
		text[len] = '\n'; /* in place of the NUL: one write a line */
		pthread_mutex_lock(&lock);
		gnn_sink_write(&sink, text, len + 1);
		pthread_mutex_unlock(&lock);
	}
	gnn_mem_free(text);
	gnn_json_destroy(line);
}

int gnn_metrics_close(void)
{
	int rc = gnn_sink_close(&sink);

	if (rc >= 0 && lost)
		rc = gnn_err(GNN_EOS, "--metrics: lines were lost, because memory was refused");
	return rc;
}
