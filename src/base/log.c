/* base/log.c - see log.h. */
#include "base/log.h"

#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 2048 };

static atomic_int current_level = GNN_LOG_INFO;
static atomic_int out_errno; /* the first failure of stdout */

static const char *const level_names[] = {
	[GNN_LOG_ERROR] = "error",
	[GNN_LOG_WARN] = "warn",
	[GNN_LOG_INFO] = "info",
	[GNN_LOG_DEBUG] = "debug",
};

void gnn_log_set_level(enum gnn_log_level level)
{
	atomic_store(&current_level, (int)level);
}

bool gnn_log_enabled(enum gnn_log_level level)
{
	return (int)level <= atomic_load_explicit(&current_level, memory_order_relaxed);
}

void gnn_log(enum gnn_log_level level, const char *subsystem, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	time_t now = time(NULL);
	struct tm utc;
	size_t len;
	va_list ap;

	if (!gnn_log_enabled(level))
		return;
	gmtime_r(&now, &utc);
	len = strftime(line, sizeof(line), "%H:%M:%S ", &utc);
	len += (size_t)snprintf(line + len, sizeof(line) - len, "%s [%s] ", level_names[level],
		subsystem);
	va_start(ap, fmt);
	vsnprintf(line + len, sizeof(line) - len - 1, fmt, ap);
	va_end(ap);
	len = strlen(line);
	line[len++] = '\n';
	if (write(STDERR_FILENO, line, len) < 0)
		return; /* nobody listens; there is no other place to say so */
}

static void note_out_failure(void)
{
	int none = 0;

	atomic_compare_exchange_strong(&out_errno, &none, errno != 0 ? errno : EIO);
}

void gnn_out(const char *fmt, ...)
{
	va_list ap;

	errno = 0;
	va_start(ap, fmt);
	if (vprintf(fmt, ap) < 0)
		note_out_failure();
	va_end(ap);
}

int gnn_out_finish(void)
{
	errno = 0;
	if (fflush(stdout) != 0)
		note_out_failure();
	if (atomic_load(&out_errno) != 0)
		return gnn_err_sys(GNN_EIO, atomic_load(&out_errno), "standard output");
	return GNN_OK;
}
