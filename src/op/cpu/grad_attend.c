/* op/cpu/grad_attend.c - attention over a block, forward and backward. */
#include "op/cpu/grad.h"

#include "base/mem.h"
#include "base/rng.h"
#include "op/expf.h"

#include <math.h>
#include <string.h>

#define EPSILON 1e-16f /* PyG adds it to every denominator */

GNN_CPU_INLINE float leaky(float x, float slope)
{
	return x > 0.0f ? x : slope * x;
}

/* 1 / (1 - p), or 0 for what is dropped: entry e of v (from 0), head k. */
GNN_CPU_INLINE float kept(const struct gnn_attend_args *a, uint64_t key, uint64_t e, uint32_t k)
{
	if (a->drop.below == 0)
		return 1.0f;
	return gnn_drop_draw(key, (uint32_t)(e * a->heads + k)) < a->drop.below ? 0.0f
		: a->drop.scale;
}

GNN_CPU_INLINE uint64_t key_of(const struct gnn_attend_args *a, uint64_t v)
{
	return a->drop.below == 0 ? 0 : gnn_rng_u64(a->drop.seed, a->drop.stream, a->id[v]);
}

/* alpha of one destination and head. */
GNN_CPU_INLINE void soften(const struct gnn_attend_args *a, uint64_t v, uint32_t k)
{
	const float t = a->score[v * 2 * a->heads + a->heads + k];
	float most = -INFINITY, sum = 0.0f;

	for (uint64_t e = a->first[v]; e < a->first[v + 1]; e++) {
		const float x = leaky(a->score[a->src[e] * 2ull * a->heads + k] + t, a->slope);

		a->alpha[e * a->heads + k] = x;
		most = x > most || x != x ? x : most;
	}
	for (uint64_t e = a->first[v]; e < a->first[v + 1]; e++) {
		float *x = &a->alpha[e * a->heads + k];

		*x = gnn_expf(*x - most);
		sum += *x;
	}
	for (uint64_t e = a->first[v]; e < a->first[v + 1]; e++)
		a->alpha[e * a->heads + k] /= sum + EPSILON;
}

GNN_CPU_INLINE void add_scaled(float *to, float w, const float *from, uint32_t count)
{
	for (uint32_t c = 0; c < count; c++)
		to[c] = fmaf(w, from[c], to[c]);
}

GNN_CPU_CLONES
static void attend_destination(const struct gnn_attend_args *a, uint64_t v)
{
	const uint64_t pitch = (uint64_t)a->heads * a->channels, key = key_of(a, v);

	memset(a->y + v * pitch, 0, pitch * sizeof(float));
	for (uint32_t k = 0; k < a->heads; k++)
		soften(a, v, k);
	for (uint64_t e = a->first[v]; e < a->first[v + 1]; e++)
		for (uint32_t k = 0; k < a->heads; k++)
			add_scaled(a->y + v * pitch + k * a->channels,
				kept(a, key, e - a->first[v], k) * a->alpha[e * a->heads + k],
				a->z + a->src[e] * pitch + k * a->channels, a->channels);
}

int gnn_cpu_attend(struct gnn_backend *b, const struct gnn_attend_args *a)
{
	const uint64_t entries = a->first[a->dst_rows];
	const int team = gnn_cpu_team(b, entries * a->heads * a->channels);

#pragma omp parallel for num_threads(team) schedule(dynamic, 32)
	for (uint64_t v = 0; v < a->dst_rows; v++)
		attend_destination(a, v);
	return GNN_OK;
}

/* dy of a destination and head; the share is that of a head in what dy is of. */
GNN_CPU_INLINE const float *dy_of(const struct gnn_attend_args *a, uint64_t v, uint32_t k)
{
	return a->mean ? a->dy + v * a->channels : a->dy + (v * a->heads + k) * a->channels;
}

GNN_CPU_INLINE float share_of(const struct gnn_attend_args *a)
{
	return a->mean ? 1.0f / (float)a->heads : 1.0f;
}

/* Eight sums side by side, added at the end: of one order, and quick. */
GNN_CPU_INLINE float dot(const float *x, const float *y, uint32_t count)
{
	float lane[8] = {0}, sum;
	uint32_t c = 0;

	for (; c + 8 <= count; c += 8)
		for (int i = 0; i < 8; i++)
			lane[i] = fmaf(x[c + (uint32_t)i], y[c + (uint32_t)i], lane[i]);
	sum = ((lane[0] + lane[4]) + (lane[1] + lane[5])) +
		((lane[2] + lane[6]) + (lane[3] + lane[7]));
	for (; c < count; c++)
		sum = fmaf(x[c], y[c], sum);
	return sum;
}

/* dlogit of the entries of v, and their sum, the second half of dscore. */
GNN_CPU_CLONES
static void back_destination(const struct gnn_attend_args *a, uint64_t v)
{
	const uint64_t pitch = (uint64_t)a->heads * a->channels, key = key_of(a, v);
	const float share = share_of(a);

	for (uint32_t k = 0; k < a->heads; k++) {
		const float t = a->score[v * 2 * a->heads + a->heads + k];
		float mean = 0.0f, sum = 0.0f;

		for (uint64_t e = a->first[v]; e < a->first[v + 1]; e++) {
			const uint64_t i = e * a->heads + k;

			a->dlogit[i] = kept(a, key, e - a->first[v], k) * share *
				dot(dy_of(a, v, k), a->z + a->src[e] * pitch + k * a->channels,
					a->channels);
			mean = fmaf(a->alpha[i], a->dlogit[i], mean);
		}
		for (uint64_t e = a->first[v]; e < a->first[v + 1]; e++) {
			const uint64_t i = e * a->heads + k;
			const float x = a->score[a->src[e] * 2ull * a->heads + k] + t;

			a->dlogit[i] = a->alpha[i] * (a->dlogit[i] - mean) *
				(x > 0.0f ? 1.0f : a->slope);
			sum += a->dlogit[i];
		}
		a->dscore[v * 2 * a->heads + a->heads + k] = sum;
	}
}

/* dz of source u, but for what comes through the scores, and the first half of its dscore. */
GNN_CPU_CLONES
static void back_source(const struct gnn_attend_args *a, uint64_t u)
{
	const uint64_t pitch = (uint64_t)a->heads * a->channels;
	float *dz = a->dz + u * pitch, *ds = a->dscore + u * 2 * a->heads;
	const float share = share_of(a);

	memset(dz, 0, pitch * sizeof(float));
	memset(ds, 0, a->heads * sizeof(float));
	for (uint64_t i = a->back_first[u]; i < a->back_first[u + 1]; i++) {
		const uint64_t v = a->back_dst[i], e = a->back_entry[i], key = key_of(a, v);

		for (uint32_t k = 0; k < a->heads; k++) {
			const float w = kept(a, key, e - a->first[v], k) * share *
				a->alpha[e * a->heads + k];

			ds[k] += a->dlogit[e * a->heads + k];
			add_scaled(dz + k * a->channels, w, dy_of(a, v, k), a->channels);
		}
	}
	if (u >= a->dst_rows)
		memset(ds + a->heads, 0, a->heads * sizeof(float));
}

int gnn_cpu_attend_back(struct gnn_backend *b, const struct gnn_attend_args *a)
{
	const uint64_t entries = a->first[a->dst_rows];
	const int team = gnn_cpu_team(b, entries * a->heads * a->channels);

#pragma omp parallel for num_threads(team) schedule(dynamic, 32)
	for (uint64_t v = 0; v < a->dst_rows; v++)
		back_destination(a, v);
#pragma omp parallel for num_threads(team) schedule(dynamic, 32)
	for (uint64_t u = 0; u < a->src_rows; u++)
		back_source(a, u);
	return GNN_OK;
}

GNN_CPU_CLONES
static void score_row(const struct gnn_score_args *a, uint64_t r)
{
	const float *z = a->z + r * a->heads * a->channels;
	float *to = a->score + r * 2 * a->heads;

	for (uint32_t k = 0; k < a->heads; k++) {
		const uint64_t at = k * (uint64_t)a->channels;

		to[k] = dot(z + at, a->att_src + at, a->channels);
		to[a->heads + k] = dot(z + at, a->att_dst + at, a->channels);
	}
}

int gnn_cpu_score(struct gnn_backend *b, const struct gnn_score_args *a)
{
	const int team = gnn_cpu_team(b, a->rows * a->heads * a->channels);

#pragma omp parallel for num_threads(team) schedule(static)
	for (uint64_t r = 0; r < a->rows; r++)
		score_row(a, r);
	return GNN_OK;
}

GNN_CPU_CLONES
static void finish_row(const struct gnn_finish_args *a, uint64_t r)
{
	const float *x = a->x + r * a->heads * a->channels;
	float *y = a->y + r * a->channels;

	for (uint32_t c = 0; c < a->channels; c++) {
		float sum = x[c];

		for (uint32_t k = 1; k < a->heads; k++)
			sum += x[k * a->channels + c];
		y[c] = (a->heads > 1 ? sum / (float)a->heads : sum) + a->bias[c];
	}
}

int gnn_cpu_finish(struct gnn_backend *b, const struct gnn_finish_args *a)
{
	const int team = gnn_cpu_team(b, a->rows * a->heads * a->channels);

#pragma omp parallel for num_threads(team) schedule(static)
	for (uint64_t r = 0; r < a->rows; r++)
		finish_row(a, r);
	return GNN_OK;
}

GNN_CPU_CLONES
static void back_score_slab(const struct gnn_score_back_args *a, float *part, uint64_t first,
	uint64_t rows)
{
	const uint64_t pitch = (uint64_t)a->heads * a->channels;

	memset(part, 0, pitch * sizeof(float));
	for (uint64_t r = first; r < first + rows; r++)
		for (uint32_t k = 0; k < a->heads; k++) {
			const float w = a->dscore[r * a->stride + k];
			const uint64_t at = k * (uint64_t)a->channels;

			add_scaled(part + at, w, a->z + r * pitch + at, a->channels);
			add_scaled(a->dz + r * pitch + at, w, a->att + at, a->channels);
		}
}

int gnn_cpu_score_back(struct gnn_backend *b, const struct gnn_score_back_args *a)
{
	const uint64_t pitch = (uint64_t)a->heads * a->channels;
	const uint64_t height = gnn_cpu_slab_rows(a->rows);
	const uint64_t slabs = gnn_ceil_div(a->rows, height);
	float *part = NULL;
	int rc;

	GNN_NEW_ARRAY(part, slabs * pitch, GNN_MEM_STATE);
#pragma omp parallel for num_threads(gnn_cpu_team(b, a->rows * pitch)) schedule(dynamic)
	for (uint64_t s = 0; s < slabs; s++)
		back_score_slab(a, part + s * pitch, s * height,
			gnn_min_u64(height, a->rows - s * height));
	for (uint64_t s = 0; s < slabs; s++)
		for (uint64_t i = 0; i < pitch; i++)
			a->datt[i] += part[s * pitch + i];
out:
	gnn_mem_free(part);
	return rc;
}
