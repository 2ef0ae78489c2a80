/* base/usage.c - see usage.h. */
#include "base/usage.h"

#include "base/clock.h"
#include "base/metrics.h"
#include "base/nvml.h"
#include "base/ticker.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { DISKS_MAX = 8, TEXT_BYTES = 1024, PATH_BYTES = 4096, BUS_ID_BYTES = 32, SECTOR = 512 };

/* Seconds. A line of less time than the second would have no rates worth reading. */
#define EVERY    1.0
#define AT_LEAST 0.001

/* Counters that only grow. */
struct counts {
	uint64_t ns;
	double   cpu_s;
	double   read, written;           /* bytes by this process; NaN: not known */
	double   disk_read, disk_written; /* by anyone, of the disks of the run's files */
};

static struct gnn_ticker *ticker;
static dev_t disks[DISKS_MAX];
static uint32_t disk_count;
static struct counts before; /* the ticker's own, main's before and after it */
static struct gnn_nvml gpu;  /* the same */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards bus_id */
static char bus_id[BUS_ID_BYTES];

/* A small file of the kernel's; "" when it cannot be read. */
static void read_text(const char *path, char to[TEXT_BYTES])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t bytes = fd >= 0 ? read(fd, to, TEXT_BYTES - 1) : 0;

	to[bytes > 0 ? bytes : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

static double number_behind(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at != NULL ? (double)strtoull(at + strlen(key), NULL, 10) : (double)NAN;
}

static double resident_bytes(void)
{
	char text[TEXT_BYTES];
	unsigned long long whole, resident;

	read_text("/proc/self/statm", text);
	if (sscanf(text, "%llu %llu", &whole, &resident) != 2)
		return (double)NAN;
	return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

/* Fields 3 and 7 of a disk's statistics: sectors read and written. */
static void add_disk(dev_t disk, struct counts *c)
{
	unsigned long long read, written;
	char path[64], text[TEXT_BYTES];

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/stat", major(disk), minor(disk));
	read_text(path, text);
	if (sscanf(text, "%*u %*u %llu %*u %*u %*u %llu", &read, &written) != 2)
		return;
	c->disk_read = (isnan(c->disk_read) ? 0.0 : c->disk_read) + (double)read * SECTOR;
	c->disk_written = (isnan(c->disk_written) ? 0.0 : c->disk_written) +
		(double)written * SECTOR;
}

static double seconds_of(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec * 1e-6;
}

static struct counts count(void)
{
	struct counts c = {.ns = gnn_clock_ns(), .disk_read = (double)NAN,
		.disk_written = (double)NAN};
	char text[TEXT_BYTES];
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	c.cpu_s = seconds_of(&used.ru_utime) + seconds_of(&used.ru_stime);
	read_text("/proc/self/io", text);
	c.read = number_behind(text, "\nread_bytes: ");
	c.written = number_behind(text, "\nwrite_bytes: ");
	for (uint32_t i = 0; i < disk_count; i++)
		add_disk(disks[i], &c);
	return c;
}

/* The GPU may be known only after a while. */
static void open_gpu(void)
{
	char id[BUS_ID_BYTES];

	pthread_mutex_lock(&lock);
	memcpy(id, bus_id, sizeof(id));
	bus_id[0] = '\0'; /* one try each */
	pthread_mutex_unlock(&lock);
	if (id[0] == '\0')
		return;
	gnn_nvml_close(&gpu);
	gnn_nvml_open(&gpu, id);
}

static void sample(void *arg)
{
	struct counts now = count();
	double seconds = (double)(now.ns - before.ns) * 1e-9, gpu_bytes, gpu_busy;
	struct gnn_json *line;

	(void)arg;
	if (seconds < AT_LEAST)
		return;
	open_gpu();
	gnn_nvml_read(&gpu, &gpu_bytes, &gpu_busy);
	line = gnn_metrics_begin("usage");
	if (line == NULL)
		return;
	gnn_json_real(line, "interval_s", seconds);
	gnn_json_real(line, "cpu_cores", (now.cpu_s - before.cpu_s) / seconds);
	gnn_json_real(line, "rss_bytes", resident_bytes());
	gnn_json_real(line, "read_bytes_s", (now.read - before.read) / seconds);
	gnn_json_real(line, "written_bytes_s", (now.written - before.written) / seconds);
	gnn_json_real(line, "disk_read_bytes_s", (now.disk_read - before.disk_read) / seconds);
	gnn_json_real(line, "disk_written_bytes_s",
		(now.disk_written - before.disk_written) / seconds);
	gnn_json_real(line, "gpu_busy", gpu_busy);
	gnn_json_real(line, "gpu_memory_bytes", gpu_bytes);
	gnn_metrics_end(line);
	before = now;
}

/* The disk of a path, or of its folder while it does not exist. */
static void watch_disk(const char *path)
{
	char folder[PATH_BYTES];
	struct stat st;
	char *slash;

	if (strlen(path) >= sizeof(folder))
		return;
	memcpy(folder, path, strlen(path) + 1);
	if (stat(folder, &st) != 0) {
		slash = strrchr(folder, '/');
		if (slash != NULL)
			slash[1] = '\0';
		if (stat(slash != NULL ? folder : ".", &st) != 0)
			return;
	}
	for (uint32_t i = 0; i < disk_count; i++)
		if (disks[i] == st.st_dev)
			return;
	if (disk_count < DISKS_MAX)
		disks[disk_count++] = st.st_dev;
}

void gnn_usage_start(const char *const *path, uint32_t path_count)
{
	if (!gnn_metrics_enabled())
		return;
	disk_count = 0;
	for (uint32_t i = 0; i < path_count; i++)
		if (path[i] != NULL)
			watch_disk(path[i]);
	before = count();
	if (gnn_ticker_start(&ticker, "usage", EVERY, sample, NULL) < 0)
		gnn_err_clear();
}

void gnn_usage_gpu(const char *id)
{
	pthread_mutex_lock(&lock);
	snprintf(bus_id, sizeof(bus_id), "%s", id);
	pthread_mutex_unlock(&lock);
}

void gnn_usage_stop(void)
{
	bool watched = ticker != NULL;

	gnn_ticker_stop(&ticker);
	if (watched)
		sample(NULL);
	gnn_nvml_close(&gpu);
}
