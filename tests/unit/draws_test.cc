// Initial weights and dropout have the distribution that they should, and no structure beside it:
// rows, columns, layers, steps and seeds that follow one another are as far apart as any others.
#include "base/rng.h"
#include "op/drop.h"
#include "train/params.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace {

constexpr uint32_t IN = 300, HIDDEN = 32, OUT = 8, SEEDS = 40;

using Values = std::vector<double>; /* of mean 0 and variance 1 */

double mean_of(const Values &x, const std::function<double(double)> &f)
{
	double sum = 0;

	for (double v : x)
		sum += f(v);
	return sum / static_cast<double>(x.size());
}

/* Of independent values the correlation is normal with a deviation of 1 by this scale. */
double correlation(const Values &a, const Values &b)
{
	const size_t count = std::min(a.size(), b.size());
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += a[i] * b[i];
	return count > 0 ? sum / std::sqrt(static_cast<double>(count)) : 0;
}

Values behind(const Values &x, size_t shift)
{
	return Values(x.begin() + static_cast<Values::difference_type>(shift), x.end());
}

/* Rows of `width`, summed each by itself, then each column: 1 where nothing goes together. */
void expect_sums(const Values &x, size_t width)
{
	const size_t height = x.size() / width;
	Values row(height), column(width);

	for (size_t i = 0; i < height; i++)
		for (size_t k = 0; k < width; k++) {
			row[i] += x[i * width + k] / std::sqrt(static_cast<double>(width));
			column[k] += x[i * width + k] / std::sqrt(static_cast<double>(height));
		}
	for (const Values &sum : {row, column}) {
		const double spread = 4.5 * std::sqrt(2.0 / static_cast<double>(sum.size()));
		EXPECT_NEAR(mean_of(sum, [](double v) { return v * v; }), 1, spread);
	}
}

struct Start {
	explicit Start(gnn_arch arch)
	{
		gnn_net_shape s{};

		s.arch = arch;
		s.layers = 2;
		s.dim_in = IN;
		s.channels[0] = HIDDEN;
		s.channels[1] = OUT;
		s.heads[0] = s.heads[1] = 1;
		EXPECT_EQ(gnn_params_init(&params, &s), GNN_OK);
	}
	~Start() { gnn_params_fini(&params); }
	/* A tensor of a seed, over the range that PyG draws it from. */
	Values draw(uint64_t seed, uint32_t layer, gnn_param_role role, double range)
	{
		std::vector<float> w(params.floats);

		gnn_params_draw(&params, seed, w.data());
		for (uint32_t i = 0; i < params.count; i++) {
			const gnn_param &t = params.param[i];

			if (t.layer != layer || t.role != role)
				continue;
			Values x;
			for (uint64_t k = t.first; k < t.first + t.count; k++)
				x.push_back(range > 0 ? w[k] / range * std::sqrt(3.0) : w[k]);
			return x;
		}
		ADD_FAILURE() << "no such tensor";
		return {};
	}
	gnn_params params{};
};

/* Uniform in [-sqrt 3, sqrt 3): variance 1, fourth moment 9 / 5. */
void expect_uniform(const Values &x)
{
	const double n = static_cast<double>(x.size());
	const double top = *std::max_element(x.begin(), x.end()) / std::sqrt(3.0);
	const double bottom = *std::min_element(x.begin(), x.end()) / -std::sqrt(3.0);

	for (double end : {top, bottom}) {
		EXPECT_LT(end, 1 + 1e-7);
		EXPECT_GT(end, 1 - 20 / n);
	}
	EXPECT_NEAR(mean_of(x, [](double v) { return v; }), 0, 4.5 / std::sqrt(n));
	EXPECT_NEAR(mean_of(x, [](double v) { return v * v; }), 1, 4.5 * std::sqrt(.8 / n));
	EXPECT_NEAR(mean_of(x, [](double v) { return v * v * v * v; }), 1.8,
		4.5 * 2.4 / std::sqrt(n));
}

void check_start(gnn_arch arch, double first_range, double second_range)
{
	Start start(arch);
	Values first, second;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		const Values a = start.draw(seed, 0, GNN_PARAM_W, first_range);
		const Values b = start.draw(seed, 1, GNN_PARAM_W, second_range);

		first.insert(first.end(), a.begin(), a.end());
		second.insert(second.end(), b.begin(), b.end());
	}
	expect_uniform(first);
	expect_uniform(second);
	expect_sums(first, IN);
	expect_sums(second, HIDDEN);
	/* The next column, row and seed; the other layer. */
	for (size_t shift : {size_t{1}, size_t{2}, size_t{IN}, size_t{IN} * HIDDEN})
		EXPECT_LT(std::abs(correlation(first, behind(first, shift))), 4.5) << shift;
	for (size_t shift : {size_t{1}, size_t{HIDDEN}, size_t{HIDDEN} * OUT})
		EXPECT_LT(std::abs(correlation(second, behind(second, shift))), 4.5) << shift;
	for (uint64_t seed = 0; seed < SEEDS; seed++)
		EXPECT_LT(std::abs(correlation(start.draw(seed, 0, GNN_PARAM_W, first_range),
			start.draw(seed, 1, GNN_PARAM_W, second_range))), 4.5) << seed;
}

TEST(Draws, GlorotStarts)
{
	check_start(GNN_ARCH_GCN, std::sqrt(6.0 / (IN + HIDDEN)),
		std::sqrt(6.0 / (HIDDEN + OUT)));
	for (double v : Start(GNN_ARCH_GCN).draw(3, 0, GNN_PARAM_BIAS, 0))
		EXPECT_EQ(v, 0);
}

TEST(Draws, LinearStarts)
{
	check_start(GNN_ARCH_SAGE, 1 / std::sqrt(IN), 1 / std::sqrt(HIDDEN));
}

/* 1 where kept, of mean 0 and variance 1. */
Values mask_of(double p, uint64_t seed, uint64_t stream, uint64_t rows, uint32_t width)
{
	const gnn_drop d = gnn_drop_of(p, seed, stream);
	Values x;

	for (uint64_t v = 0; v < rows; v++) {
		const uint64_t key = gnn_rng_u64(d.seed, d.stream, v);

		for (uint32_t c = 0; c < width; c++)
			x.push_back(((gnn_drop_draw(key, c) >= d.below ? 1 : 0) - (1 - p)) /
				std::sqrt(p * (1 - p)));
	}
	return x;
}

TEST(Draws, DropoutKeepsEachElementByItself)
{
	constexpr uint64_t ROWS = 700, STEPS = 8;
	constexpr uint32_t WIDTH = 200;

	for (double p : {.5, .2, .6})
		for (uint64_t seed : {0, 1, 9}) {
			Values before, steps(ROWS * WIDTH);

			EXPECT_FLOAT_EQ(gnn_drop_of(p, seed, 0).scale,
				static_cast<float>(1 / (1 - p)));
			for (uint64_t step = 0; step < STEPS; step++) {
				/* As gnn_net_drop names them: the layer above, the next part. */
				const Values x = mask_of(p, seed, step << 8, ROWS, WIDTH);
				const Values above = mask_of(p, seed, step << 8 | 2, ROWS, WIDTH);
				const Values part = mask_of(p, seed, step << 8 | 1, ROWS, WIDTH);

				EXPECT_LT(std::abs(correlation(x, Values(x.size(), 1))), 4.5);
				expect_sums(x, WIDTH);
				for (size_t shift : {size_t{1}, size_t{2}, size_t{WIDTH}})
					EXPECT_LT(std::abs(correlation(x, behind(x, shift))), 4.5);
				EXPECT_LT(std::abs(correlation(x, above)), 4.5);
				EXPECT_LT(std::abs(correlation(x, part)), 4.5);
				EXPECT_LT(std::abs(correlation(x, before)), 4.5) << step;
				before = x;
				for (size_t i = 0; i < x.size(); i++)
					steps[i] += x[i] / std::sqrt(STEPS);
			}
			/* How often an element is kept in all steps spreads as it should. */
			EXPECT_NEAR(mean_of(steps, [](double v) { return v * v; }), 1,
				4.5 * std::sqrt(2.0 / static_cast<double>(steps.size())));
		}
}

} // namespace
