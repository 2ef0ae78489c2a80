// Ranges of vertices for ranks: whole panels, all vertices, weights about equal.
#include "mpi/partition.h"

#include <gtest/gtest.h>

#include <vector>

namespace {

struct Weights {
	std::vector<uint64_t> below; // of each vertex, and of all
};

int weight(void *arg, gnn_vid v, uint64_t *out)
{
	*out = static_cast<Weights *>(arg)->below.at(v);
	return GNN_OK;
}

int refuse(void *, gnn_vid, uint64_t *)
{
	return gnn_err(GNN_EIO, "no weights");
}

Weights make(uint64_t vertices, uint64_t (*of)(uint64_t))
{
	Weights w;

	w.below.push_back(0);
	for (uint64_t v = 0; v < vertices; v++)
		w.below.push_back(w.below.back() + of(v));
	return w;
}

void check(uint64_t vertices, uint32_t ranks, uint32_t panel, uint64_t (*of)(uint64_t))
{
	Weights w = make(vertices, of);
	gnn_partition p;
	uint64_t heaviest_panel = 0;

	ASSERT_EQ(gnn_partition_init(&p, vertices, ranks, panel, weight, &w), GNN_OK);
	for (uint64_t v = 0; v + panel <= vertices; v += panel)
		heaviest_panel = std::max(heaviest_panel, w.below[v + panel] - w.below[v]);
	EXPECT_EQ(p.bound[0], 0u);
	EXPECT_EQ(p.bound[ranks], vertices);
	for (uint32_t r = 0; r < ranks; r++) {
		ASSERT_LE(p.bound[r], p.bound[r + 1]);
		if (r > 0) {
			EXPECT_EQ(p.bound[r] % panel, 0u);
		}
		if (r + 1 < ranks) {
			EXPECT_LE(w.below[p.bound[r + 1]] - w.below[p.bound[r]],
				w.below.back() / ranks + 1 + heaviest_panel);
		}
		for (gnn_vid v = p.bound[r]; v < p.bound[r + 1]; v++)
			ASSERT_EQ(gnn_partition_owner(&p, v), r);
	}
	gnn_partition_fini(&p);
}

TEST(Partition, CoversAllVerticesInPanelsOfAboutEqualWeight)
{
	for (uint64_t vertices : {0u, 1u, 255u, 256u, 1000u, 20000u})
		for (uint32_t ranks : {1u, 2u, 3u, 7u, 64u})
			for (uint32_t panel : {1u, 32u, 256u}) {
				check(vertices, ranks, panel, [](uint64_t) { return UINT64_C(5); });
				check(vertices, ranks, panel, [](uint64_t v) { return v; });
				check(vertices, ranks, panel,
					[](uint64_t v) { return UINT64_C(1000000) / (v + 1); });
			}
}

TEST(Partition, WeightsNearTheEndOfTheRangeDoNotOverflow)
{
	Weights w = make(4, [](uint64_t) { return UINT64_C(1) << 61; });
	gnn_partition p;

	ASSERT_EQ(gnn_partition_init(&p, 4, 4, 1, weight, &w), GNN_OK);
	for (uint32_t r = 0; r <= 4; r++)
		EXPECT_EQ(p.bound[r], r);
	gnn_partition_fini(&p);
}

TEST(Partition, CarriesTheErrorOfTheWeights)
{
	gnn_partition p;

	EXPECT_EQ(gnn_partition_init(&p, 1000, 4, 1, refuse, nullptr), GNN_EIO);
	EXPECT_STREQ(gnn_err_text(), "no weights");
}

} // namespace
