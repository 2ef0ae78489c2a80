/*
 * cuda/device.h - one CUDA device as the backend uses it: streams, memory, staging, tickets.
 *
 * Flow     backend_cuda.c -> [device] -> CUDA runtime, cuBLAS
 * Owns     streams, events, the cuBLAS handle and its workspace, every device block
 * Lends    blocks, until freed; staged ranges, until the next but one stage of their kind
 * Thread   one caller
 * Fails    GNN_EUNAVAIL no driver or device; GNN_EOS memory or the runtime refuses
 *
 * Three streams: what is staged and what is fetched is copied on one each while the third computes.
 * Only cuda/ includes this.
 */
#ifndef GNN_CUDA_DEVICE_H
#define GNN_CUDA_DEVICE_H

#include "cuda/blas.h"
#include "cuda/gnn_cuda.h"

#include <cuda_runtime.h>

enum { GNN_CUDA_TICKETS = 64, GNN_CUDA_STAGE_SLOTS = 2 };

struct gnn_cuda_block; /* one device allocation */

struct gnn_cuda_stage {
	void       *slot[GNN_CUDA_STAGE_SLOTS];
	uint64_t    bytes;
	uint64_t    count;    /* stages so far */
	cudaEvent_t copied;   /* the last copy is done */
	cudaEvent_t computed; /* what was issued before the last stage is done */
};

/* Device memory of all that share one limit, counted atomically: their threads differ. */
struct gnn_cuda_held {
	uint64_t bytes, peak;
	uint64_t limit;   /* 0: what is free */
	uint32_t sharers; /* programs that share what is free, at least 1 */
};

struct gnn_cuda_device {
	int                    ordinal;
	cudaStream_t           compute, copy, back;
	cudaStream_t           side; /* what ranks send each other; made when first wanted */
	cudaEvent_t            forked, joined;
	int                  (*check)(void *arg, bool first); /* while the host waits; or NULL */
	void                  *check_arg;
	struct gnn_cuda_blas   blas;
	cublasHandle_t         blas_handle;
	void                  *blas_work;
	cudaEvent_t            ticket[GNN_CUDA_TICKETS];
	uint64_t               ticket_count;
	cudaEvent_t            fetch_ready[GNN_FETCHES_MAX], fetch_done[GNN_FETCHES_MAX];
	uint64_t               fetch_count;
	struct gnn_cuda_stage  stage[GNN_STAGE_KINDS];
	struct gnn_cuda_block *blocks;
	struct gnn_cuda_held   own_held, *held;
};

/* Sets rc and the text and goes to out: for calls of the runtime and of cuBLAS. */
#define GNN_TRY_CUDA(call)                                         \
	do {                                                       \
		cudaError_t error_ = (call);                       \
		if (error_ != cudaSuccess) {                       \
			rc = gnn_cuda_failed(error_, #call);       \
			goto out;                                  \
		}                                                  \
	} while (0)

#define GNN_TRY_BLAS(device, call)                                        \
	do {                                                              \
		cublasStatus_t status_ = (call);                          \
		if (status_ != CUBLAS_STATUS_SUCCESS)                     \
			GNN_FAIL(GNN_EOS, "cuBLAS: %s: %s", #call,        \
				(device)->blas.status_string(status_));   \
	} while (0)

/* Calls of this thread go to the device from here on. */
void gnn_cuda_here(const struct gnn_cuda_device *d);
int  gnn_cuda_failed(cudaError_t error, const char *what); /* also clears what is not sticky */

/* The one of `beside`, whose memory counts with this one's; or NULL, and the `index`th. */
int  gnn_cuda_device_init(struct gnn_cuda_device *d, struct gnn_cuda_device *beside,
	uint32_t index);
void gnn_cuda_device_fini(struct gnn_cuda_device *d); /* waits for all that was issued */

int  gnn_cuda_alloc(struct gnn_cuda_device *d, void **out, uint64_t bytes);
uint64_t gnn_cuda_room(const struct gnn_cuda_device *d); /* bytes still to be had */
void gnn_cuda_free (struct gnn_cuda_device *d, void *block); /* NULL is fine */

int  gnn_cuda_reserve(struct gnn_cuda_device *d, enum gnn_stage_kind kind, uint64_t bytes);
int  gnn_cuda_stage  (struct gnn_cuda_device *d, enum gnn_stage_kind kind, const void *host,
	uint64_t bytes, const void **out);
int  gnn_cuda_mark   (struct gnn_cuda_device *d, uint64_t *ticket);
int  gnn_cuda_wait   (struct gnn_cuda_device *d, uint64_t ticket);
int  gnn_cuda_settle (struct gnn_cuda_device *d); /* waits for all that was issued to compute */
int  gnn_cuda_fork   (struct gnn_cuda_device *d, void **stream);
int  gnn_cuda_join   (struct gnn_cuda_device *d);
void gnn_cuda_identify(const struct gnn_cuda_device *d, struct gnn_device_id *id);
int  gnn_cuda_fetch  (struct gnn_cuda_device *d, void *host, const void *from, uint64_t bytes,
	uint64_t *ticket);
int  gnn_cuda_fetched(struct gnn_cuda_device *d, uint64_t ticket);

#endif
