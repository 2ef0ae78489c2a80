// The CUDA backend against its twin on the CPU: every operation on the same random input, within
// rounding; equal bits where the place of a row, the cut of the edges or a second run must not
// matter. Skips, saying so, where there is no GPU.
#include "base/mem.h"
#include "infer/program.h"
#include "op/backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

namespace {

using Floats = std::vector<float>;

const uint64_t row_counts[] = {0, 1, 31, 32, 33, 172, 4097};

struct CudaTwin : ::testing::Test {
	struct gnn_backend *cpu = nullptr, *cuda = nullptr;
	std::vector<void *> blocks;
	std::deque<Floats> weights; // a backend may keep copies by address: they stay

	void SetUp() override
	{
		const struct gnn_backend_opts o = {2, 0, nullptr, 0, 0};

		if (gnn_backend_create(&cuda, "cuda", &o) == GNN_EUNAVAIL)
			GTEST_SKIP() << gnn_err_text();
		ASSERT_NE(cuda, nullptr) << gnn_err_text();
		ASSERT_EQ(gnn_backend_create(&cpu, "cpu", &o), GNN_OK);
	}
	void TearDown() override
	{
		for (void *block : blocks)
			cuda->ops->free(cuda, block);
		gnn_backend_destroy(cuda);
		gnn_backend_destroy(cpu);
	}
	// A device block with a copy of `bytes` from the host, or left as it is.
	void *there(const void *host, uint64_t bytes, uint64_t room = 0)
	{
		void *block = nullptr;

		EXPECT_EQ(cuda->ops->alloc(cuda, &block, std::max(bytes, room)), GNN_OK);
		if (host != nullptr) {
			EXPECT_EQ(cuda->ops->copy(cuda, block, bytes, host, bytes, bytes, 1),
				GNN_OK);
		}
		blocks.push_back(block);
		return block;
	}
	template <typename T> T *there(const std::vector<T> &v)
	{
		return static_cast<T *>(there(v.data(), v.size() * sizeof(T)));
	}
	Floats back(const float *device, uint64_t count)
	{
		Floats v(count);

		EXPECT_EQ(cuda->ops->copy(cuda, v.data(), count * 4, device, count * 4, count * 4,
				  1),
			GNN_OK);
		EXPECT_EQ(cuda->ops->sync(cuda), GNN_OK) << gnn_err_text();
		return v;
	}
	const float *weight(uint64_t count, uint64_t seed);
	void expect_rows_agree(const struct gnn_rowprog &prog, uint64_t rows, double tolerance,
		enum gnn_dtype dtype = GNN_F32);
};

Floats random_floats(uint64_t count, uint64_t seed, float low = -1.0f, float high = 1.0f)
{
	std::mt19937_64 random(seed);
	std::uniform_real_distribution<float> in(low, high);
	Floats v(count);

	for (float &x : v)
		x = in(random);
	return v;
}

const float *CudaTwin::weight(uint64_t count, uint64_t seed)
{
	weights.push_back(random_floats(count, seed));
	return weights.back().data();
}

void expect_near(const Floats &a, const Floats &b, double tolerance)
{
	ASSERT_EQ(a.size(), b.size());
	for (size_t i = 0; i < a.size(); i++) {
		if (std::isnan(b[i])) {
			ASSERT_TRUE(std::isnan(a[i])) << i;
			continue;
		}
		if (std::isinf(b[i])) {
			ASSERT_EQ(a[i], b[i]) << i;
			continue;
		}
		ASSERT_NEAR(a[i], b[i], tolerance * std::max(1.0f, std::fabs(b[i]))) << i;
	}
}

void CudaTwin::expect_rows_agree(const struct gnn_rowprog &prog, uint64_t rows, double tolerance,
	enum gnn_dtype dtype)
{
	const uint64_t items = rows * prog.dim_in, bytes = items * gnn_dtype_bytes(dtype);
	const Floats from = random_floats(items, rows + prog.dim_in);
	Floats vec0 = random_floats(rows, 3), vec1 = random_floats(rows, 4),
	       cpu_to(rows * prog.dim_out);
	std::vector<uint8_t> narrow(bytes);
	struct gnn_rows_args a;

	for (uint64_t i = 0; i < rows; i += 3)
		vec1[i] = 0.0f;
	std::mt19937_64 random(7);
	for (uint8_t &byte : narrow)
		byte = static_cast<uint8_t>(random() & 0x3f); // no NaN in f16 and bf16
	if (dtype == GNN_F32)
		memcpy(narrow.data(), from.data(), bytes);
	memset(&a, 0, sizeof(a));
	a.prog = &prog;
	a.from = narrow.data();
	a.from_dtype = dtype;
	a.from_pitch = prog.dim_in;
	a.to = cpu_to.data();
	a.to_pitch = prog.dim_out;
	a.rows = rows;
	a.vec[0] = vec0.data();
	a.vec[1] = vec1.data();
	ASSERT_EQ(cpu->ops->rows(cpu, &a), GNN_OK);
	a.from = there(narrow);
	a.to = static_cast<float *>(there(nullptr, cpu_to.size() * 4));
	a.vec[0] = there(vec0);
	a.vec[1] = there(vec1);
	ASSERT_EQ(cuda->ops->rows(cuda, &a), GNN_OK) << gnn_err_text();
	const Floats first = back(a.to, cpu_to.size());
	expect_near(first, cpu_to, tolerance);
	ASSERT_EQ(cuda->ops->rows(cuda, &a), GNN_OK) << gnn_err_text();
	EXPECT_EQ(memcmp(first.data(), back(a.to, cpu_to.size()).data(), first.size() * 4), 0);
}

// What is read from disk goes to the device without a copy in between.
TEST_F(CudaTwin, BuffersOfTransfersArePinned)
{
	struct gnn_mem_stats before, with, after;
	void *io = nullptr, *host = nullptr;

	gnn_mem_stats(&before);
	ASSERT_EQ(gnn_mem_pages(&io, (5 << 20) + 4096, GNN_MEM_IO), GNN_OK);
	ASSERT_EQ(cuda->ops->alloc_host(cuda, &host, 1 << 20), GNN_OK);
	gnn_mem_stats(&with);
	EXPECT_EQ(with.pinned_bytes - before.pinned_bytes, (6u << 20) + 4096);
	gnn_mem_free(io);
	cuda->ops->free_host(cuda, host);
	gnn_mem_stats(&after);
	EXPECT_EQ(after.pinned_bytes, before.pinned_bytes);
}

TEST_F(CudaTwin, RowProgramsOfEveryOperation)
{
	for (uint64_t rows : row_counts)
		for (uint32_t k : {1u, 31u, 32u, 33u, 128u, 172u}) {
			const uint32_t heads = 4, n = heads * 11;
			const float *w = weight(uint64_t(k) * n, 1), *b = weight(n, 2);
			const float *s = weight(n, 5), *v = weight(uint64_t(n) * 3, 6);
			struct gnn_rowprog p;

			gnn_rowprog_init(&p, k);
			ASSERT_EQ(gnn_rowprog_dense(&p, w, b, n), GNN_OK);
			ASSERT_EQ(gnn_rowprog_act(&p, GNN_ACT_ELU, 1.0f), GNN_OK);
			ASSERT_EQ(gnn_rowprog_affine(&p, s, b), GNN_OK);
			ASSERT_EQ(gnn_rowprog_scale(&p, 0, n / 2, 0), GNN_OK);
			ASSERT_EQ(gnn_rowprog_empty(&p, n / 2, n - n / 2, 1), GNN_OK);
			ASSERT_EQ(gnn_rowprog_act(&p, GNN_ACT_LEAKY_RELU, 0.2f), GNN_OK);
			ASSERT_EQ(gnn_rowprog_bias(&p, b), GNN_OK);
			ASSERT_EQ(gnn_rowprog_act(&p, GNN_ACT_RELU, 0.0f), GNN_OK);
			ASSERT_EQ(gnn_rowprog_act(&p, GNN_ACT_TANH, 0.0f), GNN_OK);
			ASSERT_EQ(gnn_rowprog_dense(&p, v, nullptr, 3), GNN_OK);
			expect_rows_agree(p, rows, 2e-5);
			if (HasFailure())
				return;
			gnn_rowprog_init(&p, k);
			ASSERT_EQ(gnn_rowprog_dense(&p, w, b, n), GNN_OK);
			ASSERT_EQ(gnn_rowprog_head_mean(&p, heads, 0), GNN_OK);
			ASSERT_EQ(gnn_rowprog_l2norm(&p, 1e-12f), GNN_OK);
			expect_rows_agree(p, rows, 2e-5);
			gnn_rowprog_init(&p, n);
			ASSERT_EQ(gnn_rowprog_layernorm(&p, 1e-5f), GNN_OK);
			ASSERT_EQ(gnn_rowprog_standard(&p, 1e-5f), GNN_OK);
			p.op[1].center = 0.5f;
			p.op[1].factor = 2.0f;
			expect_rows_agree(p, rows, 2e-5);
			gnn_rowprog_init(&p, n);
			ASSERT_EQ(gnn_rowprog_scores(&p, s, b, heads), GNN_OK);
			expect_rows_agree(p, rows, 2e-5);
			gnn_rowprog_init(&p, n + heads);
			ASSERT_EQ(gnn_rowprog_divide(&p, heads, 0, 1e-16f), GNN_OK);
			expect_rows_agree(p, rows, 1e-6);
			gnn_rowprog_init(&p, n + heads + n / heads);
			ASSERT_EQ(gnn_rowprog_divide(&p, heads, n / heads, 3.0f), GNN_OK);
			ASSERT_EQ(gnn_rowprog_head_mean(&p, heads, n / heads), GNN_OK);
			ASSERT_EQ(gnn_rowprog_add(&p), GNN_OK);
			expect_rows_agree(p, rows, 1e-6);
			gnn_rowprog_init(&p, k);
			for (enum gnn_dtype t : {GNN_F32, GNN_F16, GNN_BF16, GNN_U8})
				expect_rows_agree(p, rows, 0.0, t);
			if (HasFailure())
				return;
		}
}

TEST_F(CudaTwin, ARowHasTheSameBitsAtEveryPlace)
{
	const uint32_t k = 172, n = 33;
	const uint64_t rows = 4 * cuda->ops->panel_rows;
	const Floats w = random_floats(uint64_t(k) * n, 1), x = random_floats(rows * k, 2);
	Floats moved(x.size());
	struct gnn_rowprog p;
	struct gnn_rows_args a;

	for (uint64_t r = 0; r < rows; r++)
		memcpy(&moved[(r + 1237) % rows * k], &x[r * k], k * 4);
	ASSERT_EQ(gnn_backend_check_dense(cuda, k, n), GNN_OK);
	gnn_rowprog_init(&p, k);
	ASSERT_EQ(gnn_rowprog_dense(&p, w.data(), nullptr, n), GNN_OK);
	memset(&a, 0, sizeof(a));
	a.prog = &p;
	a.from = there(x);
	a.from_pitch = k;
	a.to = static_cast<float *>(there(nullptr, rows * n * 4));
	a.to_pitch = n;
	a.rows = rows;
	ASSERT_EQ(cuda->ops->rows(cuda, &a), GNN_OK);
	const Floats first = back(a.to, rows * n);
	a.from = there(moved);
	ASSERT_EQ(cuda->ops->rows(cuda, &a), GNN_OK);
	const Floats second = back(a.to, rows * n);
	for (uint64_t r = 0; r < rows; r++)
		ASSERT_EQ(memcmp(&first[r * n], &second[(r + 1237) % rows * n], n * 4), 0) << r;
}

// A chunk of a random graph with loops, duplicates and a hub, for both ways of grouping.
struct Chunk {
	uint64_t vertices = 3000, rows = 1024, first = 1024;
	std::vector<uint64_t> offsets, wide;
	std::vector<uint32_t> narrow, in, loops;
	std::vector<uint64_t> hub_bits, hub_rank;
	Floats weights, own_weights; // of the edges, and of the own rows of all vertices
	std::vector<uint64_t> threshold, original; // of all vertices, for samples
	struct gnn_degrees degrees = {};

	explicit Chunk(uint64_t seed)
	{
		std::mt19937_64 random(seed);

		hub_bits.resize(vertices / 64 + 1);
		hub_rank.resize(vertices / 64 + 1);
		for (uint64_t r = 0; r < rows; r++) {
			std::vector<uint64_t> list(random() % 40);

			offsets.push_back(wide.size() + 1000); // the chunk is not the first
			for (uint64_t &v : list)
				v = random() % 4 == 0 ? 7 : random() % 8 == 0 ? first + r :
					random() % vertices;
			std::sort(list.begin(), list.end());
			wide.insert(wide.end(), list.begin(), list.end());
		}
		offsets.push_back(wide.size() + 1000);
		narrow.assign(wide.begin(), wide.end());
		for (uint64_t v = 7; v < vertices; v += 50)
			hub_bits[v / 64] |= uint64_t{1} << (v % 64);
		for (uint64_t w = 0, sum = 0; w < hub_bits.size(); w++) {
			hub_rank[w] = sum;
			sum += static_cast<uint64_t>(__builtin_popcountll(hub_bits[w]));
			degrees.hub_count = sum;
		}
		weights = random_floats(wide.size(), seed + 1);
		own_weights = random_floats(vertices, seed + 2);
		in.assign(vertices, 40);
		for (uint64_t v = 0; v < vertices; v++) {
			threshold.push_back(v % 5 == 0 ? UINT64_MAX : random());
			original.push_back(vertices - 1 - v);
			loops.push_back(static_cast<uint32_t>(v % 4));
		}
		degrees.vertices = vertices;
		degrees.hub_bits = hub_bits.data();
		degrees.hub_rank = hub_rank.data();
	}
};

struct Absorbed {
	Floats state, carry;
};

// How the edges of a chunk become entries. mapped: lists are of rows that lie elsewhere, as when
// several ranks' are merged; those from OWN_ROWS on are other ranks' and have no own entry.
struct Grouping {
	bool own, drop, weighted, sampled = false, mapped = false;
};

constexpr uint64_t OWN_ROWS = 600;

uint32_t source_of(const Grouping &how, uint64_t row, uint64_t rows)
{
	return static_cast<uint32_t>(how.mapped ? (row * 7 + 3) % rows : row);
}

struct CudaAggregate : CudaTwin {
	// States after the chunk on the CPU, grouped by the control thread.
	Absorbed on_cpu(Chunk &c, struct gnn_aggregate_args a, const Grouping &how);
	// The same on the device, its edges in `cuts` pieces grouped there.
	Absorbed on_cuda(Chunk &c, struct gnn_aggregate_args a, const Grouping &how, uint64_t cuts,
		bool wide);
};

float empty_state(enum gnn_combine combine)
{
	return gnn_combine_is_sum(combine) ? 0.0f : combine == GNN_COMBINE_MIN ? INFINITY
		: -INFINITY;
}

// What a sampled layer would be told, arrays on the host.
struct gnn_draw sample_of(const Chunk &c)
{
	return {7, 12345, 32, true, c.threshold.data(), c.original.data(), c.in.data(),
		c.loops.data()};
}

// Copies of the first neighbour at edge i of the chunk in front of it, in its list.
uint64_t copies_before(const Chunk &c, uint64_t i)
{
	const uint64_t row = static_cast<uint64_t>(
		std::upper_bound(c.offsets.begin(), c.offsets.end(), i + 1000) -
		c.offsets.begin() - 1);
	uint64_t copies = 0;

	while (i < c.wide.size() && i - copies > c.offsets[row] - 1000 &&
		c.wide[i - copies - 1] == c.wide[i])
		copies++;
	return copies;
}

Absorbed CudaAggregate::on_cpu(Chunk &c, struct gnn_aggregate_args a, const Grouping &how)
{
	const uint64_t room = c.wide.size() + c.rows;
	Absorbed out = {Floats(c.vertices * a.state_pitch, empty_state(a.combine)),
		Floats(c.degrees.hub_count * a.state_pitch)};
	struct gnn_grouper g;
	struct gnn_program p;

	const struct gnn_range all = {0, c.vertices, 0};

	EXPECT_EQ(gnn_grouper_init(&g, &c.degrees, &all, c.rows, room, how.drop), GNN_OK);
	EXPECT_EQ(gnn_program_init(&p, room, c.vertices), GNN_OK);
	if (how.weighted) {
		EXPECT_EQ(gnn_grouper_weigh(&g, c.own_weights.data()), GNN_OK);
		EXPECT_EQ(gnn_program_weigh(&p, room), GNN_OK);
	}
	if (how.sampled) {
		struct gnn_draw s = sample_of(c);

		s.scaled = a.combine == GNN_COMBINE_SUM;
		gnn_grouper_sample(&g, &s, false);
		if (s.scaled && !how.weighted) {
			EXPECT_EQ(gnn_program_weigh(&p, room), GNN_OK);
		}
	}
	for (uint64_t r = 0; r < c.rows; r++) {
		const uint64_t at = c.offsets[r] - 1000;
		const uint32_t source = source_of(how, r, c.rows);

		if (how.own && (!how.mapped || source < OWN_ROWS))
			gnn_grouper_own(&g, c.first + source, source);
		EXPECT_EQ(gnn_grouper_edges(&g, c.first + source, source,
				  &c.narrow[at], how.weighted ? &c.weights[at] : nullptr,
				  GNN_U32, c.offsets[r + 1] - c.offsets[r]),
			GNN_OK);
	}
	gnn_grouper_end(&g, &p);
	a.batch = p.batch;
	if (!gnn_combine_is_sum(a.combine))
		a.batch.carry = nullptr;
	a.state = out.state.data();
	a.carry = out.carry.data();
	EXPECT_EQ(cpu->ops->aggregate(cpu, &a), GNN_OK);
	gnn_program_fini(&p);
	gnn_grouper_fini(&g);
	return out;
}

Absorbed CudaAggregate::on_cuda(Chunk &c, struct gnn_aggregate_args a, const Grouping &how,
	uint64_t cuts, bool wide)
{
	const uint64_t states = c.vertices * a.state_pitch;
	const uint64_t carries = c.degrees.hub_count * a.state_pitch, block_rows = c.rows;
	const struct gnn_graph_info info = {c.vertices, there(c.hub_bits), there(c.hub_rank),
		c.rows, c.wide.size() + c.rows, how.weighted || how.sampled};
	struct gnn_edge_list l;
	uint64_t row = 0;

	a.message = static_cast<float *>(there(a.message, block_rows * a.message_pitch * 4));
	a.own = static_cast<float *>(there(a.own, block_rows * a.own_pitch * 4));
	a.score_src = static_cast<float *>(there(a.score_src, block_rows * a.heads * 4));
	for (const float **of_vertices : {&a.score_dst, &a.score_max, &a.score_min})
		if (*of_vertices != nullptr)
			*of_vertices = static_cast<float *>(
				there(*of_vertices, c.vertices * a.heads * 4));
	a.target = static_cast<float *>(there(a.target, c.vertices * a.target_pitch * 4));
	a.state = static_cast<float *>(there(nullptr, states * 4));
	a.carry = static_cast<float *>(there(nullptr, carries * 4));
	EXPECT_EQ(cuda->ops->fill(cuda, a.state, empty_state(a.combine), states), GNN_OK);
	EXPECT_EQ(cuda->ops->fill(cuda, a.carry, 0.0f, carries), GNN_OK);
	EXPECT_EQ(cuda->ops->prepare(cuda, &info), GNN_OK) << gnn_err_text();
	memset(&l, 0, sizeof(l));
	l.first_vertex = c.first;
	l.rows = c.rows;
	l.offsets = there(c.offsets);
	l.dtype = wide ? GNN_U64 : GNN_U32;
	l.own = how.own;
	l.drop_loops = how.drop;
	l.weighted = how.weighted;
	l.own_weights = there(c.own_weights);
	l.to.count = c.vertices;
	std::vector<uint32_t> sources;
	for (uint64_t r = 0; r < c.rows; r++)
		sources.push_back(source_of(how, r, c.rows));
	if (how.mapped)
		l.source = there(sources);
	l.own_rows = how.mapped ? OWN_ROWS : 0;
	const float *weights = there(c.weights);
	if (how.sampled) {
		l.sample = sample_of(c);
		l.sample.scaled = a.combine == GNN_COMBINE_SUM;
		l.sample.threshold = there(c.threshold);
		l.sample.original = there(c.original);
		l.sample.in = there(c.in);
		l.sample.loops = there(c.loops);
	}
	const char *edges = wide ? reinterpret_cast<char *>(there(c.wide))
		: reinterpret_cast<char *>(there(c.narrow));
	for (uint64_t k = 0; k < cuts; k++) {
		l.edge_begin = 1000 + c.wide.size() * k / cuts;
		l.edge_end = 1000 + c.wide.size() * (k + 1) / cuts;
		l.neighbors = edges + (l.edge_begin - 1000) * gnn_dtype_bytes(l.dtype);
		l.weights = weights + (l.edge_begin - 1000);
		l.copies = copies_before(c, l.edge_begin - 1000);
		l.row_begin = row;
		while (row < c.rows && (c.offsets[row] < l.edge_end || k + 1 == cuts))
			row++;
		l.row_end = row;
		EXPECT_EQ(cuda->ops->group(cuda, &l, &a.batch), GNN_OK) << gnn_err_text();
		if (!gnn_combine_is_sum(a.combine))
			a.batch.carry = nullptr;
		EXPECT_EQ(cuda->ops->aggregate(cuda, &a), GNN_OK) << gnn_err_text();
	}
	return {back(a.state, states), back(a.carry, carries)};
}

TEST_F(CudaAggregate, EveryCombinationAgrees)
{
	Chunk c(11);

	for (enum gnn_combine combine : {GNN_COMBINE_SUM, GNN_COMBINE_MAX, GNN_COMBINE_MIN,
		     GNN_COMBINE_SOFTMAX, GNN_COMBINE_PAIR_MAX, GNN_COMBINE_PAIR_SOFTMAX})
		for (uint32_t width : {1u, 4u, 31u, 32u, 33u, 128u, 172u, 256u, 600u})
			for (const Grouping &how : {Grouping{false, false, false},
				     Grouping{true, true, false}, Grouping{true, true, true},
				     Grouping{false, false, true},
				     Grouping{true, true, true, true},
				     Grouping{true, false, true, false, true},
				     Grouping{true, false, false, false, true},
				     Grouping{false, false, false, true}}) {
				const bool softmax = gnn_combine_is_softmax(combine);
				const bool pair = gnn_combine_is_pair(combine);
				if (pair && how.weighted)
					continue;
				const uint32_t heads =
					(softmax || pair) && width % 4 == 0 && width < 600 ? 4 : 1;
				const Floats r = random_floats(c.vertices * width, 5);
				// Scores of about 1: exp takes the rounding of a long sum.
				const float most = 2.0f / std::sqrt(float(width));
				weights.push_back(random_floats(width, 6, -most, most));
				const float *att = weights.back().data();
				const Floats m = random_floats(c.rows * width, width);
				const Floats s = random_floats(c.rows * heads, 1);
				const Floats t = random_floats(c.vertices * heads, 2);
				const Floats top(c.vertices * heads, pair ? 4.0f : 1.0f);
				const Floats low(c.vertices * heads, -1.0f);
				struct gnn_aggregate_args a;

				memset(&a, 0, sizeof(a));
				a.combine = combine;
				a.width = width;
				a.message = m.data();
				a.own = m.data();
				a.message_pitch = a.own_pitch = width;
				a.own_factor = 1.25f;
				a.state_pitch = a.carry_pitch = width + (softmax ? heads : 0);
				a.heads = heads;
				a.slope = how.own ? 0.2f : -0.5f;
				a.score_src = s.data();
				a.score_dst = t.data();
				a.score_max = top.data();
				a.score_min = how.own ? nullptr : low.data();
				a.score_pitch = heads;
				a.target = r.data();
				a.target_pitch = width;
				a.att = att;
				SCOPED_TRACE(testing::Message() << combine << " width " << width);
				const Absorbed want = on_cpu(c, a, how);
				const Absorbed got = on_cuda(c, a, how, 1, false);
				expect_near(got.state, want.state, 1e-5);
				const Absorbed cut = on_cuda(c, a, how, 5, true);
				EXPECT_EQ(memcmp(got.state.data(), cut.state.data(),
						  got.state.size() * 4),
					0);
				EXPECT_EQ(memcmp(got.carry.data(), cut.carry.data(),
						  got.carry.size() * 4),
					0);
				if (HasFailure())
					return;
			}
}

TEST_F(CudaAggregate, ANeighbourOutsideTheGraphIsSeen)
{
	Chunk c(3);
	const struct gnn_graph_info info = {c.vertices, there(c.hub_bits), there(c.hub_rank),
		c.rows, c.wide.size() + c.rows, false};
	struct gnn_edge_batch batch;
	struct gnn_edge_list l;
	uint64_t ticket;

	c.narrow[5] = 3000;
	ASSERT_EQ(cuda->ops->prepare(cuda, &info), GNN_OK);
	memset(&l, 0, sizeof(l));
	l.first_vertex = c.first;
	l.rows = l.row_end = c.rows;
	l.edge_begin = 1000;
	l.edge_end = 1000 + c.wide.size();
	l.offsets = there(c.offsets);
	l.neighbors = there(c.narrow);
	l.dtype = GNN_U32;
	l.to.count = c.vertices;
	ASSERT_EQ(cuda->ops->group(cuda, &l, &batch), GNN_OK);
	ASSERT_EQ(cuda->ops->mark(cuda, &ticket), GNN_OK);
	EXPECT_EQ(cuda->ops->wait(cuda, ticket), GNN_EDATA);
	EXPECT_NE(std::string(gnn_err_text()).find("outside the 3000"), std::string::npos);
}

TEST_F(CudaTwin, MomentsAndMergesAgree)
{
	for (uint64_t rows : row_counts)
		for (uint32_t width : {1u, 33u, 128u}) {
			const uint64_t blocks = (rows + GNN_MOMENT_ROWS - 1) / GNN_MOMENT_ROWS;
			const Floats x = random_floats(rows * width, rows, 100.0f, 102.0f);
			std::vector<struct gnn_moments> want(blocks), got(blocks);
			struct gnn_moments_args m = {x.data(), width, rows, width, want.data()};

			ASSERT_EQ(cpu->ops->moments(cpu, &m), GNN_OK);
			m.from = there(x);
			m.to = there(got);
			ASSERT_EQ(cuda->ops->moments(cuda, &m), GNN_OK) << gnn_err_text();
			ASSERT_EQ(cuda->ops->copy(cuda, got.data(), blocks * sizeof(got[0]), m.to,
				blocks * sizeof(got[0]), blocks * sizeof(got[0]), 1), GNN_OK);
			ASSERT_EQ(cuda->ops->sync(cuda), GNN_OK);
			for (uint64_t k = 0; k < blocks; k++) {
				EXPECT_EQ(got[k].count, want[k].count);
				EXPECT_NEAR(got[k].mean, want[k].mean, 1e-10);
				EXPECT_NEAR(got[k].spread, want[k].spread, 1e-7);
			}
			for (enum gnn_merge how : {GNN_MERGE_SUM, GNN_MERGE_MAX}) {
				Floats to = random_floats(rows * width, 9, 99.0f, 103.0f);
				struct gnn_merge_args a = {how, m.from, width, there(to), width,
					rows, width};

				ASSERT_EQ(cuda->ops->merge(cuda, &a), GNN_OK) << gnn_err_text();
				const Floats there_to = back(a.to, rows * width);
				a.from = x.data();
				a.to = to.data();
				ASSERT_EQ(cpu->ops->merge(cpu, &a), GNN_OK);
				EXPECT_EQ(there_to, to);
			}
		}
}

TEST_F(CudaTwin, FactorsAreEqual)
{
	std::vector<uint32_t> in = {0, 1, 2, 3, 100, 4294967295u}, loops = {0, 1, 0, 2, 5, 0};

	for (enum gnn_norm norm : {GNN_NORM_RSQRT_IN, GNN_NORM_INV_IN, GNN_NORM_DEG_IN,
		     GNN_NORM_COUNT_IN, GNN_NORM_RSQRT_OUT, GNN_NORM_INV_OUT})
		for (int k = 0; k < 4; k++) {
			const Floats sums = {0.0f, 1.5f, -2.0f, 1e-30f, 3e30f, 0.1f};
			const bool own = k % 2 == 1, weighted = k / 2 == 1;
			Floats want(in.size());
			struct gnn_factors_args a = {norm, true, own, in.data(), loops.data(),
				k % 3 == 0 ? 0u : 2u, weighted ? sums.data() : nullptr,
				in.size(), want.data()};

			ASSERT_EQ(cpu->ops->factors(cpu, &a), GNN_OK);
			a.degree = there(in);
			a.loops = there(loops);
			a.weighted = weighted ? there(sums) : nullptr;
			a.to = static_cast<float *>(there(nullptr, want.size() * 4));
			ASSERT_EQ(cuda->ops->factors(cuda, &a), GNN_OK);
			const Floats got = back(a.to, want.size());
			for (size_t i = 0; i < want.size(); i++)
				EXPECT_TRUE(got[i] == want[i] ||
					(std::isnan(got[i]) && std::isnan(want[i])));
		}
}

TEST_F(CudaTwin, MovesAreEqual)
{
	for (uint32_t width : {1u, 4u, 37u, 128u, 256u})
		for (uint64_t k = 0; k < 12; k++) {
			const auto rule = static_cast<enum gnn_move_rule>(k % 3);
			const uint64_t count = std::vector<uint64_t>{0, 1, 31, 5000}[k / 3];
			const uint64_t pitch = width + width % 4;
			const Floats from = random_floats((count + 3) * width, 7);
			Floats want((count + 9) * pitch, 2.0f);
			std::vector<struct gnn_move> moves;
			struct gnn_move_args a;

			for (uint32_t i = 0; i < count; i++)
				moves.push_back({(i * 7 + 1) % static_cast<uint32_t>(count + 3),
					static_cast<uint32_t>(count) + 8 - i});
			a = {from.data(), width, want.data(), pitch, width, moves.data(), count,
				rule};
			a.from = there(from);
			a.to = there(want);
			a.moves = there(moves);
			ASSERT_EQ(cuda->ops->move(cuda, &a), GNN_OK);
			const Floats got = back(a.to, want.size());

			a = {from.data(), width, want.data(), pitch, width, moves.data(), count,
				rule};
			ASSERT_EQ(cpu->ops->move(cpu, &a), GNN_OK);
			EXPECT_EQ(got, want);
		}
}

// Rows fetched while the operations behind go on: what stood there when fetch was issued.
TEST_F(CudaTwin, FetchesAreWhatWasThere)
{
	const uint64_t count = 1 << 20, bytes = count * sizeof(float);
	float *device[GNN_FETCHES_MAX], *host[GNN_FETCHES_MAX];
	uint64_t ticket[GNN_FETCHES_MAX];
	void *block;

	for (int i = 0; i < GNN_FETCHES_MAX; i++) {
		ASSERT_EQ(cuda->ops->alloc(cuda, &block, bytes), GNN_OK);
		device[i] = static_cast<float *>(block);
		ASSERT_EQ(cuda->ops->alloc_host(cuda, &block, bytes), GNN_OK);
		host[i] = static_cast<float *>(block);
	}
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < GNN_FETCHES_MAX; i++) {
			const float value = static_cast<float>(round * 10 + i);

			if (round > 0) {
				ASSERT_EQ(cuda->ops->fetched(cuda, ticket[i]), GNN_OK);
				ASSERT_EQ(host[i][count - 1], value - 10);
			}
			ASSERT_EQ(cuda->ops->fill(cuda, device[i], value, count), GNN_OK);
			ASSERT_EQ(cuda->ops->fetch(cuda, host[i], device[i], bytes, &ticket[i]),
				GNN_OK);
		}
	}
	for (int i = 0; i < GNN_FETCHES_MAX; i++) {
		ASSERT_EQ(cuda->ops->fetched(cuda, ticket[i]), GNN_OK);
		EXPECT_EQ(std::count(host[i], host[i] + count, 40.0f + static_cast<float>(i)),
			static_cast<int64_t>(count));
		cuda->ops->free(cuda, device[i]);
		cuda->ops->free_host(cuda, host[i]);
	}
}

// Offsets past 2^31 elements: the last rows of a state of 9 GB.
TEST_F(CudaTwin, StatesPast2To31Elements)
{
	const uint64_t slots = (uint64_t{1} << 31) / 9 + 5, pitch = 9;
	const std::vector<uint64_t> vertex = {3, slots - 1}, first = {0, 1, 3};
	const std::vector<uint32_t> src = {1, 0, 1};
	const Floats message = random_floats(2 * pitch, 1);
	struct gnn_aggregate_args a;
	void *state = nullptr;

	if (cuda->ops->alloc(cuda, &state, slots * pitch * 4) != GNN_OK)
		GTEST_SKIP() << gnn_err_text();
	blocks.push_back(state);
	memset(&a, 0, sizeof(a));
	a.width = pitch;
	a.message = a.own = there(message);
	a.message_pitch = a.own_pitch = a.state_pitch = pitch;
	a.batch.group_count = 2;
	a.batch.entry_count = 3;
	a.batch.vertex = a.batch.slot = there(vertex);
	a.batch.first = there(first);
	a.batch.src = there(src);
	a.state = static_cast<float *>(state);
	ASSERT_EQ(cuda->ops->fill(cuda, a.state, 0.0f, slots * pitch), GNN_OK);
	ASSERT_EQ(cuda->ops->aggregate(cuda, &a), GNN_OK);
	const Floats low = back(a.state + 3 * pitch, pitch);
	const Floats high = back(a.state + (slots - 1) * pitch, pitch);
	for (uint64_t j = 0; j < pitch; j++) {
		EXPECT_EQ(low[j], message[pitch + j]);
		EXPECT_EQ(high[j], message[j] + message[pitch + j]);
	}
}

} // namespace
