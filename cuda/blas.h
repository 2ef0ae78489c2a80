/*
 * cuda/blas.h - cuBLAS, loaded when a device was found and not before.
 *
 * Flow     device -> [blas] -> libcublas
 * Owns     the library handle
 * Lends    the functions, until unload
 * Thread   one caller
 * Fails    GNN_EUNAVAIL the library is not here
 *
 * A build with CUDA runs where there is no GPU and no cuBLAS, and does not pay for mapping half a
 * gigabyte at every start.
 */
#ifndef GNN_CUDA_BLAS_H
#define GNN_CUDA_BLAS_H

#include "base/err.h"

#include <cublas_v2.h>

/* Members are named after the functions, whose declarations give the types. */
struct gnn_cuda_blas {
	void *library;
	__typeof__(cublasCreate_v2)       *create;
	__typeof__(cublasDestroy_v2)      *destroy;
	__typeof__(cublasSetStream_v2)    *set_stream;
	__typeof__(cublasSetWorkspace_v2) *set_workspace;
	__typeof__(cublasSetMathMode)     *set_math_mode;
	__typeof__(cublasSgemm_v2)        *sgemm;
	__typeof__(cublasGetStatusString) *status_string;
};

int  gnn_cuda_blas_load  (struct gnn_cuda_blas *b);
void gnn_cuda_blas_unload(struct gnn_cuda_blas *b); /* not loaded is fine */

#endif
