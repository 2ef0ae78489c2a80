// In-lists in the order in which messages come: of one rank, and of several; see tier/inlists.h.
#include "base/mem.h"
#include "tier/inlists.h"
#include "unit/store_fixture.h"

#include <algorithm>
#include <random>
#include <tuple>

namespace {

constexpr uint64_t vertices = 40;
constexpr uint32_t height = 4; // of a panel

struct InLists : StoreFixture {
	std::vector<std::vector<uint32_t>> in{vertices};
	const std::vector<gnn_vid> bound{0, 8, 8, 24, 40};
	struct gnn_inlists lists = {};
	size_t swapped = 0; // an offset with the first, that makes a list end before it begins

	void SetUp() override
	{
		std::mt19937_64 random(3);

		StoreFixture::SetUp();
		for (int e = 0; e < 400; e++)
			in[random() % 30].push_back(static_cast<uint32_t>(random() % vertices));
		for (auto &list : in)
			std::sort(list.begin(), list.end());
		save();
	}

	void TearDown() override
	{
		gnn_inlists_fini(&lists);
		StoreFixture::TearDown();
	}

	void save()
	{
		std::vector<std::vector<uint32_t>> out(vertices);

		for (uint32_t v = 0; v < vertices; v++)
			for (uint32_t u : in[v])
				out[u].push_back(v);
		arrays.clear();
		add_lists(GNN_STORE_OUT_OFFSETS, GNN_STORE_OUT_NEIGHBORS, out);
		add_lists(GNN_STORE_IN_OFFSETS, GNN_STORE_IN_NEIGHBORS, in);
		attrs = {{GNN_ATTR_VERTICES, nullptr, vertices, nullptr},
			{GNN_ATTR_EDGES, nullptr, 400, nullptr}};
		write_store();
		ASSERT_EQ(open_store(), GNN_OK) << gnn_err_text();
	}

	void add_lists(const char *offsets, const char *neighbors,
		const std::vector<std::vector<uint32_t>> &of)
	{
		std::vector<uint64_t> offset{0};
		std::vector<uint32_t> all;

		for (const auto &list : of) {
			all.insert(all.end(), list.begin(), list.end());
			offset.push_back(all.size());
		}
		std::swap(offset[swapped], offset[0]);
		add(array_of<uint64_t>(offsets, GNN_U64, offset));
		add(array_of<uint32_t>(neighbors, GNN_U32, all));
	}

	int draw(const struct gnn_store *s, bool drop_loops)
	{
		const struct gnn_inlists_order order = {bound.data(), 4, height};
		struct gnn_inlists_draw o = {};

		o.store = s;
		o.drop_loops = drop_loops;
		o.order = &order;
		return gnn_inlists_draw(&lists, &o);
	}

	/* Rows within their ranks of the sources of v, by (panel, rank, row). */
	std::vector<uint32_t> wanted(gnn_vid v, bool drop_loops)
	{
		std::vector<std::tuple<uint64_t, uint32_t, uint64_t>> all;
		std::vector<uint32_t> rows;

		for (uint32_t u : in[v])
			for (uint32_t q = 0; q < 4; q++)
				if (u >= bound[q] && u < bound[q + 1] && (u != v || !drop_loops))
					all.emplace_back((u - bound[q]) / height, q, u - bound[q]);
		std::sort(all.begin(), all.end());
		for (const auto &[panel, q, row] : all)
			rows.push_back(static_cast<uint32_t>(row));
		return rows;
	}
};

TEST_F(InLists, OfRanksAreSortedAsMessagesCome)
{
	for (uint32_t q = 0; q < 4; q++) {
		struct gnn_store view;

		ASSERT_EQ(gnn_store_view(&view, store, bound[q], bound[q + 1] - bound[q]), GNN_OK);
		ASSERT_EQ(gnn_inlists_load(&lists, &view), GNN_OK) << gnn_err_text();
		for (bool drop : {false, true, true, false}) {
			ASSERT_EQ(draw(&view, drop), GNN_OK) << gnn_err_text();
			for (gnn_vid v = 0; v < view.vertices; v++) {
				const auto want = wanted(bound[q] + v, drop);

				ASSERT_EQ(lists.offset[v + 1] - lists.offset[v], want.size());
				for (uint64_t i = 0; i < want.size(); i++)
					ASSERT_EQ(gnn_inlists_next(&lists, v, i, 7), want[i]);
			}
		}
		EXPECT_EQ(lists.read_bytes, 3 * gnn_inlists_bytes(&view)); // at first, and twice
		gnn_inlists_fini(&lists);
	}
}

TEST_F(InLists, ThatDoNotAscendAreRefused)
{
	std::reverse(in[3].begin(), in[3].end());
	save();
	ASSERT_EQ(gnn_inlists_load(&lists, store), GNN_OK) << gnn_err_text();
	EXPECT_EQ(draw(store, false), GNN_EDATA);
	EXPECT_NE(std::string(gnn_err_text()).find("vertex 3"), std::string::npos);
}

TEST_F(InLists, ThatEndBeforeTheyBeginAreRefused)
{
	swapped = 5;
	save();
	EXPECT_EQ(gnn_inlists_load(&lists, store), GNN_EDATA);
	EXPECT_NE(std::string(gnn_err_text()).find("vertex 0 ends before it begins"),
		std::string::npos) << gnn_err_text();
}

} // namespace
