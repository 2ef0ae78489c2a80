// Moments of blocks and merges on the CPU: against double precision, the same bits for any split
// at block borders and any number of threads.
#include "unit/op_test.h"

#include <cmath>

namespace {

const uint64_t row_counts[] = {1, 255, 256, 257, 1000};

gnn_moments whole(Backend &b, const Floats &x, uint64_t rows, uint32_t width, uint64_t at_once)
{
	gnn_moments all = {0, 0, 0};

	for (uint64_t first = 0; first < rows; first += at_once) {
		const uint64_t n = std::min(at_once, rows - first);
		std::vector<gnn_moments> part((n + GNN_MOMENT_ROWS - 1) / GNN_MOMENT_ROWS);
		const gnn_moments_args a = {x.data() + first * width, width, n, width,
			part.data()};
		EXPECT_EQ(b.b->ops->moments(b.b, &a), GNN_OK);
		for (const gnn_moments &m : part)
			gnn_moments_join(&all, &m);
	}
	return all;
}

TEST(OpWhole, MomentsAgainstDoublePrecisionAndInPieces)
{
	Backend one(1), many(3);

	for (const uint64_t rows : row_counts)
		for (const uint32_t width : {1u, 7u, 32u, 33u}) {
			Floats x = random_floats(rows * width, 1);
			double mean = 0, spread = 0;
			for (float &v : x) {
				v += 1000; // digits would cancel in a sum of squares
				mean += double(v) / double(x.size());
			}
			for (const float v : x)
				spread += (double(v) - mean) * (double(v) - mean);
			const gnn_moments got = whole(one, x, rows, width, rows);
			EXPECT_EQ(got.count, double(x.size()));
			EXPECT_NEAR(got.mean, mean, 1e-10 * mean);
			EXPECT_NEAR(got.spread, spread, 1e-9 * (spread + 1));
			EXPECT_NEAR(gnn_moments_deviation(&got),
				std::sqrt(spread / double(x.size())), 1e-9);
			for (const uint64_t at_once : {256, 512, 4096}) {
				const gnn_moments again = whole(many, x, rows, width, at_once);
				EXPECT_EQ(memcmp(&got, &again, sizeof(got)), 0) << at_once;
			}
		}
}

TEST(OpWhole, MergesAddOrTakeTheLarger)
{
	Backend b(2);

	for (const enum gnn_merge how : {GNN_MERGE_SUM, GNN_MERGE_MAX})
		for (const uint64_t rows : row_counts) {
			const uint32_t width = 5, pitch = 9, first = 3;
			Floats from = random_floats(rows * width, 1);
			Floats to = random_floats(rows * pitch, 2);
			from[rows / 2 * width] = NAN;
			const Floats before = to;
			const gnn_merge_args a = {how, from.data(), width, to.data() + first, pitch,
				rows, width};
			ASSERT_EQ(b.b->ops->merge(b.b, &a), GNN_OK);
			for (uint64_t r = 0; r < rows; r++)
				for (uint32_t c = 0; c < pitch; c++) {
					const float was = before[r * pitch + c];
					const float is = to[r * pitch + c];
					if (c < first || c >= first + width) {
						ASSERT_EQ(is, was);
						continue;
					}
					const float x = from[r * width + c - first];
					if (std::isnan(x))
						ASSERT_TRUE(std::isnan(is));
					else
						ASSERT_EQ(is, how == GNN_MERGE_SUM ? was + x
							: std::max(was, x));
				}
		}
}

} // namespace
