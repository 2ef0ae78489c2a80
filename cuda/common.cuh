/*
 * cuda/common.cuh - what the kernels share: checks, 16-byte access, grid sizes.
 *
 * Flow     included by every .cu file
 * Owns     nothing
 * Lends    nothing
 * Thread   device functions
 * Fails    GNN_RET_LAUNCH returns GNN_EOS with the text of the launch error
 */
#ifndef GNN_CUDA_COMMON_CUH
#define GNN_CUDA_COMMON_CUH

#include "base/err.h"

#include <cuda_runtime.h>

/* Returns from a launcher when the launch was refused; also clears the sticky error. */
#define GNN_RET_LAUNCH(what)                                                          \
	do {                                                                          \
		cudaError_t launch_ = cudaGetLastError();                             \
		if (launch_ != cudaSuccess)                                           \
			return gnn_err(GNN_EOS, "CUDA refuses to start %s: %s", what, \
				cudaGetErrorString(launch_));                         \
	} while (0)

enum {
	GNN_BLOCK_THREADS = 256,  /* eight warps: enough to hide memory, few registers lost */
	GNN_GRID_MAX = 132 * 64,  /* grid-stride from there on */
};

static inline unsigned gnn_grid(uint64_t items, uint64_t per_block)
{
	uint64_t blocks = (items + per_block - 1) / per_block;

	return (unsigned)(blocks < 1 ? 1 : blocks > GNN_GRID_MAX ? GNN_GRID_MAX : blocks);
}

static inline bool gnn_aligned16(const void *p, uint64_t pitch_bytes)
{
	return ((uintptr_t)p | pitch_bytes) % 16 == 0;
}

/* Four floats that travel in one 16-byte access. */
struct gnn_f4 {
	float v[4];
};

static __device__ __forceinline__ gnn_f4 gnn_load4(const float *p)
{
	const float4 x = *reinterpret_cast<const float4 *>(p);

	return {{x.x, x.y, x.z, x.w}};
}

static __device__ __forceinline__ void gnn_store4(float *p, const gnn_f4 &x)
{
	*reinterpret_cast<float4 *>(p) = make_float4(x.v[0], x.v[1], x.v[2], x.v[3]);
}

/* First item and stride of a grid-stride loop. */
static __device__ __forceinline__ uint64_t gnn_grid_first()
{
	return blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
}

static __device__ __forceinline__ uint64_t gnn_grid_stride()
{
	return gridDim.x * (uint64_t)blockDim.x;
}

#endif
