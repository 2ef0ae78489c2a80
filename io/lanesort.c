/* io/lanesort.c - see lanesort.h. The text of both widths is in lanesort.inc. */
#include "io/lanesort.h"

#if defined(__x86_64__)

#include "base/fault.h"

#include <immintrin.h>
#include <string.h>

#define WIDE        __attribute__((target("arch=x86-64-v4")))
#define WIDE_INLINE WIDE static inline __attribute__((always_inline))

enum { REGISTERS = 8 }; /* sorted by a network at most */

/* Lane i of the result is lane i ^ x; each comes from what is cheapest. */
WIDE_INLINE __m512i lanes32_xor1(__m512i a)
{
	return _mm512_shuffle_epi32(a, _MM_PERM_CDAB);
}

WIDE_INLINE __m512i lanes32_xor2(__m512i a)
{
	return _mm512_shuffle_epi32(a, _MM_PERM_BADC);
}

WIDE_INLINE __m512i lanes32_xor3(__m512i a)
{
	return _mm512_shuffle_epi32(a, _MM_PERM_ABCD);
}

WIDE_INLINE __m512i lanes64_xor1(__m512i a)
{
	return _mm512_shuffle_epi32(a, _MM_PERM_BADC);
}

WIDE_INLINE __m512i lanes64_xor2(__m512i a)
{
	return _mm512_permutex_epi64(a, 0x4e);
}

WIDE_INLINE __m512i lanes64_xor3(__m512i a)
{
	return _mm512_permutex_epi64(a, 0x1b);
}

WIDE_INLINE __m512i lanes64_xor4(__m512i a)
{
	return _mm512_shuffle_i64x2(a, a, 0x4e);
}

WIDE_INLINE __m512i lanes64_xor7(__m512i a)
{
	return lanes64_xor3(lanes64_xor4(a));
}

/* The larger one of each pair of lanes goes to the lane in the mask. */
WIDE_INLINE __m512i order32(__m512i a, __m512i other, __mmask16 larger)
{
	return _mm512_mask_max_epu32(_mm512_min_epu32(a, other), larger, a, other);
}

WIDE_INLINE __m512i order64(__m512i a, __m512i other, __mmask8 larger)
{
	return _mm512_mask_max_epu64(_mm512_min_epu64(a, other), larger, a, other);
}

WIDE_INLINE __m512i reverse32(__m512i a)
{
	return lanes64_xor7(lanes32_xor1(a));
}

WIDE_INLINE __m512i reverse64(__m512i a)
{
	return lanes64_xor7(a);
}

/* A bitonic row of lanes, in order. */
WIDE_INLINE __m512i merge_lanes32(__m512i a)
{
	a = order32(a, lanes64_xor4(a), 0xff00);
	a = order32(a, lanes64_xor2(a), 0xf0f0);
	a = order32(a, lanes32_xor2(a), 0xcccc);
	return order32(a, lanes32_xor1(a), 0xaaaa);
}

WIDE_INLINE __m512i merge_lanes64(__m512i a)
{
	a = order64(a, lanes64_xor4(a), 0xf0);
	a = order64(a, lanes64_xor2(a), 0xcc);
	return order64(a, lanes64_xor1(a), 0xaa);
}

WIDE_INLINE __m512i sort_lanes32(__m512i a)
{
	a = order32(a, lanes32_xor1(a), 0xaaaa);
	a = order32(a, lanes32_xor3(a), 0xcccc);
	a = order32(a, lanes32_xor1(a), 0xaaaa);
	a = order32(a, lanes64_xor3(lanes32_xor1(a)), 0xf0f0);
	a = order32(a, lanes32_xor2(a), 0xcccc);
	a = order32(a, lanes32_xor1(a), 0xaaaa);
	a = order32(a, reverse32(a), 0xff00);
	a = order32(a, lanes64_xor2(a), 0xf0f0);
	a = order32(a, lanes32_xor2(a), 0xcccc);
	return order32(a, lanes32_xor1(a), 0xaaaa);
}

WIDE_INLINE __m512i sort_lanes64(__m512i a)
{
	a = order64(a, lanes64_xor1(a), 0xaa);
	a = order64(a, lanes64_xor3(a), 0xcc);
	a = order64(a, lanes64_xor1(a), 0xaa);
	a = order64(a, reverse64(a), 0xf0);
	a = order64(a, lanes64_xor2(a), 0xcc);
	return order64(a, lanes64_xor1(a), 0xaa);
}

#define KEY          uint32_t
#define MASK         __mmask16
#define NAME(x)      x##32
#define MM(x)        _mm512_##x##_epi32
#define MIN(a, b)    _mm512_min_epu32(a, b)
#define MAX(a, b)    _mm512_max_epu32(a, b)
#define HAVING(a, b) _mm512_test_epi32_mask(a, b)
#define SAME(k)      _mm512_set1_epi32((int)(k))
#include "io/lanesort.inc"
#undef KEY
#undef MASK
#undef NAME
#undef MM
#undef MIN
#undef MAX
#undef HAVING
#undef SAME

#define KEY          uint64_t
#define MASK         __mmask8
#define NAME(x)      x##64
#define MM(x)        _mm512_##x##_epi64
#define MIN(a, b)    _mm512_min_epu64(a, b)
#define MAX(a, b)    _mm512_max_epu64(a, b)
#define HAVING(a, b) _mm512_test_epi64_mask(a, b)
#define SAME(k)      _mm512_set1_epi64((long long)(k))
#include "io/lanesort.inc"

gnn_lanesort_fn gnn_lanesort(uint32_t key_bytes)
{
	if (!__builtin_cpu_supports("x86-64-v4") ||
		gnn_fault_next(GNN_FAULT_WIDE).action != GNN_FAULT_NONE)
		return NULL;
	return key_bytes == sizeof(uint32_t)   ? sort32
	       : key_bytes == sizeof(uint64_t) ? sort64
					       : NULL;
}

#else

gnn_lanesort_fn gnn_lanesort(uint32_t key_bytes)
{
	(void)key_bytes;
	return NULL;
}

#endif
