// Sizes, counts and numbers read strictly and printed so that they read back the same.
#include "base/units.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace {

constexpr uint64_t K = 1024;

TEST(UnitsTest, SizesArePowersOf1024)
{
	const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {{"0", 0}, {"4096", 4096}, {"64K", 64 * K}, {"8M", 8 * K * K}, {"8m", 8 * K * K},
		{"16G", 16 * K * K * K}, {"2T", 2 * K * K * K * K}, {"1.5G", 3 * K * K * K / 2},
		{"0.5K", 512}, {"18446744073709551615", UINT64_MAX}};
	for (const auto &g : good) {
		uint64_t bytes = 1;
		EXPECT_TRUE(gnn_units_parse_size(g.text, &bytes)) << g.text;
		EXPECT_EQ(bytes, g.bytes) << g.text;
	}
}

TEST(UnitsTest, WhatIsNoSizeIsRefused)
{
	uint64_t bytes;
	for (const char *text : {"", "K", "-1", "+1", "1e3", "0x10", "1KB", "1Ki", "1.5", "1.K",
		     ".5K", "1 K", " 1", "1 ", "012", "18446744073709551616", "16777216T",
		     "18446744073709551615K"})
		EXPECT_FALSE(gnn_units_parse_size(text, &bytes)) << text;
}

TEST(UnitsTest, CountsAreDigitsAlone)
{
	uint64_t n = 1;
	EXPECT_TRUE(gnn_units_parse_count("0", &n));
	EXPECT_EQ(n, 0u);
	EXPECT_TRUE(gnn_units_parse_count("18446744073709551615", &n));
	EXPECT_EQ(n, UINT64_MAX);
	for (const char *text : {"", "012", "-1", "1e3", "1_000", "0x1", "1.0", "1K", " 1", "1\n",
		     "18446744073709551616", "99999999999999999999999"})
		EXPECT_FALSE(gnn_units_parse_count(text, &n)) << text;
}

TEST(UnitsTest, RealsAreFiniteDecimals)
{
	double x = 0;
	EXPECT_TRUE(gnn_units_parse_real("1e-3", &x));
	EXPECT_EQ(x, 1e-3);
	EXPECT_TRUE(gnn_units_parse_real(".5", &x));
	EXPECT_EQ(x, 0.5);
	EXPECT_TRUE(gnn_units_parse_real("-2", &x));
	EXPECT_EQ(x, -2.0);
	for (const char *text :
		{"", "nan", "inf", "0x1p3", "1,5", "1 ", " 1", "1e", "e", ".", "1e999"})
		EXPECT_FALSE(gnn_units_parse_real(text, &x)) << text;
}

TEST(UnitsTest, WhatIsPrintedReadsBack)
{
	char to[GNN_UNITS_BYTES];
	for (uint64_t bytes : {UINT64_C(0), UINT64_C(1), 1023 * K, 8 * K * K, 8 * K * K + 1,
		     3 * K * K * K * K, UINT64_MAX}) {
		uint64_t back = 7;
		ASSERT_TRUE(gnn_units_parse_size(gnn_units_size(to, bytes), &back)) << to;
		EXPECT_EQ(back, bytes) << to;
	}
	EXPECT_STREQ(gnn_units_size(to, 8 * K * K), "8M");
	for (double value : {0.0, 0.05, 1e-3, 1.0 / 3.0, 6.02e23, 123456.789}) {
		double back = -1;
		ASSERT_TRUE(gnn_units_parse_real(gnn_units_real(to, value), &back)) << to;
		EXPECT_EQ(back, value) << to;
	}
	EXPECT_STREQ(gnn_units_real(to, 0.05), "0.05");
}

TEST(UnitsTest, ForPeople)
{
	char to[GNN_UNITS_BYTES];
	EXPECT_STREQ(gnn_units_bytes(to, 0), "0 B");
	EXPECT_STREQ(gnn_units_bytes(to, 1536), "1.50 KiB");
	EXPECT_STREQ(gnn_units_bytes(to, 251.0 * K * K * K), "251 GiB");
	EXPECT_STREQ(gnn_units_bytes(to, 0x1p63), "8192 PiB");
	EXPECT_STREQ(gnn_units_count(to, 12), "12");
	EXPECT_STREQ(gnn_units_count(to, 12345678), "12.3 M");
	EXPECT_STREQ(gnn_units_count(to, 999999), "1.00 M");
	EXPECT_STREQ(gnn_units_rate(to, 3.2e9, "B"), "3.20 GB/s");
	EXPECT_STREQ(gnn_units_rate(to, 12, "B"), "12 B/s");
	EXPECT_STREQ(gnn_units_rate(to, 95e6, "edges"), "95.0 M edges/s");
	EXPECT_STREQ(gnn_units_rate(to, 7, "rows"), "7 rows/s");
	EXPECT_STREQ(gnn_units_time(to, 0.0421), "42 ms");
	EXPECT_STREQ(gnn_units_time(to, 12.34), "12.3 s");
	EXPECT_STREQ(gnn_units_time(to, 125), "2m05s");
	EXPECT_STREQ(gnn_units_time(to, 2640), "44m00s");
	EXPECT_STREQ(gnn_units_time(to, 7325), "2h02m");
	EXPECT_STREQ(gnn_units_time(to, INFINITY), "-");
	EXPECT_STREQ(gnn_units_time(to, NAN), "-");
}

} // namespace
