/*
 * base/decl.h - what every header needs: linkage, attributes, the project's fixed types.
 *
 * Flow     included by every public header
 * Owns     nothing
 * Lends    nothing
 * Thread   constants only
 * Fails    never
 */
#ifndef GNN_BASE_DECL_H
#define GNN_BASE_DECL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define GNN_BEGIN_DECLS extern "C" {
#define GNN_END_DECLS   }
#else
#define GNN_BEGIN_DECLS
#define GNN_END_DECLS
#endif

#ifdef __CUDACC__
#define GNN_HOST_DEVICE __host__ __device__ /* small pure functions that kernels use too */
#else
#define GNN_HOST_DEVICE
#endif

#define GNN_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define GNN_COUNT_OF(array)   (sizeof(array) / sizeof((array)[0]))

typedef uint64_t gnn_vid; /* vertex id, row number */
typedef uint64_t gnn_eid; /* edge number, offset into an edge array */

enum {
	GNN_PAGE_BYTES  = 4096,       /* alignment of datasets, direct I/O and I/O buffers */
	GNN_BLOCK_BYTES = 8 << 20,    /* bytes of a dataset under one checksum */
	GNN_PANEL_ROWS  = 256,        /* height of every dense panel on the CPU */
	GNN_HUB_DEGREE  = 64,         /* in-degree from which sums are compensated */
};

/* Element types of arrays on disk and in memory. */
enum gnn_dtype {
	GNN_F32,
	GNN_F16,
	GNN_BF16,
	GNN_U8,
	GNN_U32,
	GNN_U64,
	GNN_I64,
	GNN_DTYPE_COUNT,
};

GNN_BEGIN_DECLS

/* A failed assertion: prints expression and place, then aborts. */
void gnn_assert_failed(const char *expr, const char *file, int line)
	__attribute__((noreturn));

uint32_t    gnn_dtype_bytes(enum gnn_dtype t);
const char *gnn_dtype_name (enum gnn_dtype t); /* "f32" ... */

static inline uint64_t gnn_ceil_div(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

/* Bits that the numbers below `count` take, at least one. */
static inline uint32_t gnn_index_bits(uint64_t count)
{
	return count <= 1 ? 1 : 64 - (uint32_t)__builtin_clzll(count - 1);
}

/* Round up to a multiple of a power of two. */
static inline uint64_t gnn_align_up(uint64_t a, uint64_t power)
{
	return (a + power - 1) & ~(power - 1);
}

static inline uint64_t gnn_align_down(uint64_t a, uint64_t power)
{
	return a & ~(power - 1);
}

/* Smallest b with 2^b >= n. */
static inline uint32_t gnn_log2_ceil(uint64_t n)
{
	return n < 2 ? 0 : 64 - (uint32_t)__builtin_clzll(n - 1);
}

static inline uint64_t gnn_min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t gnn_max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

GNN_END_DECLS

/* Always on: a broken invariant of this program, never bad input. */
#define GNN_ASSERT(cond)                                             \
	do {                                                         \
		if (__builtin_expect(!(cond), 0))                    \
			gnn_assert_failed(#cond, __FILE__, __LINE__); \
	} while (0)

/* Inner loops: in debug builds only. */
#ifdef NDEBUG
#define GNN_DASSERT(cond) ((void)0)
#else
#define GNN_DASSERT(cond) GNN_ASSERT(cond)
#endif

#endif
