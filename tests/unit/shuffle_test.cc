// A keyed permutation: one to one, its inverse undoes it, another key gives another.
#include "base/shuffle.h"

#include <gtest/gtest.h>

#include <vector>

namespace {

struct gnn_shuffle make(uint64_t count, uint64_t seed)
{
	struct gnn_shuffle s;
	gnn_shuffle_init(&s, count, seed, 7);
	return s;
}

TEST(Shuffle, IsAPermutationOfAnyCount)
{
	for (uint64_t count : {1, 2, 3, 4, 5, 31, 32, 33, 1000, 1024, 1025, 65537}) {
		struct gnn_shuffle s = make(count, count);
		std::vector<bool> seen(count);
		for (uint64_t x = 0; x < count; x++) {
			uint64_t y = gnn_shuffle_map(&s, x);
			ASSERT_LT(y, count);
			ASSERT_FALSE(seen[y]) << count << ": " << y << " twice";
			seen[y] = true;
			ASSERT_EQ(gnn_shuffle_unmap(&s, y), x);
		}
	}
}

TEST(Shuffle, HoldsBeyond32Bits)
{
	for (uint64_t count : {(UINT64_C(1) << 40) + 3, UINT64_C(1) << 63, UINT64_MAX}) {
		struct gnn_shuffle s = make(count, 1);
		for (uint64_t x : {UINT64_C(0), UINT64_C(1), UINT64_C(1) << 33, count - 1}) {
			uint64_t y = gnn_shuffle_map(&s, x);
			EXPECT_LT(y, count);
			EXPECT_EQ(gnn_shuffle_unmap(&s, y), x);
		}
	}
}

// Neighbours land anywhere: the mean distance of two random places is count / 3.
TEST(Shuffle, NeighboursAreTornApart)
{
	const uint64_t count = 1 << 16;
	for (uint64_t seed = 0; seed < 8; seed++) {
		struct gnn_shuffle s = make(count, seed);
		double sum = 0;
		uint64_t fixed = 0;
		for (uint64_t x = 0; x + 1 < count; x++) {
			double a = static_cast<double>(gnn_shuffle_map(&s, x));
			double b = static_cast<double>(gnn_shuffle_map(&s, x + 1));
			sum += a > b ? a - b : b - a;
			fixed += gnn_shuffle_map(&s, x) == x;
		}
		EXPECT_NEAR(sum / count / count, 1.0 / 3, 0.04) << "seed " << seed;
		EXPECT_LT(fixed, 12u);
	}
}

TEST(Shuffle, EachKeyGivesAnother)
{
	struct gnn_shuffle a = make(1000, 1), b = make(1000, 2);
	int same = 0;
	for (uint64_t x = 0; x < 1000; x++)
		same += gnn_shuffle_map(&a, x) == gnn_shuffle_map(&b, x);
	EXPECT_LT(same, 20);
}

} // namespace
