/* main.c - the subcommand table, the frame around a command, and the place that prints errors. */
#include "base/clock.h"
#include "base/cmdline.h"
#include "base/config_print.h"
#include "base/fault.h"
#include "base/help.h"
#include "base/json.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/progress.h"
#include "base/setting.h"
#include "base/trace.h"
#include "base/usage.h"
#include "cmd/cmd.h"
#include "io/file.h"
#include "mpi/launch.h"
#include "mpi/same_options.h"

#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the order of gnn_command_id. */
static const struct gnn_command commands[GNN_CMD_COUNT] = {
	[GNN_CMD_IMPORT] = {"import", "SOURCE STORE.h5",
		"A folder or a file of edges, with features, labels and splits, into a store",
		2, 2, gnn_cmd_import},
	[GNN_CMD_GENERATE] = {"generate", "rmat|sbm|power STORE.h5",
		"A graph of any size, drawn from a seed, as a store", 2, 2, gnn_cmd_generate},
	[GNN_CMD_INFO] = {"info", "FILE.h5",
		"What a store or a result holds; --verify reads it all", 1, 1, gnn_cmd_info},
	[GNN_CMD_REORDER] = {"reorder", "STORE.h5 OUT.h5",
		"The same graph in an order in which few states wait at a time", 2, 2,
		gnn_cmd_reorder},
	[GNN_CMD_INFER] = {"infer", "STORE.h5",
		"Embeddings or class scores of every vertex", 1, 1, gnn_cmd_infer},
	[GNN_CMD_TRAIN] = {"train", "STORE.h5",
		"A model from the labels of a store, by sampled batches", 1, 1, gnn_cmd_train},
	[GNN_CMD_EXPORT] = {"export", "FILE.h5 OUT.npy", "An array of a store or a result as numpy",
		2, 2, gnn_cmd_export},
	[GNN_CMD_MODEL] = {"model", "[M.safetensors]",
		"How each tensor of a model was understood, what must be told; or --seeded", 0, 1,
		gnn_cmd_model},
	[GNN_CMD_BENCH] = {"bench", "io|aggregate|collective|gather|infer|train [STORE.h5]",
		"Measurements: the disk, the backend, ranks, steps, and how others infer", 1, 2,
		gnn_cmd_bench},
	[GNN_CMD_REPORT] = {"report", "RUN.jsonl",
		"The figures of --metrics as one HTML page with curves and tables", 1, 1,
		gnn_cmd_report},
	[GNN_CMD_DOCTOR] = {"doctor", "[FOLDER]",
		"What this build and machine offer: versions, cores, memory, I/O", 0, 1,
		gnn_cmd_doctor},
};

/*
 * A closed descriptor 0, 1 or 2 would be given to the next file opened, and messages would be
 * written into it. Each is opened the wrong way round, so that using it still fails.
 */
static void occupy_standard_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

/*
 * Threads of OpenMP that wait for work spin for some 10 us, then sleep. By default they spin for
 * milliseconds, on the core that the control thread or another program needs: under a small budget,
 * and one other busy process on two cores, inference took 7 to 13 s in the place of 2.6. libgomp
 * reads the number before main, so the program begins again, once, unless the user has chosen.
 */
static void wait_briefly(char **argv)
{
	char self[4096];
	ssize_t len;

	if (getenv("GOMP_SPINCOUNT") != NULL || getenv("OMP_WAIT_POLICY") != NULL)
		return;
	len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (len <= 0 || setenv("GOMP_SPINCOUNT", "1000", 0) != 0)
		return;
	self[len] = '\0';
	execv(self, argv); /* when it cannot be, waiting costs more, and all else is the same */
}

/* Commands that do not divide their work run as one task. */
static int check_ranks(const struct gnn_config *c)
{
	bool divides = c->command == GNN_CMD_INFER || c->command == GNN_CMD_TRAIN ||
		(c->command == GNN_CMD_BENCH && strcmp(c->args[0], "collective") == 0);

	if (gnn_comm_size(c->comm) == 1 || divides)
		return GNN_OK;
	return gnn_err(GNN_ECONFIG, "%s runs as one task, not as %u ranks",
		commands[c->command].name, gnn_comm_size(c->comm));
}

/* mpirun ties one or two tasks to a core each, and with them all their threads. */
static void check_cores(const struct gnn_comm_rank *me)
{
	uint32_t cores = gnn_machine_cores(), fair = gnn_machine_parent_cores() / me->local_size;
	struct gnn_launch launch;

	gnn_launch_read(&launch);
	if (launch.bound && me->local_rank == 0 && cores < fair)
		gnn_log(GNN_LOG_WARN, "ranks", "bound to %u of the %u cores that mpirun has for %u "
			"ranks here: --bind-to none, or --map-by slot:PE=%u, gives each its share",
			cores, gnn_machine_parent_cores(), me->local_size, fair);
}

/* Puts numbers in the place of "auto", and makes them hold. Ranks of a machine share it. */
static void take_share_of_machine(struct gnn_config *c)
{
	const struct gnn_comm_rank *me = &gnn_comm_ranks(c->comm)[gnn_comm_rank(c->comm)];
	struct gnn_memory_state memory;

	check_cores(me);
	if (c->threads == 0)
		c->threads = gnn_max_u64(gnn_machine_cores() / me->sharers, 1);
	omp_set_num_threads((int)c->threads);
	if (c->host_memory == 0) {
		gnn_machine_memory(&memory, "");
		c->host_memory = gnn_machine_budget(&memory) / me->local_size;
	}
	gnn_mem_limit(c->host_memory);
}

/* One of several ranks speaks for all; warnings come from any. */
static void set_voice(const struct gnn_config *c)
{
	bool speaks = gnn_comm_rank(c->comm) == 0;

	if (!speaks && c->log_level > (int)GNN_LOG_WARN)
		gnn_log_set_level(GNN_LOG_WARN);
	gnn_progress_enable(speaks && c->progress != GNN_OPT_OFF);
}

/* Metrics and the trace are those of rank 0. */
static int open_reports(const struct gnn_config *c)
{
	int rc = GNN_OK;

	if (gnn_comm_rank(c->comm) > 0)
		return GNN_OK;
	if (c->metrics != NULL) {
		/* Of report, which reads such a file; others are known by their first byte. */
		GNN_TRY(gnn_file_check_output(c->metrics, c->args, c->arg_count > 0 ? 1 : 0));
		GNN_TRY(gnn_metrics_open(c->metrics));
	}
	if (c->trace != NULL)
		GNN_TRY(gnn_trace_open(c->trace));
out:
	return rc;
}

/* What was typed, or stands in the file of --config. */
static void report_words(struct gnn_json *line, const struct gnn_config *c)
{
	uint32_t count;
	const struct gnn_option *o = gnn_options(&count);
	const struct gnn_text_list *list;
	char number[64];

	gnn_json_open_array(line, "arguments");
	for (uint32_t i = 0; i < c->arg_count; i++)
		gnn_json_text(line, NULL, c->args[i]);
	gnn_json_shut(line);
	gnn_json_open_object(line, "options");
	for (uint32_t i = 0; i < count; i++) {
		if (c->origin[i].source == GNN_FROM_DEFAULT)
			continue;
		if (o[i].type != GNN_OPTION_LIST) {
			gnn_json_text(line, o[i].name,
				gnn_setting_text(&o[i], c, number, sizeof(number)));
			continue;
		}
		list = (const void *)((const char *)c + o[i].offset);
		gnn_json_open_array(line, o[i].name);
		for (uint32_t k = 0; k < list->count; k++)
			gnn_json_text(line, NULL, list->item[k]);
		gnn_json_shut(line);
	}
	gnn_json_shut(line);
}

static void report_start(const struct gnn_config *c)
{
	struct gnn_json *line = gnn_metrics_begin("start");
	char kernel[GNN_KERNEL_BYTES];

	if (line == NULL)
		return;
	gnn_json_text(line, "command", commands[c->command].name);
	gnn_json_text(line, "version", GNN_VERSION);
	gnn_json_text(line, "kernel", gnn_machine_kernel(kernel));
	gnn_json_u64(line, "threads", c->threads);
	gnn_json_u64(line, "host_memory_bytes", c->host_memory);
	gnn_json_u64(line, "seed", c->seed);
	gnn_json_u64(line, "ranks", gnn_comm_size(c->comm));
	report_words(line, c);
	gnn_metrics_end(line);
}

static void report_end(int status, double wall_s)
{
	struct gnn_json *line = gnn_metrics_begin("end");
	struct gnn_mem_stats mem;

	if (line == NULL)
		return;
	gnn_mem_stats(&mem);
	gnn_json_u64(line, "exit_code", (uint64_t)(status < 0 ? -status : 0));
	gnn_json_real(line, "wall_s", wall_s);
	gnn_json_u64(line, "peak_host_bytes", mem.peak_bytes);
	gnn_metrics_end(line);
}

/* The first error stays; the second is of a smaller thing. */
static int first_of(int rc, int (*finish)(void))
{
	struct gnn_err_state first;

	if (rc >= 0)
		return finish();
	gnn_err_save(&first, rc);
	finish();
	return gnn_err_restore(&first);
}

static int run_command(struct gnn_config *c, bool *said)
{
	const struct gnn_command *command = &commands[c->command];
	uint64_t start = gnn_clock_ns(), span;
	int rc = GNN_OK;

	gnn_log_set_level((enum gnn_log_level)c->log_level);
	GNN_TRY(gnn_comm_start(&c->comm, &(struct gnn_comm_opts){
		.peer_timeout_s = (uint32_t)c->peer_timeout,
		.allow_singleton = c->allow_singleton}));
	set_voice(c);
	GNN_TRY(check_ranks(c));
	take_share_of_machine(c);
	GNN_TRY(gnn_same_options(c->comm, c));
	GNN_TRY(gnn_fault_parse(c->faults));
	GNN_TRY(open_reports(c));
	report_start(c);
	gnn_usage_start((const char *const[]){c->args[0], c->arg_count > 1 ? c->args[1] : NULL,
		c->out, c->scratch}, 4);
	span = gnn_trace_begin();
	rc = command->run(c);
	gnn_trace_end(span, command->name);
	gnn_usage_stop();
	report_end(rc, gnn_clock_s_since(start));
out:
	rc = first_of(rc, gnn_trace_close);
	rc = first_of(rc, gnn_metrics_close);
	rc = first_of(rc, gnn_out_finish); /* before the ranks part */
	return gnn_comm_end(&c->comm, rc, said);
}

static void list_crash_points(void)
{
	for (const char *const *name = gnn_crash_points(); *name != NULL; name++)
		gnn_out("%s\n", *name);
}

static int print_version(const struct gnn_config *c)
{
	struct gnn_json *j = NULL;
	int rc = GNN_OK;

	if (!c->json) {
		gnn_out("gnnrun " GNN_VERSION "\n");
		return GNN_OK;
	}
	GNN_TRY(gnn_json_create(&j));
	gnn_json_text(j, "command", "version");
	gnn_json_text(j, "version", GNN_VERSION);
	gnn_json_text(j, "compiler", "gcc " __VERSION__);
	rc = gnn_json_print(j);
out:
	gnn_json_destroy(j);
	return rc;
}

static int run(struct gnn_config *c, bool *said)
{
	if (c->dump_options)
		gnn_help_markdown(commands);
	else if (c->list_crash_points)
		list_crash_points();
	else if (c->version)
		return print_version(c);
	else if (c->help)
		gnn_help(commands, c->command);
	else if (c->print_config)
		gnn_config_print(c, commands);
	else
		return run_command(c, said);
	return GNN_OK;
}

int main(int argc, char **argv)
{
	struct gnn_config c;
	bool said = false;
	int rc;

	wait_briefly(argv);
	occupy_standard_descriptors();
	signal(SIGPIPE, SIG_IGN); /* a reader that went away shows as EPIPE */
	signal(SIGXFSZ, SIG_IGN); /* a file size limit shows as EFBIG */
	gnn_json_use_budget();
	rc = gnn_cmdline_read(&c, commands, argc, argv);
	if (rc >= 0)
		rc = run(&c, &said);
	rc = first_of(rc, gnn_out_finish);
	if (rc < 0 && !said)
		gnn_log_failure(gnn_err_text());
	gnn_config_fini(&c);
	return rc < 0 ? -rc : 0;
}
