/* Orders measured and moved on the GPU against the CPU: equal bits of places and figures. */
#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "op/backend.h"

namespace {

struct Lists {
	std::vector<uint64_t> offsets;
	std::vector<uint32_t> neighbors;

	Lists(uint64_t vertices, std::vector<std::pair<uint32_t, uint32_t>> edges)
	{
		std::sort(edges.begin(), edges.end());
		offsets.assign(vertices + 1, 0);
		for (auto [from, to] : edges) {
			offsets[from + 1]++;
			neighbors.push_back(to);
		}
		std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
	}
	uint64_t longest() const
	{
		uint64_t most = 0;

		for (size_t v = 0; v + 1 < offsets.size(); v++)
			most = std::max(most, offsets[v + 1] - offsets[v]);
		return most;
	}
};

struct Graph {
	uint64_t vertices;
	Lists    list[GNN_DIRECTIONS];

	static std::vector<std::pair<uint32_t, uint32_t>> turned(
		std::vector<std::pair<uint32_t, uint32_t>> edges)
	{
		for (auto &e : edges)
			std::swap(e.first, e.second);
		return edges;
	}
	Graph(uint64_t v, const std::vector<std::pair<uint32_t, uint32_t>> &edges)
		: vertices(v), list{Lists(v, edges), Lists(v, turned(edges))}
	{
	}
};

/* Hubs of both directions among random edges, loops and duplicates; `hub` edges of vertex 3. */
Graph random_graph(uint64_t vertices, uint64_t edges, uint64_t hub, uint32_t seed)
{
	std::mt19937 random(seed);
	std::vector<std::pair<uint32_t, uint32_t>> e;

	for (uint64_t i = 0; i < edges; i++)
		e.emplace_back(random() % vertices, random() % vertices);
	for (uint64_t i = 0; i < hub; i++) {
		e.emplace_back(3, random() % vertices);
		e.emplace_back(random() % vertices, 3);
	}
	return Graph(vertices, e);
}

struct CudaOrder : ::testing::Test {
	gnn_backend *b[2] = {nullptr, nullptr}; /* cpu, cuda */

	void open(uint64_t device_bytes)
	{
		gnn_backend_opts o{};

		gnn_backend_destroy(b[1]);
		o.threads = 3;
		o.memory_bytes = device_bytes;
		if (gnn_backend_create(&b[1], "cuda", &o) == GNN_EUNAVAIL)
			GTEST_SKIP() << gnn_err_text();
		ASSERT_NE(b[1], nullptr) << gnn_err_text();
	}
	void SetUp() override
	{
		gnn_backend_opts o{};

		o.threads = 3;
		ASSERT_EQ(gnn_backend_create(&b[0], "cpu", &o), GNN_OK);
		open(0);
	}
	void TearDown() override
	{
		gnn_backend_destroy(b[0]);
		gnn_backend_destroy(b[1]);
	}
	/* A pass in parts of at most so many vertices. */
	void pass(gnn_places *r, const Graph &g, gnn_direction d, uint64_t part,
		int (*take)(gnn_places *, const gnn_place_lists *))
	{
		gnn_place_lists all{};

		all.end = g.vertices;
		if (r->holds[d]) {
			ASSERT_EQ(take(r, &all), GNN_OK) << gnn_err_text();
			return;
		}
		for (uint64_t first = 0; first < g.vertices; first += part) {
			const uint64_t begin = g.list[d].offsets[first];
			/* The part is gone when the call returns. */
			std::vector<uint32_t> lent(g.list[d].neighbors.begin() + begin,
				g.list[d].neighbors.begin() +
				g.list[d].offsets[std::min(first + part, g.vertices)]);

			lent.push_back(0);
			all.first = first;
			all.end = std::min(first + part, g.vertices);
			all.offsets = g.list[d].offsets.data();
			all.narrow = lent.data();
			ASSERT_EQ(take(r, &all), GNN_OK) << gnn_err_text();
			std::fill(lent.begin(), lent.end(), 0);
		}
	}
	void measure(gnn_places *r, const Graph &g, uint64_t part, gnn_spread *out)
	{
		ASSERT_EQ(r->ops->begin(r), GNN_OK);
		pass(r, g, GNN_IN, part, r->ops->spread);
		ASSERT_EQ(r->ops->end(r, out), GNN_OK) << gnn_err_text();
	}
	void expect_same(const gnn_spread &x, const gnn_spread &y)
	{
		ASSERT_EQ(x.span, y.span);
		ASSERT_EQ(x.bandwidth, y.bandwidth);
		ASSERT_EQ(x.peak_active, y.peak_active);
		ASSERT_EQ(std::memcmp(&x.dispersion, &y.dispersion, 8), 0)
			<< x.dispersion << " " << y.dispersion;
		ASSERT_EQ(x.mean_active, y.mean_active);
	}
	/* Ranks in random order moved so many times on both backends. */
	void twins(const Graph &g, uint64_t part, int iterations, bool *reads = nullptr)
	{
		gnn_places *r[2] = {nullptr, nullptr};
		std::vector<uint64_t> rank[2], got[2];
		gnn_spread spread[2];
		gnn_places_opts o{};
		bool changed[2] = {true, true};

		o.vertices = g.vertices;
		o.edges = g.list[0].neighbors.size();
		o.longest = std::max(g.list[0].longest(), g.list[1].longest());
		o.moves = iterations > 0;
		rank[0].resize(g.vertices);
		std::iota(rank[0].begin(), rank[0].end(), 0);
		std::shuffle(rank[0].begin(), rank[0].end(), std::mt19937(5));
		rank[1] = rank[0];
		for (int i = 0; i < 2; i++) {
			got[i].resize(g.vertices);
			ASSERT_EQ(b[i]->ops->places->create(&r[i], b[i], &o), GNN_OK)
				<< gnn_err_text();
			ASSERT_EQ(r[i]->ops->put(r[i], rank[i].data()), GNN_OK);
			measure(r[i], g, i == 0 ? g.vertices : part, &spread[i]);
		}
		expect_same(spread[0], spread[1]);
		for (int k = 0; k < iterations && !HasFatalFailure(); k++) {
			for (int i = 0; i < 2; i++) {
				const gnn_place_ops *ops = r[i]->ops;

				if (k == 0) {
					ASSERT_EQ(ops->prepare(r[i]), GNN_OK);
					measure(r[i], g, part, &spread[i]);
				}
				pass(r[i], g, GNN_OUT, part, ops->pull);
				ASSERT_EQ(ops->sort(r[i], &changed[i]), GNN_OK) << gnn_err_text();
				measure(r[i], g, part, &spread[i]);
				ASSERT_EQ(ops->keep(r[i]), GNN_OK);
				ASSERT_EQ(ops->get(r[i], got[i].data()), GNN_OK) << gnn_err_text();
			}
			ASSERT_EQ(got[0], got[1]) << "iteration " << k;
			ASSERT_EQ(changed[0], changed[1]);
			expect_same(spread[0], spread[1]);
		}
		if (reads != nullptr)
			*reads = r[1]->reads;
		for (gnn_places *places : r)
			places->ops->destroy(places);
	}
};

TEST_F(CudaOrder, OrdersAreThoseOfTheCpu)
{
	for (uint64_t v : {1, 2, 33, 3000, 70000})
		for (uint64_t part : {v, v / 3 + 1}) {
			SCOPED_TRACE(testing::Message() << v << " vertices, parts of " << part);
			ASSERT_NO_FATAL_FAILURE(twins(random_graph(v, 5 * v, 0, 1), part, 4));
			ASSERT_NO_FATAL_FAILURE(twins(Graph(v, {}), part, 2));
			ASSERT_NO_FATAL_FAILURE(twins(random_graph(v, 3 * v, 0, 2), part, 0));
		}
}

/* Lists that many lanes share unevenly; more lists than a grid has groups. */
TEST_F(CudaOrder, HubsAndManyLists)
{
	ASSERT_NO_FATAL_FAILURE(twins(random_graph(5000, 9000, 40001, 3), 5000, 5));
	ASSERT_NO_FATAL_FAILURE(twins(random_graph(1 << 20, 4 << 20, 300007, 4), 1 << 20, 3));
}

/* Lists that the device cannot hold come in slices: the same bits. */
TEST_F(CudaOrder, ListsLargerThanTheDevice)
{
	const Graph g = random_graph(20000, 2000000, 1000, 6);
	bool reads = false;

	open(UINT64_C(42) << 20); /* of which 32 MiB are for BLAS */
	ASSERT_NO_FATAL_FAILURE(twins(g, 20000, 3, &reads));
	ASSERT_TRUE(reads);
	ASSERT_NO_FATAL_FAILURE(twins(g, 777, 3, &reads));
	ASSERT_TRUE(reads);
	open(0);
	ASSERT_NO_FATAL_FAILURE(twins(g, 777, 3, &reads));
	ASSERT_FALSE(reads);
}

/* What has no room is refused before any work, with what it takes. */
TEST_F(CudaOrder, TooManyVertices)
{
	gnn_places_opts o{};

	o.vertices = UINT64_C(1) << 22;
	o.moves = true;
	open(UINT64_C(64) << 20);
	EXPECT_EQ(b[1]->ops->places->fits(b[1], &o), GNN_EOS);
	EXPECT_NE(std::strstr(gnn_err_text(), "4194304 vertices"), nullptr) << gnn_err_text();
	o.vertices = UINT64_C(1) << 33;
	EXPECT_EQ(b[1]->ops->places->fits(b[1], &o), GNN_EOS);
	EXPECT_NE(std::strstr(gnn_err_text(), "2^32"), nullptr) << gnn_err_text();
}

} // namespace
