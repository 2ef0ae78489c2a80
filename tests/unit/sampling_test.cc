// Thresholds against sorting; the same edges from either end, for any thread count and store order.
#include "base/mem.h"
#include "infer/pick.h"
#include "infer/program.h"
#include "infer/sampling.h"
#include "unit/store_fixture.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <tuple>

namespace {

TEST(Pick, EqualsSorting)
{
	std::mt19937_64 random(1);
	struct gnn_draw s = {};

	s.fanout = 1;
	s.id_bits = 32;
	s.key = 77;
	for (uint64_t count : {1u, 2u, 3u, 10u, 600u, 5000u})
		for (uint64_t k : {1u, 2u, 7u, 500u, 4999u}) {
			std::vector<uint32_t> list(count);
			std::vector<uint64_t> hashes;
			struct gnn_pick p;

			if (k >= count)
				continue;
			for (uint32_t &u : list)
				u = static_cast<uint32_t>(random() % 700);
			std::sort(list.begin(), list.end());
			for (uint64_t i = 0, copy = 0; i < count; i++) {
				copy = i > 0 && list[i] == list[i - 1] ? copy + 1 : 0;
				hashes.push_back(gnn_draw_hash(
					gnn_draw_source(&s, list[i], copy),
					gnn_draw_target(&s, 5)));
			}
			std::sort(hashes.begin(), hashes.end());
			ASSERT_EQ(gnn_pick_init(&p, k), GNN_OK);
			for (int round = 0; round < 2; round++) {
				struct gnn_inlist_part part = {};
				const uint64_t cut = round * count / 3;

				part.neighbors = list.data();
				part.dtype = GNN_U32;
				gnn_pick_begin(&p, k);
				EXPECT_EQ(gnn_pick_edges(&p, &s, 700, 5, &part, 0, cut),
					GNN_PICK_FINE);
				EXPECT_EQ(gnn_pick_edges(&p, &s, 700, 5, &part, cut, count - cut),
					GNN_PICK_FINE);
				EXPECT_EQ(gnn_pick_end(&p), hashes[k - 1]) << count << " " << k;
			}
			gnn_pick_fini(&p);
		}
}

TEST(Pick, ANeighbourOutsideTheGraphIsSeen)
{
	const uint32_t list[] = {1, 2, 10};
	struct gnn_inlist_part part = {};
	struct gnn_draw s = {};
	struct gnn_pick p;

	part.neighbors = list;
	part.dtype = GNN_U32;
	s.id_bits = 32;
	ASSERT_EQ(gnn_pick_init(&p, 1), GNN_OK);
	gnn_pick_begin(&p, 1);
	EXPECT_EQ(gnn_pick_edges(&p, &s, 11, 4, &part, 0, 3), GNN_PICK_FINE);
	EXPECT_EQ(gnn_pick_edges(&p, &s, 10, 4, &part, 0, 3), 4u);
	gnn_pick_fini(&p);
}

using Edge = std::tuple<uint64_t, uint64_t>; // from, to, by ids of the import

struct SamplingTest : StoreFixture {
	enum : uint64_t { V = 500, E = 9000 };
	std::vector<Edge> edges;
	struct gnn_backend *backend = nullptr;

	void SetUp() override
	{
		const struct gnn_backend_opts o = {2, 0, nullptr, 0, 0};
		std::mt19937_64 random(3);

		StoreFixture::SetUp();
		ASSERT_EQ(gnn_backend_create(&backend, "cpu", &o), GNN_OK);
		for (uint64_t e = 0; e < E; e++) {
			const uint64_t from = random() % 9 == 0 ? 11 : random() % V;
			const uint64_t to = random() % 5 == 0 ? 3 : random() % 7 == 0 ? from :
				random() % V;

			edges.emplace_back(from, to);
		}
	}
	void TearDown() override
	{
		gnn_backend_destroy(backend);
		StoreFixture::TearDown();
	}
	// One direction of the topology, rows in the order of `row`; neighbours ascending.
	void add_direction(bool out, const std::vector<uint64_t> &row)
	{
		std::vector<std::vector<uint32_t>> list(V);
		std::vector<uint64_t> offsets = {0};
		std::vector<uint32_t> all;

		for (const auto &[from, to] : edges)
			list[row[out ? from : to]].push_back(
				static_cast<uint32_t>(row[out ? to : from]));
		for (auto &l : list) {
			std::sort(l.begin(), l.end());
			all.insert(all.end(), l.begin(), l.end());
			offsets.push_back(all.size());
		}
		add(array_of<uint64_t>(out ? GNN_STORE_OUT_OFFSETS : GNN_STORE_IN_OFFSETS, GNN_U64,
			offsets));
		add(array_of<uint32_t>(out ? GNN_STORE_OUT_NEIGHBORS : GNN_STORE_IN_NEIGHBORS,
			GNN_U32, all));
	}
	// The same graph with vertex v at row[v].
	void store_in_order(const std::vector<uint64_t> &row)
	{
		std::vector<uint64_t> original(V);
		std::vector<uint32_t> loops(V);

		arrays.clear();
		for (uint64_t v = 0; v < V; v++)
			original[row[v]] = v;
		for (const auto &[from, to] : edges)
			loops[row[to]] += from == to;
		add_direction(true, row);
		add_direction(false, row);
		add(array_of<uint32_t>(GNN_STORE_SELF_LOOPS, GNN_U32, loops));
		add(array_of<uint64_t>(GNN_STORE_ORIGINAL_ID, GNN_U64, original));
		attrs = {{GNN_ATTR_VERTICES, nullptr, V, nullptr},
			{GNN_ATTR_EDGES, nullptr, E, nullptr}};
		write_store();
		ASSERT_EQ(open_store(), GNN_OK) << gnn_err_text();
	}
	std::vector<Edge> drawn(uint64_t fanout, uint32_t threads, bool drop_loops);
	// The edges of all chunks that the grouper takes under a rule.
	std::vector<Edge> grouped(const struct gnn_degrees &d, const struct gnn_draw &s,
		bool drop_loops);
};

std::vector<Edge> SamplingTest::grouped(const struct gnn_degrees &d, const struct gnn_draw &s,
	bool drop_loops)
{
	const auto *offsets = reinterpret_cast<const uint64_t *>(
		arrays[GNN_STORE_OUT_OFFSETS].data.data());
	const auto *neighbors = reinterpret_cast<const uint32_t *>(
		arrays[GNN_STORE_OUT_NEIGHBORS].data.data());
	std::vector<Edge> out;
	struct gnn_grouper g;
	struct gnn_program p;

	const struct gnn_range all = {0, V, 0};

	EXPECT_EQ(gnn_grouper_init(&g, &d, &all, V, E, drop_loops), GNN_OK);
	EXPECT_EQ(gnn_program_init(&p, E, V), GNN_OK);
	if (s.fanout != 0)
		gnn_grouper_sample(&g, &s, false);
	for (uint64_t v = 0; v < V; v++) {
		const uint64_t count = offsets[v + 1] - offsets[v], half = count / 2;

		// In two calls: copies are numbered through.
		EXPECT_EQ(gnn_grouper_edges(&g, v, static_cast<uint32_t>(v),
				  neighbors + offsets[v], nullptr, GNN_U32, half),
			GNN_OK);
		EXPECT_EQ(gnn_grouper_edges(&g, v, static_cast<uint32_t>(v),
				  neighbors + offsets[v] + half, nullptr, GNN_U32, count - half),
			GNN_OK);
	}
	gnn_grouper_end(&g, &p);
	for (uint64_t k = 0; k < p.batch.group_count; k++)
		for (uint64_t i = p.batch.first[k]; i < p.batch.first[k + 1]; i++) {
			const uint64_t u = p.batch.src[i], v = p.batch.vertex[k];

			out.emplace_back(s.original != nullptr ? s.original[u] : u,
				s.original != nullptr ? s.original[v] : v);
		}
	gnn_program_fini(&p);
	gnn_grouper_fini(&g);
	std::sort(out.begin(), out.end());
	return out;
}

std::vector<Edge> SamplingTest::drawn(uint64_t fanout, uint32_t threads, bool drop_loops)
{
	struct gnn_sampling *sampling = nullptr;
	struct gnn_degrees *d = nullptr;
	struct gnn_conv conv = {};
	uint64_t read_bytes = 0;
	const uint64_t fanouts[] = {0, fanout};

	EXPECT_EQ(gnn_degrees_load(&d, store, true), GNN_OK);
	EXPECT_EQ(gnn_degrees_mirror(d, backend), GNN_OK);
	const struct gnn_sampling_opts o = {store, nullptr, d, fanouts, 2, backend, 42, threads,
		true};
	EXPECT_EQ(gnn_sampling_create(&sampling, &o), GNN_OK) << gnn_err_text();
	conv.drop_loops = drop_loops;
	EXPECT_EQ(gnn_sampling_begin(sampling, 0, &conv, &read_bytes), GNN_OK);
	EXPECT_EQ(gnn_sampling_here(sampling).fanout, 0u);
	EXPECT_EQ(read_bytes, 0u);
	conv.fanout = fanout;
	EXPECT_EQ(gnn_sampling_begin(sampling, 1, &conv, &read_bytes), GNN_OK) << gnn_err_text();
	auto edges_drawn = grouped(*d, gnn_sampling_here(sampling), drop_loops);
	EXPECT_EQ(edges_drawn.size(), gnn_sampling_messages(d, &conv));
	gnn_sampling_destroy(sampling);
	gnn_degrees_free(d);
	return edges_drawn;
}

TEST_F(SamplingTest, TheSameEdgesInAnyOrderOfTheStore)
{
	std::vector<uint64_t> row(V);
	std::map<std::tuple<uint64_t, bool>, std::vector<Edge>> first;

	std::iota(row.begin(), row.end(), 0);
	for (int round = 0; round < 3; round++) {
		store_in_order(row);
		for (bool drop_loops : {false, true})
			for (uint64_t fanout : {1u, 5u, 30u}) {
				const std::vector<Edge> got =
					drawn(fanout, 1 + static_cast<uint32_t>(round), drop_loops);
				std::vector<Edge> &want = first[{fanout, drop_loops}];

				if (round == 0)
					want = got;
				EXPECT_EQ(got, want) << round << " fanout " << fanout;
			}
		std::shuffle(row.begin(), row.end(), std::mt19937_64(round));
	}
}

TEST_F(SamplingTest, AFanoutThatNoVertexReachesSamplesNothing)
{
	std::vector<uint64_t> row(V);
	struct gnn_sampling *sampling = nullptr;
	struct gnn_degrees *d = nullptr;
	const uint64_t fanouts[] = {E, 0};

	std::iota(row.begin(), row.end(), 0);
	store_in_order(row);
	ASSERT_EQ(gnn_degrees_load(&d, store, true), GNN_OK);
	const struct gnn_sampling_opts o = {store, nullptr, d, fanouts, 2, backend, 42, 2, true};
	EXPECT_EQ(gnn_sampling_create(&sampling, &o), GNN_OK);
	EXPECT_EQ(sampling, nullptr);
	gnn_degrees_free(d);
}

TEST_F(SamplingTest, ADamagedInListIsRefused)
{
	std::vector<uint64_t> row(V);
	struct gnn_sampling *sampling = nullptr;
	struct gnn_degrees *d = nullptr;
	struct gnn_conv conv = {};
	uint64_t read_bytes = 0;
	const uint64_t fanouts[] = {2, 0};

	std::iota(row.begin(), row.end(), 0);
	store_in_order(row);
	poke<uint32_t>(GNN_STORE_IN_NEIGHBORS, 100, V);
	write_store();
	ASSERT_EQ(open_store(), GNN_OK);
	ASSERT_EQ(gnn_degrees_load(&d, store, true), GNN_OK);
	const struct gnn_sampling_opts o = {store, nullptr, d, fanouts, 1, backend, 42, 2, true};
	ASSERT_EQ(gnn_sampling_create(&sampling, &o), GNN_OK);
	conv.fanout = 2;
	EXPECT_EQ(gnn_sampling_begin(sampling, 0, &conv, &read_bytes), GNN_EDATA);
	EXPECT_NE(std::string(gnn_err_text()).find("outside the graph"), std::string::npos);
	gnn_sampling_destroy(sampling);
	gnn_degrees_free(d);
}

} // namespace
