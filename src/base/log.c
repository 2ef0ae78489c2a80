/* base/log.c - see log.h. */
#include "base/log.h"

#include "base/err.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 2048, STATUS_MAX_BYTES = 256 };

#define ERASE "\r\x1b[K"

static atomic_int current_level = GNN_LOG_INFO;
static atomic_int out_errno; /* the first failure of stdout */

static pthread_mutex_t stderr_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the status line */
static char status[STATUS_MAX_BYTES];

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

/* One write: a line, and under it the status line again if there is one. */
static void write_line(const char *line)
{
	char text[sizeof(ERASE) + LINE_MAX_BYTES + STATUS_MAX_BYTES];
	int len;

	pthread_mutex_lock(&stderr_lock);
	len = snprintf(text, sizeof(text), "%s%s%s", status[0] != '\0' ? ERASE : "", line, status);
	if (len > 0 && write(STDERR_FILENO, text, (size_t)len) < 0)
		errno = 0; /* nobody listens, and there is no other place to say so */
	pthread_mutex_unlock(&stderr_lock);
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
	len += (size_t)snprintf(line + len, sizeof(line) - len, "%s [%.32s] ",
		level_names[level], subsystem);
	va_start(ap, fmt);
	vsnprintf(line + len, sizeof(line) - len - 1, fmt, ap);
	va_end(ap);
	len = strlen(line);
	memcpy(line + len, "\n", 2);
	write_line(line);
}

bool gnn_log_on_terminal(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term != NULL && term[0] != '\0' &&
		strcmp(term, "dumb") != 0;
}

void gnn_log_status(const char *text)
{
	struct winsize window;
	int columns = 80;
	bool shown;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0)
		columns = window.ws_col;
	pthread_mutex_lock(&stderr_lock);
	shown = status[0] != '\0';
	snprintf(status, sizeof(status), "%.*s", columns - 1, text != NULL ? text : "");
	pthread_mutex_unlock(&stderr_lock);
	write_line(shown && text == NULL ? ERASE : "");
}

void gnn_log_failure(const char *text)
{
	char line[LINE_MAX_BYTES];

	gnn_log_status(NULL);
	snprintf(line, sizeof(line), "gnnrun: %s\n", text);
	write_line(line);
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
