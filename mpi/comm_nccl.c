/*
 * mpi/comm_nccl.c - see link.h.
 *
 * The communicator does not block: calls that are still at work are asked about, in between the
 * ranks are listened to, and all has a deadline.
 */
#include "mpi/link.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "mpi/comm_ops.h"

#include <dlfcn.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define STRING_OF(x) #x
#define STRING(x)    STRING_OF(x)
#define LIBRARY      "libnccl.so." STRING(NCCL_MAJOR)

enum {
	SPINS = 256, /* questions before the first sleep: most calls are done by then */
	NAP_US = 50,
	EXTRA_S = 60,   /* beyond the time for a silent rank: all live, and NCCL stands still */
	CONNECT_S = 60, /* until ranks give up to connect, since one of them may have failed to */
	SHM_LOW_BYTES = 256 << 20,
};

extern char **environ;

/* Where the loader looks, then where the build found it. */
static const char *const places[] = {LIBRARY, GNN_NCCL_LIBRARY_DIR "/" LIBRARY};

struct nccl {
	void *library;
	ncclResult_t (*version)(int *version);
	ncclResult_t (*unique_id)(ncclUniqueId *id);
	ncclResult_t (*init)(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
		ncclConfig_t *config);
	ncclResult_t (*finalize)(ncclComm_t comm);
	ncclResult_t (*destroy)(ncclComm_t comm);
	ncclResult_t (*abort)(ncclComm_t comm);
	ncclResult_t (*state)(ncclComm_t comm, ncclResult_t *state);
	ncclResult_t (*begin)(void);
	ncclResult_t (*end)(void);
	ncclResult_t (*send)(const void *data, size_t count, ncclDataType_t type, int peer,
		ncclComm_t comm, cudaStream_t stream);
	ncclResult_t (*recv)(void *data, size_t count, ncclDataType_t type, int peer,
		ncclComm_t comm, cudaStream_t stream);
	ncclResult_t (*reduce)(const void *from, void *to, size_t count, ncclDataType_t type,
		ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
	const char *(*error)(ncclResult_t result);
	const char *(*last)(ncclComm_t comm);
};

struct gnn_link {
	struct gnn_comm *comm;
	struct nccl      nccl;
	ncclComm_t       ranks; /* NULL once given up */
	uint64_t         asked_ns; /* since when the host waits; 0: it has not asked yet */
	uint64_t         limit_s;  /* of waiting */
	char             version[24];
};

/* dlsym gives an object pointer; POSIX says that it may be copied into a function pointer. */
static bool find(void *library, const char *name, void *function)
{
	void *symbol = dlsym(library, name);

	memcpy(function, &symbol, sizeof(symbol));
	return symbol != NULL;
}

static int load(struct nccl *n)
{
	const struct {
		const char *name;
		void       *function;
	} symbols[] = {
		{"ncclGetVersion", &n->version}, {"ncclGetUniqueId", &n->unique_id},
		{"ncclCommInitRankConfig", &n->init}, {"ncclCommFinalize", &n->finalize},
		{"ncclCommDestroy", &n->destroy}, {"ncclCommAbort", &n->abort},
		{"ncclCommGetAsyncError", &n->state}, {"ncclGroupStart", &n->begin},
		{"ncclGroupEnd", &n->end}, {"ncclSend", &n->send}, {"ncclRecv", &n->recv},
		{"ncclAllReduce", &n->reduce}, {"ncclGetErrorString", &n->error},
		{"ncclGetLastError", &n->last},
	};

	for (size_t i = 0; i < GNN_COUNT_OF(places) && n->library == NULL; i++)
		n->library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
	if (n->library == NULL)
		return gnn_err(GNN_EUNAVAIL, "NCCL: %s", dlerror());
	for (size_t i = 0; i < GNN_COUNT_OF(symbols); i++)
		if (!find(n->library, symbols[i].name, symbols[i].function))
			return gnn_err(GNN_EUNAVAIL, "NCCL: %s", dlerror());
	return GNN_OK;
}

/* Sets the text and gives up what is on its way, which ends the waiting for it. */
static int give_up(struct gnn_link *l, ncclResult_t result, const char *what)
{
	int rc = gnn_err(GNN_EOS, "NCCL: %s: %s: %s", what, l->nccl.error(result),
		l->nccl.last(l->ranks));

	if (l->ranks != NULL)
		l->nccl.abort(l->ranks);
	l->ranks = NULL;
	return rc;
}

static bool is_late(struct gnn_link *l)
{
	uint64_t now = gnn_clock_ns();

	if (l->asked_ns == 0)
		l->asked_ns = now;
	return now - l->asked_ns > l->limit_s * 1000000000;
}

int gnn_link_check(void *arg, bool first)
{
	struct gnn_link *l = arg;
	ncclResult_t state = ncclSuccess;

	if (first)
		l->asked_ns = 0;
	if (gnn_comm_failed(l->comm)) {
		if (l->ranks != NULL)
			l->nccl.abort(l->ranks);
		l->ranks = NULL;
		return gnn_comm_agree(l->comm, GNN_OK);
	}
	if (l->ranks == NULL)
		return gnn_err(GNN_EOS, "NCCL: the link to the other ranks was given up");
	if (l->nccl.state(l->ranks, &state) != ncclSuccess)
		state = ncclSystemError;
	if (state != ncclSuccess && state != ncclInProgress)
		return give_up(l, state, "what was issued failed");
	if (!is_late(l))
		return GNN_OK;
	return give_up(l, ncclInProgress, "no rank failed, and nothing arrives");
}

/* Until a call that goes on in the background is done. */
static int settle(struct gnn_link *l, ncclResult_t result, const char *what)
{
	int rc = GNN_OK;

	for (uint32_t asked = 0; result == ncclInProgress; asked++) {
		GNN_TRY(gnn_link_check(l, asked == 0));
		if (l->nccl.state(l->ranks, &result) != ncclSuccess)
			result = ncclSystemError;
		if (result == ncclInProgress && asked > SPINS)
			usleep(NAP_US);
	}
	if (result != ncclSuccess)
		rc = give_up(l, result, what);
out:
	return rc;
}

/* All ranks go on, or none does: `rc` of each, and the text of the lowest that cannot. */
static int agree(struct gnn_link *l, int rc, bool *all)
{
	struct word {
		int32_t status;
		char    text[256];
	} mine = {.status = rc}, *each = NULL;
	uint32_t size = gnn_comm_size(l->comm), failed = 0;
	int status;

	*all = false;
	if (rc < 0)
		snprintf(mine.text, sizeof(mine.text), "%.255s", gnn_err_text());
	status = gnn_mem_new((void **)&each, size, sizeof(*each), GNN_MEM_MISC);
	if (status == GNN_OK)
		status = gnn_comm_gather(l->comm, &mine, sizeof(mine), each);
	while (status == GNN_OK && failed < size && each[failed].status == GNN_OK)
		failed++;
	if (status == GNN_OK && failed < size)
		gnn_err(GNN_SKIPPED, "%s", each[failed].text);
	*all = status == GNN_OK && failed == size;
	gnn_comm_keep(l->comm, each);
	return status;
}

/* Variables that change what NCCL does are in the log: half of all reports begin with them. */
static void log_start(const struct gnn_link *l)
{
	gnn_log(GNN_LOG_INFO, "mpi", "NCCL %s between %u ranks", l->version,
		gnn_comm_size(l->comm));
	for (char **e = environ; *e != NULL; e++)
		if (strncmp(*e, "NCCL_", strlen("NCCL_")) == 0)
			gnn_log(GNN_LOG_INFO, "mpi", "%s", *e);
}

/* A container's 64 MiB are not enough for NCCL, which says something else then. */
static void name_shm(void)
{
	struct statvfs s;
	uint64_t free_bytes;

	if (statvfs("/dev/shm", &s) != 0)
		return;
	free_bytes = (uint64_t)s.f_bavail * s.f_frsize;
	if (free_bytes < SHM_LOW_BYTES)
		gnn_err_place(GNN_EOS, "/dev/shm has %.1f MiB free (give a container --shm-size)",
			(double)free_bytes / 1048576.0);
}

static int prepare(struct gnn_link *l, ncclUniqueId *id)
{
	ncclResult_t result = ncclSuccess;
	int version = 0, rc;

	setenv("NCCL_NVLS_ENABLE", "0", 0);
	GNN_TRY(load(&l->nccl));
	l->nccl.version(&version);
	snprintf(l->version, sizeof(l->version), "%d.%d.%d", version / 10000,
		version / 100 % 100, version % 100);
	if (gnn_comm_rank(l->comm) == 0)
		result = l->nccl.unique_id(id);
	if (result != ncclSuccess)
		GNN_FAIL(GNN_EOS, "NCCL: no id: %s", l->nccl.error(result));
out:
	return rc;
}

static int connect_ranks(struct gnn_link *l, ncclUniqueId id)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclResult_t result;
	int rc;

	config.blocking = 0;
	l->limit_s = CONNECT_S;
	result = l->nccl.init(&l->ranks, (int)gnn_comm_size(l->comm), id,
		(int)gnn_comm_rank(l->comm), &config);
	rc = settle(l, result, "the ranks do not connect");
	l->limit_s = l->comm->peer_timeout_s + UINT64_C(1) * EXTRA_S;
	if (rc < 0)
		name_shm();
	return rc;
}

int gnn_link_open(struct gnn_link **out, struct gnn_comm *c)
{
	struct gnn_link *l = NULL;
	ncclUniqueId id = {{0}};
	bool all;
	int rc;

	*out = NULL;
	GNN_NEW(l, GNN_MEM_MISC);
	l->comm = c;
	GNN_TRY(agree(l, prepare(l, &id), &all));
	if (all) {
		GNN_TRY(gnn_comm_broadcast(c, 0, &id, sizeof(id)));
		GNN_TRY(agree(l, connect_ranks(l, id), &all));
	}
	if (!all) {
		if (l->ranks != NULL) /* an orderly end would wait for ranks that are not there */
			l->nccl.abort(l->ranks);
		l->ranks = NULL;
		rc = GNN_SKIPPED;
		goto out;
	}
	log_start(l);
	*out = l;
	l = NULL;
out:
	gnn_link_close(l);
	return rc;
}

void gnn_link_close(struct gnn_link *l)
{
	struct gnn_err_state first; /* what the caller is about to report stays */

	if (l == NULL)
		return;
	gnn_err_save(&first, GNN_OK);
	if (l->ranks != NULL && gnn_link_check(l, true) == GNN_OK &&
		settle(l, l->nccl.finalize(l->ranks), "the end") == GNN_OK)
		l->nccl.destroy(l->ranks);
	else if (l->ranks != NULL)
		l->nccl.abort(l->ranks);
	/* The library stays: its threads may be on their way out. */
	gnn_mem_free(l);
	gnn_err_restore(&first);
}

const char *gnn_link_version(const struct gnn_link *l)
{
	return l->version;
}

static ncclResult_t issue(struct gnn_link *l, const struct gnn_link_message *m, cudaStream_t stream)
{
	if (m->bytes == 0)
		return ncclSuccess;
	return m->sends ? l->nccl.send(m->data, m->bytes, ncclInt8, (int)m->peer, l->ranks, stream)
		: l->nccl.recv(m->data, m->bytes, ncclInt8, (int)m->peer, l->ranks, stream);
}

int gnn_link_exchange(struct gnn_link *l, const struct gnn_link_message *m, uint32_t count,
	void *stream)
{
	ncclResult_t result, end;
	int rc;

	GNN_TRY(gnn_link_check(l, true));
	result = l->nccl.begin();
	for (uint32_t i = 0; i < count &&
		(result == ncclSuccess || result == ncclInProgress); i++)
		result = issue(l, &m[i], stream);
	end = l->nccl.end();
	if (result == ncclSuccess || result == ncclInProgress)
		result = end;
	GNN_TRY(settle(l, result, "rows of other ranks"));
out:
	return rc;
}

int gnn_link_sum(struct gnn_link *l, float *data, uint64_t count, void *stream)
{
	int rc;

	GNN_TRY(gnn_link_check(l, true));
	GNN_TRY(settle(l, l->nccl.reduce(data, data, count, ncclFloat32, ncclSum, l->ranks,
		stream), "a sum over the ranks"));
out:
	return rc;
}
