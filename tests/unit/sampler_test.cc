/* Samples: distinct, within the list, whole where the fanout reaches, even over many draws. */
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <vector>

#include "op/distinct.h"
#include "train/sampler.h"
#include "unit/train_fixture.h"

namespace {

constexpr gnn_edge_rule GCN = {true, true, GNN_WEIGH_GCN};
constexpr gnn_edge_rule SAGE = {false, false, GNN_WEIGH_MEAN};
constexpr gnn_edge_rule GIN = {false, true, GNN_WEIGH_SUM};

struct Drawn {
	Drawn(const Graph &g, const gnn_edge_rule &rule, std::vector<uint64_t> fanout,
		uint64_t step = 3, uint32_t threads = 2,
		gnn_sampling sampling = GNN_SAMPLE_UNIFORM, uint64_t dependency = 1,
		bool bare = false)
	{
		gnn_sampler *s = nullptr;
		gnn_sampler_opts o{};
		std::vector<gnn_vid> seeds;

		o.lists = &g.lists;
		o.rule = rule;
		o.sampling = sampling;
		o.dependency = dependency;
		o.layers = (uint32_t)fanout.size();
		o.fanout = fanout.data();
		o.bare = bare;
		o.seed = 11;
		o.backend = backend = cpu_backend(threads);
		EXPECT_EQ(gnn_sampler_create(&s, &o), 0);
		for (gnn_vid v = 0; v < g.lists.vertices; v += 5)
			seeds.push_back(v);
		/* Twice with one sampler: what the first leaves must not show. */
		EXPECT_EQ(gnn_sampler_draw(s, seeds.data(), 1, 99, &sample), 0);
		EXPECT_EQ(gnn_sampler_draw(s, seeds.data(), seeds.size(), step, &sample), 0);
		gnn_sampler_destroy(s);
	}
	Drawn(const Drawn &) = delete;
	~Drawn()
	{
		gnn_sample_fini(&sample);
		gnn_backend_destroy(backend);
	}

	/* Global ids of a destination's entries. */
	std::vector<gnn_vid> entries(uint32_t layer, uint64_t i) const
	{
		const gnn_block &b = sample.block[layer];
		std::vector<gnn_vid> to;

		for (uint64_t e = b.first[i]; e < b.first[i + 1]; e++)
			to.push_back(sample.id[b.src[e]]);
		return to;
	}
	gnn_backend *backend;
	gnn_sample sample{};
};

/* Listed in-edges of v as a multiset, without self-loops where the rule drops them. */
std::multiset<gnn_vid> listed(const Graph &g, const gnn_edge_rule &rule, gnn_vid v)
{
	std::multiset<gnn_vid> to;

	for (uint64_t e = g.first[v]; e < g.first[v + 1]; e++)
		if (g.neighbor[e] != v || !rule.drop_loops)
			to.insert(g.neighbor[e]);
	return to;
}

void check_lists(const Graph &g, const Drawn &d, const gnn_edge_rule &rule,
	const std::vector<uint64_t> &fanout)
{
	const uint32_t layers = d.sample.layers;

	for (uint32_t l = 0; l < layers; l++) {
		const gnn_block &b = d.sample.block[l];
		const uint64_t k = fanout[layers - 1 - l];

		for (uint64_t i = 0; i < b.dst_count; i++) {
			const gnn_vid v = d.sample.id[i];
			std::vector<gnn_vid> got = d.entries(l, i);
			std::multiset<gnn_vid> all = listed(g, rule, v);
			const uint64_t n = all.size();

			ASSERT_TRUE(std::is_sorted(got.begin(), got.end()));
			ASSERT_EQ(got.size(), std::min<uint64_t>(n, k) + rule.own);
			if (rule.own)
				got.erase(std::find(got.begin(), got.end(), v));
			for (gnn_vid u : got) { /* no copy is taken twice */
				auto at = all.find(u);
				ASSERT_NE(at, all.end()) << u << " -> " << v;
				all.erase(at);
			}
		}
	}
}

TEST(Sampler, TakesDistinctListedEdges)
{
	Graph g(600, 20);

	for (const gnn_edge_rule &rule : {GCN, SAGE, GIN})
		for (const std::vector<uint64_t> &fanout : {std::vector<uint64_t>{3, 5},
			{1}, {100, 7, 2}, {GNN_FANOUT_ALL, 4}, {GNN_FANOUT_ALL}}) {
			Drawn d(g, rule, fanout);
			check_lists(g, d, rule, fanout);
		}
}

/* What an edge of `weight` into v has in a block, by PyG's normalisation. */
float factor(const Graph &g, gnn_vid u, gnn_vid v, float weight, double scale)
{
	auto degree = [&](gnn_vid t) {
		double sum = 0, own = 1;

		for (uint64_t e = g.first[t]; e < g.first[t + 1]; e++) {
			if (g.neighbor[e] == t)
				own = (double)g.weight[e];
			else
				sum += (double)g.weight[e];
		}
		return sum + own;
	};

	return (float)((double)weight * scale / std::sqrt(degree(u) * degree(v)));
}

/* Every entry has the weight of an edge of its own, of which there are as many as were drawn. */
void check_weights(const Graph &g, const Drawn &d, uint32_t layer, uint64_t k, bool labor)
{
	const gnn_block &b = d.sample.block[layer];

	for (uint64_t i = 0; i < b.dst_count; i++) {
		const gnn_vid v = d.sample.id[i];
		const uint64_t n = g.degree(v) - g.loops[v];
		const uint64_t drawn = b.first[i + 1] - b.first[i] - 1;
		const double scale = n <= k ? 1.0 : (double)n / (double)(labor ? k : drawn);
		std::multimap<gnn_vid, float> left;

		for (uint64_t e = g.first[v]; e < g.first[v + 1]; e++)
			if (g.neighbor[e] != v)
				left.emplace(g.neighbor[e], g.weight[e]);
		for (uint64_t e = b.first[i]; e < b.first[i + 1]; e++) {
			const gnn_vid u = d.sample.id[b.src[e]];
			const auto close = [&](float w, double by) {
				return std::fabs(b.weight[e] / factor(g, u, v, w, by) - 1) < 1e-5;
			};

			if (u == v) {
				ASSERT_TRUE(close(g.own[v], 1.0)) << v;
				continue;
			}
			auto [at, end] = left.equal_range(u);
			while (at != end && !close(at->second, scale))
				++at;
			ASSERT_NE(at, end) << u << " -> " << v;
			left.erase(at);
		}
	}
}

TEST(Sampler, EdgesBringTheirWeights)
{
	Graph g(300, 20);

	g.weigh();
	for (gnn_sampling how : {GNN_SAMPLE_UNIFORM, GNN_SAMPLE_LABOR})
		for (const std::vector<uint64_t> &fanout : {std::vector<uint64_t>{3, 5}, {1},
			{90, 7}, {GNN_FANOUT_ALL, 4}}) {
			Drawn d(g, GCN, fanout, 3, 2, how);

			for (uint32_t l = 0; l < d.sample.layers; l++)
				ASSERT_NO_FATAL_FAILURE(check_weights(g, d, l,
					fanout[d.sample.layers - 1 - l], how == GNN_SAMPLE_LABOR));
		}
}

TEST(Sampler, WholeListsHaveTheWeightsOfTheWholeGraph)
{
	Graph g(300, 20);
	gnn_block whole{};

	g.weigh();
	Drawn d(g, GCN, {GNN_FANOUT_ALL});
	const gnn_block &b = d.sample.block[0];
	ASSERT_EQ(gnn_block_whole(&whole, &g.lists, &GCN, 2), GNN_OK);
	for (uint64_t i = 0; i < b.dst_count; i++) {
		const uint64_t at = whole.first[d.sample.id[i]];

		ASSERT_EQ(whole.first[d.sample.id[i] + 1] - at, b.first[i + 1] - b.first[i]);
		for (uint64_t e = 0; e < b.first[i + 1] - b.first[i]; e++) {
			ASSERT_EQ(whole.src[at + e], d.sample.id[b.src[b.first[i] + e]]);
			ASSERT_EQ(whole.weight[at + e], b.weight[b.first[i] + e]);
		}
	}
	gnn_block_fini(&whole);
}

TEST(Sampler, WeightsThatHaveNoRootAreRefused)
{
	for (float bad : {-1e4f, NAN, INFINITY}) {
		Graph g(50, 5);

		g.weigh();
		g.weight[0] = bad;
		EXPECT_EQ(gnn_lists_weigh(&g.lists, g.weighted_degree.data(), g.own.data()),
			GNN_EDATA);
		EXPECT_NE(strstr(gnn_err_text(), "vertex 0: the weights"), nullptr);
	}
}

TEST(Sampler, RowsAreDistinctAndNested)
{
	Graph g(600, 20);
	Drawn d(g, GCN, {3, 5, 2});
	std::set<gnn_vid> seen(d.sample.id, d.sample.id + d.sample.id_count);

	EXPECT_EQ(seen.size(), d.sample.id_count);
	EXPECT_EQ(d.sample.block[0].src_count, d.sample.id_count);
	EXPECT_EQ(d.sample.block[2].dst_count, 120u);
	for (uint32_t l = 0; l < 2; l++)
		EXPECT_EQ(d.sample.block[l].dst_count, d.sample.block[l + 1].src_count);
}

/* One hop less: the same ids and blocks as without the last layer, and a block of their count. */
TEST(Sampler, BareBottomHasNoHop)
{
	Graph g(600, 20);
	Drawn bare(g, GCN, {3, 5, 2}, 3, 2, GNN_SAMPLE_UNIFORM, 1, true), two(g, GCN, {3, 5});
	const gnn_block &bottom = bare.sample.block[0];

	ASSERT_EQ(bare.sample.id_count, two.sample.id_count);
	EXPECT_EQ(memcmp(bare.sample.id, two.sample.id, two.sample.id_count * sizeof(gnn_vid)), 0);
	EXPECT_EQ(bare.sample.layers, 3u);
	EXPECT_TRUE(gnn_block_is_bare(&bottom));
	EXPECT_EQ(bottom.dst_count, two.sample.id_count);
	EXPECT_EQ(bottom.src_count, two.sample.id_count);
	for (uint32_t l = 0; l < 2; l++) {
		const gnn_block &a = bare.sample.block[l + 1], &b = two.sample.block[l];

		ASSERT_EQ(a.entry_count, b.entry_count);
		EXPECT_EQ(memcmp(a.src, b.src, b.entry_count * sizeof(*b.src)), 0);
	}
	Drawn none(g, GCN, {4}, 3, 2, GNN_SAMPLE_UNIFORM, 1, true);
	EXPECT_EQ(none.sample.id_count, 120u);
	EXPECT_TRUE(gnn_block_is_bare(&none.sample.block[0]));
}

TEST(Sampler, FactorsAreThoseOfTheRule)
{
	Graph g(600, 20);

	for (const gnn_edge_rule &rule : {GCN, SAGE, GIN}) {
		Drawn d(g, rule, {4});
		const gnn_block &b = d.sample.block[0];

		for (uint64_t i = 0; i < b.dst_count; i++) {
			const gnn_vid v = d.sample.id[i];
			const std::vector<gnn_vid> got = d.entries(0, i);
			const double n = (double)listed(g, rule, v).size();
			const double taken = (double)got.size() - rule.own;
			bool own = rule.own;

			for (uint64_t e = 0; e < got.size(); e++) {
				const gnn_vid u = got[e];
				const double du = (double)listed(g, rule, u).size() + 1;
				double want = 1.0 / taken;

				if (rule.weighting == GNN_WEIGH_GCN)
					want = (u == v ? 1 : n / taken) / std::sqrt(du * (n + 1));
				if (rule.weighting == GNN_WEIGH_SUM)
					want = own && u == v ? 1 : n / taken;
				if (u == v)
					own = false;
				ASSERT_NEAR(b.weight[b.first[i] + e], want, 1e-6 * want);
			}
		}
	}
}

TEST(Sampler, AnyThreadsDrawTheSameAndStepsDiffer)
{
	Graph g(2000, 30);
	Drawn a(g, GCN, {5, 5}, 3, 1), b(g, GCN, {5, 5}, 3, 4), c(g, GCN, {5, 5}, 4, 4);

	ASSERT_EQ(a.sample.id_count, b.sample.id_count);
	EXPECT_EQ(memcmp(a.sample.id, b.sample.id, a.sample.id_count * sizeof(gnn_vid)), 0);
	for (uint32_t l = 0; l < 2; l++) {
		const gnn_block &x = a.sample.block[l], &y = b.sample.block[l];
		ASSERT_EQ(x.entry_count, y.entry_count);
		EXPECT_EQ(memcmp(x.src, y.src, x.entry_count * 4), 0);
		EXPECT_EQ(memcmp(x.weight, y.weight, x.entry_count * 4), 0);
	}
	EXPECT_TRUE(a.sample.id_count != c.sample.id_count ||
		memcmp(a.sample.id, c.sample.id, a.sample.id_count * sizeof(gnn_vid)) != 0);
}

TEST(Sampler, TurnedBlockHoldsTheSameEdges)
{
	Graph g(600, 20);
	Drawn d(g, GCN, {4, 6});
	gnn_block &b = d.sample.block[0];

	ASSERT_EQ(gnn_block_turn(&b, d.backend), 0);
	ASSERT_EQ(b.back_first[b.src_count], b.entry_count);
	for (uint64_t u = 0; u < b.src_count; u++)
		for (uint64_t i = b.back_first[u]; i < b.back_first[u + 1]; i++) {
			const uint64_t e = b.back_entry[i], v = b.back_dst[i];
			ASSERT_EQ(b.src[e], u);
			ASSERT_TRUE(b.first[v] <= e && e < b.first[v + 1]);
			ASSERT_EQ(b.back_weight[i], b.weight[e]);
			ASSERT_TRUE(i == b.back_first[u] || b.back_entry[i - 1] < e);
		}
}

TEST(Sampler, WholeBlockIsWhatAFullFanoutDraws)
{
	Graph g(600, 20);
	gnn_block whole{};

	for (const gnn_edge_rule &rule : {GCN, SAGE, GIN}) {
		Drawn d(g, rule, {GNN_FANOUT_ALL});
		const gnn_block &b = d.sample.block[0];

		ASSERT_EQ(gnn_block_whole(&whole, &g.lists, &rule, 2), 0);
		for (uint64_t i = 0; i < b.dst_count; i++) {
			const gnn_vid v = d.sample.id[i];
			const std::vector<gnn_vid> got = d.entries(0, i);
			ASSERT_EQ(whole.first[v + 1] - whole.first[v], got.size());
			for (uint64_t e = 0; e < got.size(); e++) {
				ASSERT_EQ(whole.src[whole.first[v] + e], got[e]);
				ASSERT_EQ(whole.weight[whole.first[v] + e],
					b.weight[b.first[i] + e]);
			}
		}
	}
	gnn_block_fini(&whole);
}

TEST(Sampler, LaborSharesSourcesAndKeepsTheMeanCount)
{
	Graph g(4000, 40);
	Drawn labor(g, SAGE, {8}, 3, 2, GNN_SAMPLE_LABOR), again(g, SAGE, {8}, 3, 1,
		GNN_SAMPLE_LABOR), uniform(g, SAGE, {8});
	double entries = 0, wanted = 0;

	ASSERT_EQ(labor.sample.id_count, again.sample.id_count);
	for (uint64_t i = 0; i < labor.sample.block[0].dst_count; i++) {
		entries += (double)labor.entries(0, i).size();
		wanted += (double)uniform.entries(0, i).size();
	}
	EXPECT_NEAR(entries, wanted, 0.05 * wanted);
	EXPECT_LT(labor.sample.id_count, uniform.sample.id_count);

	/* Steps 2 and 3 share their numbers, 3 and 4 do not. */
	Drawn two(g, SAGE, {8}, 2, 2, GNN_SAMPLE_LABOR, 2), three(g, SAGE, {8}, 3, 2,
		GNN_SAMPLE_LABOR, 2), four(g, SAGE, {8}, 4, 2, GNN_SAMPLE_LABOR, 2);
	EXPECT_EQ(two.entries(0, 7), three.entries(0, 7));
	EXPECT_NE(two.sample.block[0].entry_count, four.sample.block[0].entry_count);
}

/* How far counts are from even, in standard deviations of chi-square. */
double unevenness(const std::map<uint64_t, uint64_t> &count, double cells, double draws)
{
	const double expected = draws / cells;
	double sum = (cells - (double)count.size()) * expected;

	for (const auto &c : count)
		sum += ((double)c.second - expected) * ((double)c.second - expected) / expected;
	return (sum - (cells - 1)) / std::sqrt(2 * (cells - 1));
}

TEST(Draw, EverySetIsAsLikely)
{
	for (uint32_t n = 3; n <= 8; n++)
		for (uint32_t k = 1; k < n; k++) {
			std::map<uint64_t, uint64_t> count;
			double sets = 1;
			uint64_t at[8];

			for (uint32_t i = 0; i < k; i++)
				sets = sets * (n - i) / (i + 1);
			for (uint64_t t = 0; t < 40000; t++) {
				uint64_t set = 0;
				gnn_draw_distinct(at, k, n,
					gnn_rng_u64(1, gnn_draw_stream(t, k), n));
				for (uint32_t i = 0; i < k; i++)
					set |= UINT64_C(1) << at[i];
				ASSERT_EQ(__builtin_popcountll(set), (int)k);
				count[set]++;
			}
			EXPECT_LT(unevenness(count, sets, 40000), 5) << n << " " << k;
		}
}

TEST(Draw, PairsOfLongListsAreEven)
{
	for (uint64_t n : {64, 65, 128}) {
		std::map<uint64_t, uint64_t> count;
		uint64_t at[10];

		for (uint64_t t = 0; t < 100000; t++) {
			gnn_draw_distinct(at, 10, n, gnn_rng_u64(2, gnn_draw_stream(t, 0), n));
			std::set<uint64_t> distinct(at, at + 10);
			ASSERT_EQ(distinct.size(), 10u);
			ASSERT_LT(*distinct.rbegin(), n);
			count[at[4] * n + at[5]]++;
		}
		EXPECT_LT(unevenness(count, (double)n * (double)(n - 1), 100000), 5) << n;
	}
}

TEST(Draw, HoldsBeyond32Bits)
{
	std::vector<uint64_t> at(1000);

	gnn_draw_distinct(at.data(), at.size(), (UINT64_C(1) << 40) + 3, 5);
	std::set<uint64_t> distinct(at.begin(), at.end());
	EXPECT_EQ(distinct.size(), at.size());
	EXPECT_LT(*distinct.rbegin(), (UINT64_C(1) << 40) + 3);
	EXPECT_GT(*distinct.rbegin(), UINT64_C(1) << 39);
}

} // namespace
