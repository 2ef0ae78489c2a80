/*
 * tests/mpi/nccl_stub.c - what mpi/comm_nccl.c takes of NCCL, between memories of the host.
 *
 * A message is a file under GNN_STUB_FOLDER, there at once by its name. Calls are always still at
 * work when they return, and go on when they are asked about; messages travel when the stream is
 * stepped. GNN_STUB = WHAT:RANK[:N] makes a rank misbehave: "init", it does not start; "async", its
 * N-th exchange ends with an error on its way.
 */
#include "nccl_stub.h"

#include <nccl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LATE = 3, OPS_MAX = 256, RANKS_MAX = 64, PATH_BYTES = 512 };

struct op {
	bool   sends, done;
	void  *data;
	size_t bytes;
	int    peer, number;
};

struct ncclComm {
	int          rank, late, exchanges;
	ncclResult_t error;
	char         id[32];
	int          sent[RANKS_MAX], taken[RANKS_MAX];
	struct op    op[OPS_MAX];
	int          ops;
	bool         issued; /* and not done */
	struct stub_stream *stream;
};

static ncclComm_t grouped;

/* Whether this rank is to misbehave so; *n: at which exchange. */
static bool is_told(const char *what, int rank, int *n)
{
	const char *told = getenv("GNN_STUB");
	size_t length = strlen(what);
	int who = -1;

	*n = 0;
	if (told == NULL || strncmp(told, what, length) != 0 || told[length] != ':')
		return false;
	sscanf(told + length, ":%d:%d", &who, n);
	return who == rank;
}

static void name_file(char path[PATH_BYTES], const struct ncclComm *c, int from, int to, int number,
	const char *more)
{
	snprintf(path, PATH_BYTES, "%s/%s.%d.%d.%d%s", getenv("GNN_STUB_FOLDER"), c->id, from, to,
		number, more);
}

static void write_message(struct ncclComm *c, struct op *o)
{
	char path[PATH_BYTES], early[PATH_BYTES];
	FILE *f;

	name_file(path, c, c->rank, o->peer, o->number, "");
	name_file(early, c, c->rank, o->peer, o->number, ".early");
	f = fopen(early, "w");
	if (f == NULL || fwrite(o->data, 1, o->bytes, f) != o->bytes || fclose(f) != 0 ||
		rename(early, path) != 0)
		c->error = ncclSystemError;
	o->done = true;
}

static void read_message(struct ncclComm *c, struct op *o)
{
	char path[PATH_BYTES];
	FILE *f;

	name_file(path, c, o->peer, c->rank, o->number, "");
	f = fopen(path, "r");
	if (f == NULL)
		return;
	if (fread(o->data, 1, o->bytes, f) != o->bytes || fgetc(f) != EOF)
		c->error = ncclInvalidArgument; /* another size than was sent */
	fclose(f);
	unlink(path);
	o->done = true;
}

ncclResult_t ncclGetVersion(int *version)
{
	*version = NCCL_VERSION_CODE;
	return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
	snprintf(id->internal, sizeof(id->internal), "m%d", (int)getpid());
	return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
	ncclConfig_t *config)
{
	int n;

	if (is_told("init", rank, &n) || ranks > RANKS_MAX || config->blocking != 0)
		return ncclSystemError;
	*comm = calloc(1, sizeof(**comm));
	(*comm)->rank = rank;
	(*comm)->late = LATE;
	snprintf((*comm)->id, sizeof((*comm)->id), "%.31s", id.internal);
	return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *state)
{
	if (c->late > 0)
		c->late--;
	*state = c->error != ncclSuccess ? c->error : c->late == 0 ? ncclSuccess : ncclInProgress;
	return ncclSuccess;
}

static bool step(void *comm)
{
	ncclComm_t c = comm;
	bool done = true;
	int n;

	if (is_told("async", c->rank, &n) && c->exchanges == n)
		c->error = ncclRemoteError;
	for (int i = 0; i < c->ops && c->error == ncclSuccess; i++) {
		if (!c->op[i].done && c->op[i].sends)
			write_message(c, &c->op[i]);
		else if (!c->op[i].done)
			read_message(c, &c->op[i]);
		done = done && c->op[i].done;
	}
	if (!done || c->error != ncclSuccess)
		return false;
	c->ops = 0;
	c->issued = false;
	return true;
}

ncclResult_t ncclGroupStart(void)
{
	return ncclSuccess;
}

static ncclResult_t add(ncclComm_t c, const struct op *o, cudaStream_t stream)
{
	if (c->ops == OPS_MAX || c->late > 0 || c->issued)
		return ncclInvalidUsage;
	c->stream = (void *)stream;
	c->op[c->ops++] = *o;
	grouped = c;
	return ncclInProgress;
}

ncclResult_t ncclSend(const void *data, size_t count, ncclDataType_t type, int peer, ncclComm_t c,
	cudaStream_t stream)
{
	return type != ncclInt8 ? ncclInvalidArgument : add(c, &(struct op){.sends = true,
		.data = (void *)(size_t)data, .bytes = count, .peer = peer,
		.number = c->sent[peer]++}, stream);
}

ncclResult_t ncclRecv(void *data, size_t count, ncclDataType_t type, int peer, ncclComm_t c,
	cudaStream_t stream)
{
	return type != ncclInt8 ? ncclInvalidArgument : add(c, &(struct op){.data = data,
		.bytes = count, .peer = peer, .number = c->taken[peer]++}, stream);
}

ncclResult_t ncclGroupEnd(void)
{
	ncclComm_t c = grouped;

	grouped = NULL;
	if (c == NULL)
		return ncclSuccess;
	c->late = LATE;
	c->exchanges++;
	c->issued = true;
	c->stream->step = step;
	c->stream->comm = c;
	return ncclInProgress;
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
	ncclRedOp_t op, ncclComm_t c, cudaStream_t stream)
{
	(void)from;
	(void)to;
	(void)count;
	(void)type;
	(void)op;
	(void)c;
	(void)stream;
	return ncclInvalidUsage; /* no test sums */
}

ncclResult_t ncclCommFinalize(ncclComm_t c)
{
	c->late = LATE;
	return ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t c)
{
	free(c);
	return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t c)
{
	free(c);
	return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
	return result == ncclRemoteError ? "remote process exited" : "a stub's error";
}

const char *ncclGetLastError(ncclComm_t c)
{
	(void)c;
	return "no more is known";
}
