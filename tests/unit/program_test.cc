// Edges of a chunk come out grouped by destination, in source order, own rows at their place.
#include "base/mem.h"
#include "infer/program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <ostream>
#include <random>
#include <vector>

namespace {

struct Degrees {
	struct gnn_degrees d = {};
	std::vector<uint64_t> bits, rank;

	Degrees(uint64_t vertices, const std::vector<uint64_t> &hubs)
	    : bits(vertices / 64 + 1), rank(vertices / 64 + 1)
	{
		for (uint64_t v : hubs)
			bits[v / 64] |= uint64_t{1} << (v % 64);
		for (uint64_t w = 0, sum = 0; w < bits.size(); w++) {
			rank[w] = sum;
			sum += static_cast<uint64_t>(__builtin_popcountll(bits[w]));
		}
		d.vertices = vertices;
		d.hub_bits = bits.data();
		d.hub_rank = rank.data();
		d.hub_count = hubs.size();
	}
};

struct Case {
	uint64_t vertices, rows, first;
	bool own, drop_loops, wide, weighted = false;
};

void PrintTo(const Case &c, std::ostream *to)
{
	*to << c.vertices << " vertices, rows " << c.first << " + " << c.rows
	    << (c.own ? ", own" : "") << (c.drop_loops ? ", loops dropped" : "")
	    << (c.wide ? ", wide" : "") << (c.weighted ? ", weighted" : "");
}

struct ProgramTest : ::testing::TestWithParam<Case> {
};

TEST_P(ProgramTest, EqualsANaiveGrouping)
{
	const Case c = GetParam();
	std::mt19937_64 random(c.vertices * 31 + c.rows);
	const std::vector<uint64_t> hubs = {0, c.vertices / 2, c.vertices - 1};
	Degrees degrees(c.vertices, {hubs.begin(), hubs.begin() + (c.vertices > 2 ? 3 : 1)});
	const uint64_t capacity = c.rows * 40;
	struct gnn_grouper g;
	struct gnn_program p;
	std::map<uint64_t, std::vector<uint32_t>> wanted;
	std::map<uint64_t, std::vector<float>> wanted_weights;
	std::vector<float> own_weights;

	const struct gnn_range all = {0, c.vertices, 0};

	ASSERT_EQ(gnn_grouper_init(&g, &degrees.d, &all, c.rows, capacity, c.drop_loops), GNN_OK);
	ASSERT_EQ(gnn_program_init(&p, capacity, c.vertices), GNN_OK);
	if (c.weighted) {
		for (uint64_t v = 0; v < c.vertices; v++)
			own_weights.push_back(static_cast<float>(v) + 0.25f);
		ASSERT_EQ(gnn_grouper_weigh(&g, own_weights.data()), GNN_OK);
		ASSERT_EQ(gnn_program_weigh(&p, capacity), GNN_OK);
	}
	for (uint64_t r = 0; r < c.rows; r++) {
		const uint64_t v = c.first + r;
		std::vector<float> weights;
		std::vector<uint64_t> list(random() % 30);
		std::vector<uint32_t> narrow;

		for (uint64_t &u : list)
			u = random() % 8 == 0 ? v : random() % c.vertices;
		std::sort(list.begin(), list.end());
		for (uint64_t u : list)
			narrow.push_back(static_cast<uint32_t>(u));
		for (size_t i = 0; c.weighted && i < list.size(); i++)
			weights.push_back(static_cast<float>(random() % 1000));
		if (c.own) {
			gnn_grouper_own(&g, v, static_cast<uint32_t>(r));
			wanted[v].push_back(static_cast<uint32_t>(r) | GNN_OWN_BIT);
			if (c.weighted)
				wanted_weights[v].push_back(own_weights[v]);
		}
		for (size_t i = 0; i < list.size(); i++) {
			if (c.drop_loops && list[i] == v)
				continue;
			wanted[list[i]].push_back(static_cast<uint32_t>(r));
			if (c.weighted)
				wanted_weights[list[i]].push_back(weights[i]);
		}
		const void *from = c.wide ? static_cast<const void *>(list.data()) : narrow.data();
		ASSERT_EQ(gnn_grouper_edges(&g, v, static_cast<uint32_t>(r), from,
				  c.weighted ? weights.data() : nullptr,
				  c.wide ? GNN_U64 : GNN_U32, list.size()),
			GNN_OK);
	}
	gnn_grouper_end(&g, &p);
	ASSERT_EQ(p.batch.group_count, wanted.size());
	uint64_t group = 0;
	for (const auto &[v, list] : wanted) {
		EXPECT_EQ(p.batch.vertex[group], v);
		EXPECT_EQ(p.batch.carry[group], gnn_degrees_carry(&degrees.d, v));
		const std::vector<uint32_t> got(p.batch.src + p.batch.first[group],
			p.batch.src + p.batch.first[group + 1]);
		EXPECT_EQ(got, list) << "destination " << v;
		if (c.weighted) {
			const std::vector<float> weights(
				p.batch.weight + p.batch.first[group],
				p.batch.weight + p.batch.first[group + 1]);
			EXPECT_EQ(weights, wanted_weights[v]) << "destination " << v;
		}
		group++;
	}
	gnn_program_fini(&p);
	gnn_grouper_fini(&g);
}

INSTANTIATE_TEST_SUITE_P(Shapes, ProgramTest,
	::testing::Values(Case{1, 1, 0, true, true, false}, Case{2, 2, 0, true, false, false},
		Case{300, 256, 0, true, true, false}, Case{300, 256, 0, true, true, false, true},
		Case{300, 256, 0, false, false, true, true}, Case{2, 2, 0, true, true, true, true},
		Case{70000, 512, 512, true, true, false, true},
		Case{300, 44, 256, true, false, true},
		Case{5000, 256, 1024, false, true, false},
		Case{uint64_t{1} << 31, 256, uint64_t{1} << 30, true, true, false},
		Case{uint64_t{1} << 32, 256, 512, true, true, true}));

// Many entries, hubs and few destinations among them, sorted by several threads.
/* Lists of both ways of a random graph with loops and edges that are listed twice. */
struct Lists {
	std::vector<std::vector<uint64_t>> out;
	std::vector<uint64_t> offset = {0};
	std::vector<uint32_t> in, loops;

	explicit Lists(uint64_t vertices) : out(vertices), loops(vertices)
	{
		std::mt19937_64 random(7);
		std::vector<std::vector<uint32_t>> sources(vertices);

		for (uint64_t v = 0; v < vertices; v++) {
			out[v].resize(random() % 30);
			for (uint64_t &u : out[v])
				u = random() % 8 == 0 ? v : random() % vertices;
			std::sort(out[v].begin(), out[v].end());
			for (uint64_t u : out[v]) {
				sources[u].push_back(static_cast<uint32_t>(v));
				loops[v] += u == v;
			}
		}
		for (const auto &list : sources) {
			in.insert(in.end(), list.begin(), list.end());
			offset.push_back(in.size());
		}
	}
	/* The first source past `last` of a message to v. */
	uint32_t next_of(uint64_t v, uint64_t last, bool drop) const
	{
		for (uint64_t i = offset[v]; i < offset[v + 1]; i++)
			if (in[i] > last && !(drop && in[i] == v))
				return in[i];
		return GNN_INLISTS_END;
	}
};

TEST(Program, SaysWhatEachDestinationWaitsFor)
{
	const uint64_t vertices = 6000, rows = 1500, capacity = rows * 31;
	const struct gnn_range all = {0, vertices, 0};
	Degrees degrees(vertices, {1, 5});
	Lists lists(vertices);
	struct gnn_inlists in = {};

	in.offset = lists.offset.data();
	in.narrow = lists.in.data();

	for (uint32_t lanes : {1, 3})
		for (bool drop : {false, true}) {
			std::vector<uint32_t> received(vertices);
			const struct gnn_inlists_cursor cursor = {
				&in, drop ? lists.loops.data() : nullptr, received.data()};
			struct gnn_grouper g;
			struct gnn_program p;

			ASSERT_EQ(gnn_grouper_init(&g, &degrees.d, &all, rows, capacity, drop),
				GNN_OK);
			ASSERT_EQ(gnn_grouper_share(&g, lanes), GNN_OK);
			ASSERT_EQ(gnn_program_init(&p, capacity, vertices), GNN_OK);
			g.cursor = &cursor;
			for (uint64_t v = 0; v < vertices; v++) {
				const std::vector<uint64_t> &list = lists.out[v];
				const uint64_t last = v / rows * rows + rows - 1;

				gnn_grouper_own(&g, v, static_cast<uint32_t>(v % rows));
				ASSERT_EQ(gnn_grouper_edges(&g, v, static_cast<uint32_t>(v % rows),
					list.data(), nullptr, GNN_U64, list.size()), GNN_OK);
				if (v != last)
					continue;
				gnn_grouper_end(&g, &p);
				ASSERT_GE(p.batch.group_count, rows);
				for (uint64_t k = 0; k < p.batch.group_count; k++) {
					const uint64_t u = p.vertex[k];

					ASSERT_EQ(p.next[k], lists.next_of(u, last, drop))
						<< "vertex " << u << " behind row " << last;
				}
			}
			gnn_program_fini(&p);
			gnn_grouper_fini(&g);
		}
}

TEST(Program, LanesChangeNothing)
{
	for (uint64_t vertices : {uint64_t{3}, uint64_t{5000}, uint64_t{1} << 23}) {
		const uint64_t rows = 2048, degree = 60, capacity = rows * degree;
		Degrees degrees(vertices, {1});
		const struct gnn_range all = {0, vertices, 0};
		struct gnn_program want;

		for (uint32_t lanes : {1u, 2u, 3u, 7u}) {
			std::mt19937_64 random(vertices);
			struct gnn_grouper g;
			struct gnn_program p;

			ASSERT_EQ(gnn_grouper_init(&g, &degrees.d, &all, rows, capacity, false),
				GNN_OK);
			ASSERT_EQ(gnn_grouper_share(&g, lanes), GNN_OK);
			ASSERT_EQ(gnn_grouper_weigh(&g, nullptr), GNN_OK);
			ASSERT_EQ(gnn_program_init(&p, capacity, vertices), GNN_OK);
			ASSERT_EQ(gnn_program_weigh(&p, capacity), GNN_OK);
			for (uint32_t r = 0; r < rows; r++) {
				std::vector<uint32_t> list(degree);
				std::vector<float> weights(degree);
				for (uint64_t i = 0; i < degree; i++) {
					list[i] = uint32_t(random() % 3 == 0 ? 1 :
						random() % vertices);
					weights[i] = float(random() % 4096);
				}
				ASSERT_EQ(gnn_grouper_edges(&g, r, r, list.data(), weights.data(),
						  GNN_U32, degree),
					GNN_OK);
			}
			gnn_grouper_end(&g, &p);
			gnn_grouper_fini(&g);
			if (lanes == 1) {
				want = p;
				continue;
			}
			const uint64_t groups = want.batch.group_count;
			ASSERT_EQ(p.batch.group_count, groups);
			EXPECT_EQ(memcmp(p.vertex, want.vertex, groups * 8), 0);
			EXPECT_EQ(memcmp(p.carry, want.carry, groups * 8), 0);
			EXPECT_EQ(memcmp(p.first, want.first, (groups + 1) * 8), 0);
			EXPECT_EQ(memcmp(p.src, want.src, capacity * 4), 0);
			EXPECT_EQ(memcmp(p.weight, want.weight, capacity * 4), 0);
			gnn_program_fini(&p);
		}
		gnn_program_fini(&want);
	}
}

TEST(Program, ANeighbourOutsideTheGraphIsRefused)
{
	Degrees degrees(10, {});
	struct gnn_grouper g;
	const uint32_t inside[] = {9}, outside[] = {3, 10};

	const struct gnn_range all = {0, 10, 0};

	ASSERT_EQ(gnn_grouper_init(&g, &degrees.d, &all, 256, 100, false), GNN_OK);
	EXPECT_EQ(gnn_grouper_edges(&g, 0, 0, inside, nullptr, GNN_U32, 1), GNN_OK);
	EXPECT_EQ(gnn_grouper_edges(&g, 0, 0, outside, nullptr, GNN_U32, 2), GNN_EDATA);
	EXPECT_NE(std::string(gnn_err_text()).find("neighbour 10"), std::string::npos);
	gnn_grouper_fini(&g);
}

TEST(Program, CarryRowsAreRanksOfHubs)
{
	Degrees degrees(200, {3, 63, 64, 199});
	EXPECT_EQ(gnn_degrees_carry(&degrees.d, 3), 0u);
	EXPECT_EQ(gnn_degrees_carry(&degrees.d, 63), 1u);
	EXPECT_EQ(gnn_degrees_carry(&degrees.d, 64), 2u);
	EXPECT_EQ(gnn_degrees_carry(&degrees.d, 199), 3u);
	EXPECT_EQ(gnn_degrees_carry(&degrees.d, 65), GNN_NO_CARRY);
}

} // namespace
