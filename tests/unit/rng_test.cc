// Draws are functions of their key; the stream is fixed for ever by known values.
#include "base/clock.h"
#include "base/rng.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <set>

namespace {

TEST(RngTest, KnownValues)
{
	EXPECT_EQ(gnn_rng_u64(0, 0, 0), 0x20987b1a552bbb8cu);
	EXPECT_EQ(gnn_rng_u64(1, 2, 3), 0xb753a316f878ee25u);
	EXPECT_EQ(gnn_rng_u64(UINT64_MAX, UINT64_MAX, UINT64_MAX), 0x4b8a90c0270473feu);
}

TEST(RngTest, EveryWordOfTheKeyCounts)
{
	std::set<uint64_t> seen;
	for (uint64_t a = 0; a < 16; a++)
		for (uint64_t b = 0; b < 16; b++)
			for (uint64_t c = 0; c < 16; c++)
				seen.insert(gnn_rng_u64(a, b, c));
	EXPECT_EQ(seen.size(), 4096u);
}

TEST(RngTest, UnitAndBelowStayInside)
{
	EXPECT_EQ(gnn_rng_unit(0), 0.0);
	EXPECT_LT(gnn_rng_unit(UINT64_MAX), 1.0);
	EXPECT_EQ(gnn_rng_below(UINT64_MAX, 10), 9u);
	EXPECT_EQ(gnn_rng_below(0, 10), 0u);
	EXPECT_EQ(gnn_rng_below(UINT64_MAX, UINT64_MAX), UINT64_MAX - 1);
	uint64_t count[10] = {};
	for (uint64_t i = 0; i < 100000; i++)
		count[gnn_rng_below(gnn_rng_u64(5, 6, i), 10)]++;
	for (uint64_t c : count)
		EXPECT_NEAR(static_cast<double>(c), 10000.0, 500.0);
}

TEST(RngTest, NormalHasMeanZeroAndVarianceOne)
{
	double sum = 0, squares = 0;
	const int n = 100000;
	for (int k = 0; k < n; k++) {
		const double x = gnn_rng_normal(1, 2, static_cast<uint64_t>(k));
		ASSERT_TRUE(std::isfinite(x));
		sum += x;
		squares += x * x;
	}
	EXPECT_NEAR(sum / n, 0.0, 0.02);
	EXPECT_NEAR(squares / n, 1.0, 0.02);
}

TEST(ClockTest, NeverRunsBack)
{
	const uint64_t start = gnn_clock_ns();
	for (uint64_t last = start, i = 0; i < 1000; i++) {
		const uint64_t now = gnn_clock_ns();
		ASSERT_GE(now, last);
		last = now;
	}
	EXPECT_GE(gnn_clock_s_since(start), 0.0);
	EXPECT_LT(gnn_clock_s_since(start), 60.0);
}

} // namespace
