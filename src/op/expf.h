/*
 * op/expf.h - exp, exp(x) - 1 and tanh in single precision, the same on every machine.
 *
 * Flow     cpu/, cuda/ -> [expf]
 * Owns     nothing
 * Lends    nothing
 * Thread   pure functions
 * Fails    never: NaN stays NaN, overflow is infinity, underflow is 0
 *
 * Only IEEE additions, products, fmaf and bit casts, so that a vectorised loop, a scalar one and
 * a GPU give the same bits. With n = round(x / ln 2), r = x - n ln 2 and |r| <= ln(2) / 2:
 *
 *   p = e^r - 1 by a polynomial,   e^x = 2^n (1 + p),   e^x - 1 = 2^n p + (2^n - 1)
 */
#ifndef GNN_OP_EXPF_H
#define GNN_OP_EXPF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define GNN_MATH static inline __host__ __device__
#else
#define GNN_MATH static inline __attribute__((always_inline))
#endif

GNN_MATH uint32_t gnn_float_bits(float x)
{
	uint32_t u;

	memcpy(&u, &x, sizeof(u));
	return u;
}

GNN_MATH float gnn_bits_float(uint32_t u)
{
	float x;

	memcpy(&x, &u, sizeof(x));
	return x;
}

/* e^r - 1 for x = n ln 2 + r; *n gets n. Adding 1.5 x 2^23 rounds to an integer in the low bits. */
GNN_MATH float gnn_exp_reduce(float x, int32_t *n)
{
	const float shifted = fmaf(x, 0x1.715476p+0f, 0x1.8p+23f);
	const float whole = shifted - 0x1.8p+23f;
	float r, p;

	*n = (int32_t)(gnn_float_bits(shifted) - UINT32_C(0x4b400000));
	r = fmaf(whole, -0x1.62e430p-1f, x); /* exact: the bits cancel down to 24 */
	r = fmaf(whole, 0x1.05c610p-29f, r); /* what is missing in the first part of ln 2 */
	p = 0x1.a01a02p-13f;
	p = fmaf(p, r, 0x1.6c16c2p-10f);
	p = fmaf(p, r, 0x1.111112p-7f);
	p = fmaf(p, r, 0x1.555556p-5f);
	p = fmaf(p, r, 0x1.555556p-3f);
	p = fmaf(p, r, 0.5f);
	return fmaf(p * r, r, r);
}

/* 2^n for n in [-126, 127]. */
GNN_MATH float gnn_exp2i(int32_t n)
{
	return gnn_bits_float((uint32_t)(n + 127) << 23);
}

GNN_MATH float gnn_expf(float x)
{
	int32_t n, half;
	float p;

	x = x < -105.0f ? -105.0f : x; /* comparisons are false for NaN, which stays */
	x = x > 89.0f ? 89.0f : x;
	p = gnn_exp_reduce(x, &n);
	n = n < -152 ? -152 : n > 129 ? 129 : n; /* NaN leaves anything in n */
	half = n / 2;
	/* Two factors: 2^n itself may be past either end of the range. */
	return fmaf(p, gnn_exp2i(half), gnn_exp2i(half)) * gnn_exp2i(n - half);
}

GNN_MATH float gnn_expm1f(float x)
{
	int32_t n;
	float p, scale;

	x = x < -18.0f ? -18.0f : x; /* e^-18 - 1 rounds to -1 */
	x = x > 89.0f ? 89.0f : x;
	p = gnn_exp_reduce(x, &n);
	n = n < -26 ? -26 : n > 129 ? 129 : n;
	/* 2^n - 1 is exact up to 2^24 and no longer matters past it; 2^128 takes two steps. */
	scale = gnn_exp2i(n - 2);
	return fmaf(p, scale, scale - 0.25f) * 4.0f;
}

/* tanh |x| = -t / (t + 2) with t = e^(-2|x|) - 1. */
GNN_MATH float gnn_tanhf(float x)
{
	const float t = gnn_expm1f(-2.0f * fabsf(x));

	return copysignf(-t / (t + 2.0f), x);
}

#endif
