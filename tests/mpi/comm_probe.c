/*
 * tests/mpi/comm_probe.c - one rank of tests/mpi_test.py: uses mpi/comm as the product does.
 *
 * usage: comm_probe MODE [RANK [RANK]] [--bytes N]
 *
 * exchange: collectives and messages of many sizes, checked. fail R [R]: these ranks fail while the
 * others wait for them. stop R, kill R: that rank gets the signal. Exit status: that of the job.
 */
#include "base/log.h"
#include "base/mem.h"
#include "mpi/comm.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint8_t byte_of(uint64_t from, uint64_t to, uint64_t i)
{
	return (uint8_t)(i * 31 + from * 7 + to * 13 + (i >> 20));
}

/* Every rank sends `bytes` + rank bytes to every other, in two messages of one tag. */
static int exchange(struct gnn_comm *c, uint64_t bytes)
{
	uint32_t rank = gnn_comm_rank(c), size = gnn_comm_size(c);
	struct gnn_comm_request **r = NULL;
	uint8_t **block = NULL;
	int rc = GNN_OK;

	GNN_NEW_ARRAY(r, 2 * (uint64_t)size, GNN_MEM_MISC);
	GNN_NEW_ARRAY(block, 2 * (uint64_t)size, GNN_MEM_MISC);
	for (uint32_t p = 0; p < size; p++) {
		if (p == rank)
			continue;
		GNN_NEW_ARRAY(block[p], bytes + rank + 1, GNN_MEM_MISC);
		GNN_NEW_ARRAY(block[size + p], bytes + p + 1, GNN_MEM_MISC);
		for (uint64_t i = 0; i < bytes + rank; i++)
			block[p][i] = byte_of(rank, p, i);
		GNN_TRY(gnn_comm_recv(c, p, 5, block[size + p], bytes + p, &r[size + p]));
		GNN_TRY(gnn_comm_send(c, p, 5, block[p], bytes + rank, &r[p]));
	}
	for (uint32_t k = 0; k < 2 * size; k++)
		GNN_TRY(gnn_comm_wait(c, &r[k]));
	for (uint32_t p = 0; p < size; p++)
		for (uint64_t i = 0; p != rank && i < bytes + p; i++)
			if (block[size + p][i] != byte_of(p, rank, i))
				GNN_FAIL(GNN_EBUG, "byte %llu of rank %u is wrong",
					(unsigned long long)i, p);
out:
	for (uint32_t k = 0; block != NULL && k < 2 * size; k++)
		gnn_comm_keep(c, block[k]);
	gnn_comm_keep(c, block);
	gnn_mem_free(r);
	return rc;
}

static int check_collectives(struct gnn_comm *c)
{
	uint64_t rank = gnn_comm_rank(c), size = gnn_comm_size(c);
	uint64_t sum[2] = {rank + 1, 5}, low = rank + 3, high = rank;
	uint64_t word = rank == size - 1 ? 42 : 0;
	double real = (double)(rank + 1) * 0.1, least = -(double)rank;
	int rc;

	GNN_TRY(gnn_comm_agree(c, GNN_OK));
	GNN_TRY(gnn_comm_reduce_u64(c, GNN_REDUCE_SUM, sum, 2));
	GNN_TRY(gnn_comm_reduce_u64(c, GNN_REDUCE_MIN, &low, 1));
	GNN_TRY(gnn_comm_reduce_u64(c, GNN_REDUCE_MAX, &high, 1));
	GNN_TRY(gnn_comm_reduce_f64(c, GNN_REDUCE_SUM, &real, 1));
	GNN_TRY(gnn_comm_reduce_f64(c, GNN_REDUCE_MIN, &least, 1));
	GNN_TRY(gnn_comm_broadcast(c, (uint32_t)size - 1, &word, sizeof(word)));
	if (sum[0] != size * (size + 1) / 2 || sum[1] != 5 * size || low != 3 ||
		high != size - 1 || word != 42 || least != -(double)(size - 1))
		GNN_FAIL(GNN_EBUG, "a reduction is wrong");
	if (real < 0.1 * (double)sum[0] - 1e-9 || real > 0.1 * (double)sum[0] + 1e-9)
		GNN_FAIL(GNN_EBUG, "a sum is wrong: %.17g", real);
out:
	return rc;
}

/* More than fits one step: every rank combines a slice. */
static int check_large(struct gnn_comm *c)
{
	uint64_t rank = gnn_comm_rank(c), size = gnn_comm_size(c), count = 10007;
	double *real = NULL, want;
	uint64_t *word = NULL;
	int rc;

	GNN_NEW_ARRAY(real, count, GNN_MEM_MISC);
	GNN_NEW_ARRAY(word, count, GNN_MEM_MISC);
	for (uint64_t i = 0; i < count; i++) {
		real[i] = 1.0 / (double)(rank + i + 1);
		word[i] = (i + rank) % size;
	}
	GNN_TRY(gnn_comm_reduce_f64(c, GNN_REDUCE_SUM, real, (uint32_t)count));
	GNN_TRY(gnn_comm_reduce_u64(c, GNN_REDUCE_MAX, word, (uint32_t)count));
	for (uint64_t i = 0; i < count; i++) {
		want = 1.0 / (double)(i + 1);
		for (uint64_t q = 1; q < size; q++)
			want += 1.0 / (double)(q + i + 1);
		if (real[i] != want || word[i] != size - 1)
			GNN_FAIL(GNN_EBUG, "item %llu of a large reduction is wrong",
				(unsigned long long)i);
	}
out:
	gnn_mem_free(real);
	gnn_mem_free(word);
	return rc;
}

static bool is_named(uint32_t rank, int argc, char **argv)
{
	for (int i = 2; i < argc; i++)
		if (strtoul(argv[i], NULL, 10) == rank)
			return true;
	return false;
}

static int work(struct gnn_comm *c, int argc, char **argv)
{
	static const uint64_t sizes[] = {0, 1, 4096, 100003, 20000000};
	uint32_t rank = gnn_comm_rank(c);
	const char *mode = argv[1];
	int rc;

	gnn_comm_phase(c, "working");
	GNN_TRY(check_collectives(c));
	GNN_TRY(check_large(c));
	if (strcmp(mode, "exchange") == 0) {
		for (size_t i = 0; i < GNN_COUNT_OF(sizes); i++)
			GNN_TRY(exchange(c, sizes[i]));
		return GNN_OK;
	}
	if (strcmp(mode, "huge") == 0)
		return exchange(c, (UINT64_C(1) << 31) + 77);
	if (is_named(rank, argc, argv)) {
		if (strcmp(mode, "fail") == 0)
			return gnn_err(GNN_EDATA, "a byte of rank %u is wrong", rank);
		usleep(300000);
		raise(strcmp(mode, "stop") == 0 ? SIGSTOP : SIGKILL);
	}
	GNN_TRY(exchange(c, 100));
	GNN_TRY(gnn_comm_agree(c, GNN_OK));
out:
	return rc;
}

int main(int argc, char **argv)
{
	struct gnn_comm *c = NULL;
	bool said = false;
	uint32_t rank;
	int rc;

	if (argc < 2)
		return 64;
	rc = gnn_comm_start(&c, &(struct gnn_comm_opts){.peer_timeout_s = 2});
	if (rc == GNN_OK)
		rc = work(c, argc, argv);
	rank = gnn_comm_rank(c);
	rc = gnn_comm_end(&c, rc, &said);
	if (rc < 0 && !said)
		gnn_log_failure(gnn_err_text());
	if (rc == GNN_OK && rank == 0)
		gnn_out("all well\n");
	return rc < 0 ? -rc : 0;
}
