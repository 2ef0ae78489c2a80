// Sums, maxima and softmax sums on the CPU against double precision and against the header's
// formula bit by bit; the same bits for any thread count and split of the edges.
#include "unit/op_test.h"

#include "op/cpu/cpu.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace {

const uint32_t widths[] = {1, 3, 8, 31, 32, 33, 64, 127, 128, 172, 1024};
const uint32_t thread_counts[] = {1, 2, 3, 8};

// A batch with its arrays.
struct Batch {
	std::vector<uint64_t> vertex, slot, carry, first = {0};
	std::vector<uint32_t> src;
	Floats weight;

	// Group `sizes[g]` entries to vertex g, at slot n - 1 - g; rows drawn from [0, rows).
	static Batch random(const std::vector<uint64_t> &sizes, uint64_t rows, bool own)
	{
		Batch b;
		for (uint64_t g = 0; g < sizes.size(); g++) {
			b.vertex.push_back(g);
			b.slot.push_back(sizes.size() - 1 - g);
			b.carry.push_back(sizes[g] >= GNN_HUB_DEGREE ? g : GNN_NO_CARRY);
			for (uint64_t e = 0; e < sizes[g]; e++) {
				const uint64_t draw = gnn_rng_u64(3, g, e);
				const bool is_own = own && e == sizes[g] / 2;
				b.src.push_back(uint32_t(gnn_rng_below(draw, rows)) |
					(is_own ? GNN_OWN_BIT : 0));
			}
			b.first.push_back(b.src.size());
		}
		return b;
	}
	// Entries [from, to) of every group alone.
	Batch part(uint64_t from, uint64_t to) const
	{
		Batch b;
		for (uint64_t g = 0; g < vertex.size(); g++) {
			const uint64_t n = first[g + 1] - first[g];
			b.vertex.push_back(vertex[g]);
			b.slot.push_back(slot[g]);
			b.carry.push_back(carry[g]);
			for (uint64_t e = std::min(from, n); e < std::min(to, n); e++) {
				b.src.push_back(src[first[g] + e]);
				if (!weight.empty())
					b.weight.push_back(weight[first[g] + e]);
			}
			b.first.push_back(b.src.size());
		}
		return b;
	}
	struct gnn_edge_batch view() const
	{
		return {vertex.size(), src.size(), vertex.data(), slot.data(), carry.data(),
			first.data(), src.data(), weight.empty() ? nullptr : weight.data(),
			nullptr};
	}
};

// Arguments with the data they point at; state and carry are results.
struct Case {
	Batch batch;
	enum gnn_combine combine;
	uint32_t width, heads;
	float own_factor = 1.0f;
	float slope = 0.2f;
	Floats message, own, state, carry, score_src, score_dst, score_max, score_min, target, att;

	Case(const Batch &b, enum gnn_combine how, uint32_t columns, uint64_t rows,
		uint32_t h = 0)
		: batch(b), combine(how), width(columns), heads(h),
		  message(random_floats(rows * columns, 11)),
		  own(random_floats(rows * columns, 12)),
		  state(random_floats(b.vertex.size() * (columns + h), 13)),
		  carry(b.vertex.size() * (columns + h)), score_src(random_floats(rows * h, 14)),
		  score_dst(random_floats(b.vertex.size() * h, 15)),
		  score_max(b.vertex.size() * h, -INFINITY),
		  target(random_floats(b.vertex.size() * columns, 16)),
		  att(random_floats(columns, 17))
	{
		for (uint64_t g = 0; g < b.vertex.size(); g++)
			for (uint64_t e = b.first[g]; e < b.first[g + 1]; e++)
				for (uint32_t k = 0; k < h; k++) {
					float &most = score_max[g * h + k];
					const uint64_t row = b.src[e] & ~GNN_OWN_BIT;
					most = std::max(most, score_src[row * h + k]);
				}
	}
	void run(Backend &b, const Batch &edges)
	{
		struct gnn_aggregate_args a;
		memset(&a, 0, sizeof(a));
		a.combine = combine;
		a.batch = edges.view();
		a.width = width;
		a.message = message.data();
		a.own = own.data();
		a.message_pitch = a.own_pitch = width;
		a.own_factor = own_factor;
		a.state = state.data();
		a.carry = carry.data();
		a.state_pitch = a.carry_pitch = width + heads;
		a.heads = heads;
		a.slope = slope;
		a.score_src = score_src.data();
		a.score_dst = score_dst.data();
		a.score_max = score_max.data();
		a.score_pitch = heads;
		a.score_min = score_min.empty() ? nullptr : score_min.data();
		a.target = target.data();
		a.target_pitch = width;
		a.att = att.data();
		if (combine == GNN_COMBINE_PAIR_MAX) {
			a.state = score_max.data();
			a.state_pitch = heads;
		}
		b.aggregate(a);
	}
	void run_from_zero(Backend &b)
	{
		std::fill(state.begin(), state.end(), 0.0f);
		std::fill(carry.begin(), carry.end(), 0.0f);
		run(b, batch);
	}
	void find_minima()
	{
		score_min.assign(score_max.size(), INFINITY);
		for (uint64_t g = 0; g < batch.vertex.size(); g++)
			for (uint64_t e = batch.first[g]; e < batch.first[g + 1]; e++)
				for (uint32_t k = 0; k < heads; k++) {
					float &least = score_min[g * heads + k];
					const uint64_t row = batch.src[e] & ~GNN_OWN_BIT;
					least = std::min(least, score_src[row * heads + k]);
				}
	}
	// PAIR: every batch is the whole one's, and slots are the vertices.
	void find_pair_maxima(Backend &b)
	{
		std::fill(score_max.begin(), score_max.end(), -INFINITY);
		batch.slot = batch.vertex;
		combine = GNN_COMBINE_PAIR_MAX;
		run(b, batch);
		combine = GNN_COMBINE_PAIR_SOFTMAX;
	}
	double score(uint64_t entry, uint64_t vertex, uint32_t k) const
	{
		const uint32_t channels = width / heads;
		const uint64_t at = vertex * heads + k;
		const uint64_t src = batch.src[entry] & ~GNN_OWN_BIT;
		double sum = 0;
		if (combine == GNN_COMBINE_SOFTMAX)
			return leaky(double(score_src[src * heads + k]) + double(score_dst[at]));
		for (uint32_t j = k * channels; j < (k + 1) * channels; j++)
			sum += double(att[j]) * leaky(double(row(batch.src[entry])[j]) +
				double(target[vertex * width + j]));
		return sum;
	}
	double leaky(double x) const
	{
		return x > 0 ? x : double(slope) * x;
	}
	const float *row(uint32_t src) const
	{
		return (src & GNN_OWN_BIT ? own : message).data() +
			uint64_t(src & ~GNN_OWN_BIT) * width;
	}
	float factor(uint64_t entry) const
	{
		const float f = batch.src[entry] & GNN_OWN_BIT ? own_factor : 1.0f;
		return batch.weight.empty() ? f : f * batch.weight[entry];
	}
	// The header's formula, one column at a time.
	void expect_sum_bits(const Floats &before) const
	{
		for (uint64_t g = 0; g < batch.vertex.size(); g++)
			for (uint32_t j = 0; j < width; j++) {
				const uint64_t at = batch.slot[g] * width + j;
				float s = before[at], c = 0;
				for (uint64_t e = batch.first[g]; e < batch.first[g + 1]; e++) {
					const float x = row(batch.src[e])[j], w = factor(e);
					if (batch.carry[g] == GNN_NO_CARRY) {
						s = std::fma(w, x, s);
						continue;
					}
					const float y = std::fma(w, x, -c), t = s + y;
					c = (t - s) - y;
					s = t;
				}
				ASSERT_EQ(memcmp(&s, &state[at], 4), 0)
					<< width << " wide, group " << g << " column " << j;
			}
	}
};

std::vector<uint64_t> mixed_sizes(uint64_t groups)
{
	std::vector<uint64_t> sizes;
	for (uint64_t g = 0; g < groups; g++) {
		const uint64_t draw = gnn_rng_u64(4, 0, g);
		sizes.push_back(g % 17 == 0 ? gnn_rng_below(draw, 700) : gnn_rng_below(draw, 5));
	}
	return sizes;
}

TEST(OpAggregate, SumFollowsTheFormulaBitByBit)
{
	Backend b(2), narrow(2);

	reinterpret_cast<struct gnn_cpu *>(narrow.b)->wide = false;
	for (uint32_t width : widths)
		for (bool weighted : {false, true}) {
			const Batch batch = Batch::random(mixed_sizes(60), 100, true);
			Case c(batch, GNN_COMBINE_SUM, width, 100);
			if (weighted)
				c.batch.weight = random_floats(c.batch.src.size(), 16);
			c.own_factor = weighted ? 1.25f : 1.0f;
			const Floats before = c.state;
			Case other = c;
			c.run(b, c.batch);
			c.expect_sum_bits(before);
			other.run(narrow, other.batch);
			EXPECT_TRUE(equal_bits(other.state, c.state)) << width;
			EXPECT_TRUE(equal_bits(other.carry, c.carry)) << width;
		}
}

TEST(OpAggregate, NoGroupsAndEmptyGroupsAreLegal)
{
	Backend b(2);
	Case none(Batch(), GNN_COMBINE_SUM, 8, 4);
	Case empty(Batch::random({0, 0, 0}, 4, false), GNN_COMBINE_SUM, 8, 4);
	const Floats before = empty.state;

	none.run(b, none.batch);
	empty.run(b, empty.batch);
	EXPECT_TRUE(equal_bits(empty.state, before));
}

TEST(OpAggregate, ThreadsAndSplitsChangeNoBit)
{
	for (enum gnn_combine how : {GNN_COMBINE_SUM, GNN_COMBINE_MAX, GNN_COMBINE_MIN,
		     GNN_COMBINE_SOFTMAX, GNN_COMBINE_PAIR_SOFTMAX}) {
		const uint32_t heads = gnn_combine_is_softmax(how) ? 4 : 0;
		Case start(Batch::random(mixed_sizes(1000), 500, true), how, 132, 500, heads);
		Backend one(1);
		if (how == GNN_COMBINE_PAIR_SOFTMAX)
			start.find_pair_maxima(one);
		Case want = start;
		want.run(one, want.batch);
		for (uint32_t threads : thread_counts) {
			Backend b(threads);
			Case whole = start, pieces = start;
			whole.run(b, whole.batch);
			for (uint64_t e = 0; e < 700; e += 37)
				pieces.run(b, pieces.batch.part(e, e + 37));
			EXPECT_TRUE(equal_bits(whole.state, want.state)) << how << " " << threads;
			EXPECT_TRUE(equal_bits(whole.carry, want.carry)) << how << " " << threads;
			EXPECT_TRUE(equal_bits(pieces.state, want.state)) << how << " " << threads;
			EXPECT_TRUE(equal_bits(pieces.carry, want.carry)) << how << " " << threads;
		}
	}
}

TEST(OpAggregate, SmallIntegersAreExactInAnyOrder)
{
	Backend b(3);
	const auto sizes = mixed_sizes(300);
	Case forth(Batch::random(sizes, 64, true), GNN_COMBINE_SUM, 33, 64);

	for (Floats *f : {&forth.message, &forth.own, &forth.state})
		for (float &x : *f)
			x = std::nearbyint(x * 15);
	Case back = forth;
	for (uint64_t g = 0; g < sizes.size(); g++)
		std::reverse(back.batch.src.begin() + long(back.batch.first[g]),
			back.batch.src.begin() + long(back.batch.first[g + 1]));
	forth.run(b, forth.batch);
	back.run(b, back.batch);
	EXPECT_TRUE(equal_bits(forth.state, back.state));
}

TEST(OpAggregate, MaxIsTheLargestMinTheLeastAndNaNWins)
{
	Backend b(2);

	for (uint32_t i = 0; i < 4 * std::size(widths); i++) {
		const uint32_t width = widths[i / 4];
		const bool least = i % 4 >= 2;
		Case c(Batch::random(mixed_sizes(60), 100, true),
			least ? GNN_COMBINE_MIN : GNN_COMBINE_MAX, width, 100);
		if (i % 2 == 1)
			c.batch.weight = random_floats(c.batch.src.size(), 16);
		const Floats before = c.state;
		for (uint64_t r = 7; r < 100; r += 31)
			c.message[r * width + r % width] = NAN;
		c.run(b, c.batch);
		for (uint64_t g = 0; g < c.batch.vertex.size(); g++)
			for (uint32_t j = 0; j < width; j++) {
				const uint64_t at = c.batch.slot[g] * width + j;
				const uint64_t end = c.batch.first[g + 1];
				float want = before[at];
				bool nan = false;
				for (uint64_t e = c.batch.first[g]; e < end; e++) {
					const float m = c.factor(e) * c.row(c.batch.src[e])[j];
					nan |= std::isnan(m);
					want = least ? std::min(want, m) : std::max(want, m);
				}
				if (nan)
					ASSERT_TRUE(std::isnan(c.state[at])) << width;
				else
					ASSERT_EQ(c.state[at], want) << width;
			}
	}
}

// What softmax sums of group g must be, and the sums of magnitudes, per state column.
void softmax_sums(const Case &c, uint64_t g, std::vector<double> &want, std::vector<double> &size)
{
	const uint32_t heads = c.heads, channels = c.width / heads;
	std::vector<double> most(heads, -INFINITY);

	for (uint64_t e = c.batch.first[g]; e < c.batch.first[g + 1]; e++)
		for (uint32_t k = 0; k < heads; k++)
			most[k] = std::max(most[k], c.score(e, g, k));
	for (uint64_t e = c.batch.first[g]; e < c.batch.first[g + 1]; e++)
		for (uint32_t k = 0; k < heads; k++) {
			const double w = std::exp(c.score(e, g, k) - most[k]);
			const double scaled = c.batch.weight.empty() ? w : w * c.batch.weight[e];
			for (uint32_t j = k * channels; j < (k + 1) * channels; j++) {
				const double x = c.row(c.batch.src[e])[j];
				want[j] += scaled * x;
				size[j] += std::fabs(scaled * x);
			}
			want[c.width + k] += w;
			size[c.width + k] += w;
		}
}

void expect_softmax_sums(const Case &c, double tolerance)
{
	const uint32_t whole = c.width + c.heads;

	for (uint64_t g = 0; g < c.batch.vertex.size(); g++) {
		std::vector<double> want(whole), size(whole);
		softmax_sums(c, g, want, size);
		for (uint32_t j = 0; j < whole; j++)
			ASSERT_NEAR(c.state[c.batch.slot[g] * whole + j], want[j],
				tolerance * size[j])
				<< c.combine << " " << c.heads << " " << c.width;
	}
}

TEST(OpAggregate, SoftmaxSumsAgainstDoublePrecision)
{
	Backend b(2);

	for (uint32_t heads : {1u, 2u, 5u, 8u, 11u})
		for (uint32_t channels : {1u, 7u, 8u, 33u, 64u})
			for (const float slope : {0.2f, -0.7f}) {
				const Batch batch = Batch::random(mixed_sizes(60), 100, true);
				Case c(batch, GNN_COMBINE_SOFTMAX, heads * channels, 100, heads);
				c.slope = slope;
				if (slope < 0)
					c.find_minima();
				c.run_from_zero(b);
				expect_softmax_sums(c, 1e-6);
				c.batch.weight = random_floats(c.batch.src.size(), 16);
				c.run_from_zero(b);
				expect_softmax_sums(c, 1e-6);
				c.batch.weight.clear();
				c.find_pair_maxima(b);
				c.run_from_zero(b);
				expect_softmax_sums(c, 2e-6);
				if (HasFatalFailure())
					return;
			}
}

// Equal logits: each weight is exp(0) = 1, so the sums are exact.
TEST(OpAggregate, EqualLogitsWeighOne)
{
	Backend b(2);
	Case c(Batch::random({3, 200, 5000}, 40, false), GNN_COMBINE_SOFTMAX, 10, 40, 2);

	for (Floats *f : {&c.message, &c.score_src, &c.score_max})
		std::fill(f->begin(), f->end(), 0.75f);
	std::fill(c.state.begin(), c.state.end(), 0.0f);
	c.run(b, c.batch);
	for (uint64_t g = 0; g < 3; g++)
		for (uint32_t j = 0; j < 12; j++) {
			const float n = float(c.batch.first[g + 1] - c.batch.first[g]);
			ASSERT_EQ(c.state[c.batch.slot[g] * 12 + j], j < 10 ? 0.75f * n : n);
		}
}

// Plain sums of n equal messages are off by 1.5e-5 at 1024 and 2e-4 at 16384.
TEST(OpAggregate, HubsStayWithinOneMillionth)
{
	Backend b(2);
	const uint64_t degrees[] = {64, 1000, 16000, 1000000};

	for (bool equal : {true, false})
		for (uint64_t degree : degrees) {
			Case c(Batch::random({degree}, 4096, true), GNN_COMBINE_SUM, 33, 4096);
			c.own_factor = 1.5f;
			std::fill(c.state.begin(), c.state.end(), 0.0f);
			for (Floats *f : {&c.message, &c.own})
				for (float &x : *f)
					x = equal ? 0.1f : 0.5f + 0.5f * x;
			for (uint64_t e = 0; e < degree; e += 4096)
				c.run(b, c.batch.part(e, e + 4096));
			for (uint32_t j = 0; j < 33; j++) {
				double want = 0;
				for (uint64_t e = 0; e < degree; e++) {
					const float x = c.row(c.batch.src[e])[j];
					want += double(c.factor(e)) * double(x);
				}
				ASSERT_NEAR(c.state[j], want, 1e-6 * want) << degree;
			}
		}
}

// State rows past 2^31 floats from the start: offsets must not be 32 bit.
TEST(OpAggregate, OffsetsPastTwoToThe31)
{
	Backend b(2);
	const uint64_t pitch = 1 << 20, slots = 2050, bytes = slots * pitch * sizeof(float);
	const uint64_t vertex[] = {0, 1}, slot[] = {2049, 1}, first[] = {0, 2, 3};
	const uint32_t src[] = {0, 1, 1};
	const Floats message = random_floats(2 * 9, 1);
	struct gnn_aggregate_args a;
	void *state = nullptr;

	if (const uint64_t free_bytes = available_bytes(); free_bytes < bytes + bytes / 4)
		GTEST_SKIP() << "needs " << bytes << " bytes, " << free_bytes << " are available";
	ASSERT_EQ(b.b->ops->alloc(b.b, &state, bytes), GNN_OK) << gnn_err_text();
	memset(&a, 0, sizeof(a));
	a.combine = GNN_COMBINE_SUM;
	a.batch = {2, 3, vertex, slot, nullptr, first, src, nullptr, nullptr};
	a.width = 9;
	a.message = message.data();
	a.message_pitch = 9;
	a.state = static_cast<float *>(state);
	a.state_pitch = pitch;
	for (uint64_t s : slot)
		ASSERT_EQ(b.b->ops->fill(b.b, a.state + s * pitch, 1.0f, 9), GNN_OK);
	b.aggregate(a);
	for (uint64_t j = 0; j < 9; j++) {
		EXPECT_EQ(a.state[2049 * pitch + j], (1.0f + message[j]) + message[9 + j]);
		EXPECT_EQ(a.state[pitch + j], 1.0f + message[9 + j]);
	}
	b.b->ops->free(b.b, state);
}

} // namespace
