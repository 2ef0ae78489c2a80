// exp, exp - 1 and tanh against double precision over the whole range, and at its ends.
#include "op/expf.h"

#include <gtest/gtest.h>

#include <cmath>

namespace {

// Every 61st float between two positive bounds, both signs as told.
template <typename Visit> void each_float(float low, float high, bool negative, Visit visit)
{
	for (uint32_t u = gnn_float_bits(low); u <= gnn_float_bits(high); u += 61)
		visit(gnn_bits_float(u | (negative ? 0x80000000u : 0u)));
}

// Distance in units of the last place of the right answer, subnormal places included.
double ulps(float got, double want)
{
	int exponent;

	std::frexp(want, &exponent);
	return std::fabs(got - want) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

TEST(Expf, IsWithinTwoUnitsOfTheLastPlace)
{
	double most = 0;
	const auto visit = [&](float x) {
		most = std::max(most, ulps(gnn_expf(x), std::exp(double(x))));
	};

	each_float(1e-9f, 104.0f, true, visit);
	each_float(1e-9f, 88.7f, false, visit);
	RecordProperty("most_ulps_x1000", int(most * 1000));
	EXPECT_LE(most, 2.0);
}

TEST(Expf, NeverFallsByMoreThanOneUnit)
{
	const auto visit = [](float x) {
		const float next = std::nextafterf(x, INFINITY), y = gnn_expf(x);
		ASSERT_GE(gnn_expf(next), std::nextafterf(y, 0)) << x;
	};

	each_float(1e-3f, 103.0f, true, visit);
	each_float(1e-3f, 88.0f, false, visit);
}

TEST(Expf, EndsOfTheRange)
{
	EXPECT_EQ(gnn_expf(0.0f), 1.0f);
	EXPECT_EQ(gnn_expf(-0.0f), 1.0f);
	EXPECT_EQ(gnn_expf(1e-30f), 1.0f);
	EXPECT_EQ(gnn_expf(-105.0f), 0.0f);
	EXPECT_EQ(gnn_expf(-1e30f), 0.0f);
	EXPECT_EQ(gnn_expf(-INFINITY), 0.0f);
	EXPECT_GT(gnn_expf(-103.0f), 0.0f);
	EXPECT_TRUE(std::isfinite(gnn_expf(88.72f)));
	EXPECT_EQ(gnn_expf(88.73f), INFINITY);
	EXPECT_EQ(gnn_expf(1e30f), INFINITY);
	EXPECT_EQ(gnn_expf(INFINITY), INFINITY);
	EXPECT_TRUE(std::isnan(gnn_expf(NAN)));
	EXPECT_TRUE(std::isnan(gnn_expf(-NAN)));
}

TEST(Expf, Expm1IsWithinTwoUnits)
{
	double most = 0;
	const auto visit = [&](float x) {
		most = std::max(most, ulps(gnn_expm1f(x), std::expm1(double(x))));
	};

	each_float(1e-30f, 104.0f, true, visit);
	each_float(1e-30f, 88.7f, false, visit);
	RecordProperty("most_ulps_x1000", int(most * 1000));
	EXPECT_LE(most, 2.0);
	EXPECT_EQ(gnn_expm1f(0.0f), 0.0f);
	EXPECT_EQ(gnn_expm1f(-INFINITY), -1.0f);
	EXPECT_EQ(gnn_expm1f(INFINITY), INFINITY);
	EXPECT_TRUE(std::isnan(gnn_expm1f(NAN)));
}

TEST(Expf, TanhIsWithinThreeUnits)
{
	double most = 0;
	const auto visit = [&](float x) {
		most = std::max(most, ulps(gnn_tanhf(x), std::tanh(double(x))));
	};

	each_float(1e-30f, 1e6f, true, visit);
	each_float(1e-30f, 1e6f, false, visit);
	RecordProperty("most_ulps_x1000", int(most * 1000));
	EXPECT_LE(most, 3.0);
	EXPECT_EQ(gnn_tanhf(0.0f), 0.0f);
	EXPECT_EQ(gnn_tanhf(INFINITY), 1.0f);
	EXPECT_EQ(gnn_tanhf(-INFINITY), -1.0f);
	EXPECT_TRUE(std::isnan(gnn_tanhf(NAN)));
}

} // namespace
