// Generated graphs: exact counts, the distribution promised, the same whatever the threads.
#include "graph/gen.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

struct GenTest : ::testing::Test {
	struct gnn_gen_opts o = {};
	struct gnn_gen g = {};
	std::vector<gnn_vid> src, dst;

	void SetUp() override
	{
		o = {};
		o.kind = "sbm";
		o.vertices = 4096;
		o.edges = 40000;
		o.classes = 8;
		o.mixing = 0.05;
		o.feat_dim = 16;
		o.dtype = GNN_F32;
		o.noise = NAN;
		o.seed = 1;
		o.shuffle = true;
		o.threads = 2;
	}
	void draw()
	{
		ASSERT_EQ(gnn_gen_init(&g, &o), GNN_OK) << gnn_err_text();
		src.resize(o.edges);
		dst.resize(o.edges);
		gnn_gen_edges(&g, 0, o.edges, src.data(), dst.data());
	}
	void refused(const char *words)
	{
		EXPECT_EQ(gnn_gen_init(&g, &o), GNN_ECONFIG);
		EXPECT_NE(std::string(gnn_err_text()).find(words), std::string::npos)
			<< gnn_err_text();
	}
	template <typename T> std::vector<T> features(uint64_t first, uint64_t rows)
	{
		std::vector<T> x(rows * o.feat_dim);
		gnn_gen_features(&g, first, rows, x.data());
		return x;
	}
};

TEST_F(GenTest, ThreadsAndBatchesDoNotMatter)
{
	for (const char *kind : {"rmat", "sbm", "power"}) {
		o.kind = kind;
		o.threads = 1;
		draw();
		std::vector<gnn_vid> s = src, d = dst;
		std::vector<float> x = features<float>(0, o.vertices);
		o.threads = 3;
		draw();
		EXPECT_EQ(s, src) << kind;
		EXPECT_EQ(d, dst) << kind;
		EXPECT_EQ(x, features<float>(0, o.vertices)) << kind;
		gnn_gen_edges(&g, 777, 10001, src.data(), dst.data());
		EXPECT_EQ(memcmp(src.data(), &s[777], 10001 * 8), 0) << kind;
		EXPECT_EQ(memcmp(dst.data(), &d[777], 10001 * 8), 0) << kind;
		std::vector<float> part = features<float>(99, 50);
		EXPECT_EQ(memcmp(part.data(), &x[99 * o.feat_dim], part.size() * 4), 0) << kind;
	}
}

TEST_F(GenTest, EveryIdIsInRangeForAnyNumberOfVertices)
{
	for (const char *kind : {"rmat", "sbm", "power"})
		for (uint64_t v : {1, 2, 3, 5, 1000, 1023, 1025}) {
			o.kind = kind;
			o.vertices = v;
			draw();
			for (uint64_t i = 0; i < o.edges; i++) {
				ASSERT_LT(src[i], v) << kind;
				ASSERT_LT(dst[i], v) << kind;
			}
			for (gnn_vid u = 0; u < v; u++)
				ASSERT_LT(gnn_gen_label(&g, u), o.classes);
		}
}

// A quadrant of the adjacency matrix holds .57, .19, .19, .05 of the edges, at each level.
TEST_F(GenTest, RmatFillsItsQuadrants)
{
	o.kind = "rmat";
	o.shuffle = false;
	o.edges = 200000;
	draw();
	for (int bit : {11, 5, 0}) {
		double n[4] = {};
		for (uint64_t i = 0; i < o.edges; i++)
			n[(src[i] >> bit & 1) * 2 + (dst[i] >> bit & 1)]++;
		const double want[] = {.57, .19, .19, .05};
		for (int q = 0; q < 4; q++)
			EXPECT_NEAR(n[q] / static_cast<double>(o.edges), want[q], .005)
				<< "bit " << bit << " quadrant " << q;
	}
}

// P(src < V x) = x^(1/2.5), P(dst < V x) = x^(1/1.5).
TEST_F(GenTest, PowerFollowsItsLaw)
{
	o.kind = "power";
	o.shuffle = false;
	o.edges = 200000;
	draw();
	for (double x : {.01, .1, .5}) {
		double s = 0, d = 0;
		for (uint64_t i = 0; i < o.edges; i++) {
			s += static_cast<double>(src[i]) < x * static_cast<double>(o.vertices);
			d += static_cast<double>(dst[i]) < x * static_cast<double>(o.vertices);
		}
		EXPECT_NEAR(s / static_cast<double>(o.edges), pow(x, 1 / 2.5), .01);
		EXPECT_NEAR(d / static_cast<double>(o.edges), pow(x, 1 / 1.5), .01);
	}
}

// Communities 12, classes 8, so that community and class differ.
TEST_F(GenTest, SbmLeavesTheCommunityAsOftenAsAsked)
{
	o.communities = 12;
	o.edges = 200000;
	o.shuffle = false;
	for (double mixing : {0.0, 0.05, 0.5, 1.0}) {
		o.mixing = mixing;
		draw();
		double out = 0;
		std::map<uint64_t, int> sizes;
		for (gnn_vid v = 0; v < o.vertices; v++)
			sizes[g.kind->group(&g, v)]++;
		ASSERT_EQ(sizes.size(), 12u);
		for (auto &[k, n] : sizes)
			EXPECT_NEAR(n, 4096 / 12, 1) << k;
		for (uint64_t i = 0; i < o.edges; i++) {
			ASSERT_NE(src[i], dst[i]);
			out += g.kind->group(&g, src[i]) != g.kind->group(&g, dst[i]);
		}
		EXPECT_NEAR(out / static_cast<double>(o.edges), mixing, .004);
	}
}

TEST_F(GenTest, ShuffledIsTheSameGraphByOtherNames)
{
	o.communities = 12;
	draw();
	std::vector<gnn_vid> s = src, d = dst;
	struct gnn_gen shuffled = g;
	o.shuffle = false;
	draw();
	int moved = 0;
	for (uint64_t i = 0; i < o.edges; i++) {
		ASSERT_EQ(s[i], gnn_shuffle_map(&shuffled.id, src[i]));
		ASSERT_EQ(d[i], gnn_shuffle_map(&shuffled.id, dst[i]));
		ASSERT_EQ(gnn_gen_label(&shuffled, s[i]), gnn_gen_label(&g, src[i]));
		ASSERT_EQ(gnn_gen_label(&g, src[i]), g.kind->group(&g, src[i]) % 8);
		moved += s[i] != src[i];
	}
	EXPECT_GT(moved, 39000);
}

TEST_F(GenTest, SplitsAreExactAndApart)
{
	const struct { uint64_t vertices, given, want[4]; } rows[] = {
		{1000, 0, {600, 200, 200, 0}}, {1003, 0, {603, 200, 200, 0}},
		{1000, 100, {100, 200, 200, 500}}, {1000, 900, {900, 50, 50, 0}},
		{1000, 1000, {1000, 0, 0, 0}}, {1, 0, {1, 0, 0, 0}}, {7, 5, {5, 1, 1, 0}},
	};
	for (auto &r : rows) {
		o.vertices = r.vertices;
		o.train_count = r.given;
		ASSERT_EQ(gnn_gen_init(&g, &o), GNN_OK);
		uint64_t n[4] = {};
		for (gnn_vid v = 0; v < r.vertices; v++)
			n[gnn_gen_split(&g, v)]++;
		for (int s = 0; s < 4; s++)
			EXPECT_EQ(n[s], r.want[s]) << r.vertices << " split " << s;
	}
}

// Every column has mean 0 over classes and variance 1; a class has its centre.
TEST_F(GenTest, FeaturesAreCentresPlusNoise)
{
	o.noise = 2.0;
	o.vertices = 65536;
	o.feat_dim = 70; // two words of signs
	draw();
	std::vector<float> x = features<float>(0, o.vertices);
	std::vector<double> sum(8 * 70), square(8 * 70);
	std::vector<double> n(8);
	for (gnn_vid v = 0; v < o.vertices; v++) {
		uint64_t c = gnn_gen_label(&g, v);
		n[c]++;
		for (uint64_t j = 0; j < 70; j++) {
			double f = static_cast<double>(x[v * 70 + j]);
			sum[c * 70 + j] += f;
			square[c * 70 + j] += f * f;
		}
	}
	std::set<std::vector<bool>> centres;
	for (uint64_t c = 0; c < 8; c++) {
		std::vector<bool> signs;
		for (uint64_t j = 0; j < 70; j++) {
			double mean = sum[c * 70 + j] / n[c];
			EXPECT_NEAR(fabs(mean), 1 / sqrt(5.0), .05);
			EXPECT_NEAR(square[c * 70 + j] / n[c] - mean * mean, 4 / 5.0, .06);
			signs.push_back(mean > 0);
		}
		centres.insert(signs);
	}
	EXPECT_EQ(centres.size(), 8u);
}

TEST_F(GenTest, NarrowTypesAreTheSameValuesRounded)
{
	o.noise = 1.0;
	draw();
	std::vector<float> x = features<float>(0, o.vertices);
	o.dtype = GNN_BF16;
	draw();
	std::vector<uint16_t> b = features<uint16_t>(0, o.vertices);
	o.dtype = GNN_U8;
	draw();
	std::vector<uint8_t> u = features<uint8_t>(0, o.vertices);
	const double stretch = 127 / (1 + sqrt(12.0)) * sqrt(2.0);
	for (size_t i = 0; i < x.size(); i++) {
		uint32_t wide = static_cast<uint32_t>(b[i]) << 16;
		float back;
		memcpy(&back, &wide, 4);
		ASSERT_LE(fabs(back - x[i]), fabs(x[i]) / 256);
		ASSERT_NEAR(u[i], 128 + static_cast<double>(x[i]) * stretch, .501);
	}
}

#if defined(__FLT16_MAX__)
TEST_F(GenTest, HalfIsRoundedToNearestEven)
{
	for (double noise : {0.0, 1.0, 1000.0}) {
		o.noise = noise;
		o.dtype = GNN_F32;
		draw();
		std::vector<float> x = features<float>(0, o.vertices);
		o.dtype = GNN_F16;
		draw();
		std::vector<uint16_t> h = features<uint16_t>(0, o.vertices);
		for (size_t i = 0; i < x.size(); i++) {
			_Float16 want = static_cast<_Float16>(x[i]);
			uint16_t bits;
			memcpy(&bits, &want, 2);
			ASSERT_EQ(h[i], bits) << x[i];
		}
	}
}
#endif

TEST_F(GenTest, RecipesThatContradictThemselvesAreRefused)
{
	o.kind = "ring";
	EXPECT_EQ(gnn_gen_init(&g, &o), GNN_EUSAGE);
	SetUp();
	o.vertices = 0;
	refused("at least one vertex");
	SetUp();
	o.communities = 4097;
	refused("4097 communities in 4096 vertices");
	SetUp();
	for (double mixing : {-0.1, 1.5, static_cast<double>(NAN)}) {
		o.mixing = mixing;
		refused("--mixing is a share");
	}
	SetUp();
	o.noise = -1;
	refused("--noise is 0 or more");
	SetUp();
	o.train_count = 5000;
	refused("--train-count 5000 of 4096");
	SetUp();
	o.dtype = GNN_I64;
	refused("not i64");
}

} // namespace
