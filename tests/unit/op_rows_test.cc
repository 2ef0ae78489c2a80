// Row programs on the CPU: each operation against double precision, every element type, and the
// same bits for any thread count, place of a row, neighbour and split into calls.
#include "unit/op_test.h"

#include "op/cpu/cpu.h"

#include <algorithm>
#include <cmath>

namespace {

const uint64_t row_counts[] = {0, 1, 31, 32, 33, 172, 4097};
const uint32_t widths[] = {1, 3, 8, 31, 32, 33, 64, 127, 128, 172, 1024};
const uint32_t thread_counts[] = {1, 2, 3, 8};

struct gnn_rowop op_of(enum gnn_rowop_kind kind, uint32_t dim_in, uint32_t dim_out)
{
	struct gnn_rowop op;

	memset(&op, 0, sizeof(op));
	op.kind = kind;
	op.dim_in = dim_in;
	op.dim_out = dim_out;
	return op;
}

struct gnn_rowprog prog_of(std::initializer_list<struct gnn_rowop> ops)
{
	struct gnn_rowprog p;

	gnn_rowprog_init(&p, ops.begin()->dim_in);
	for (const struct gnn_rowop &op : ops)
		EXPECT_EQ(gnn_rowprog_push(&p, &op), GNN_OK) << gnn_err_text();
	return p;
}

// Runs `prog` over dense f32 rows; the result is dense too.
Floats run(Backend &b, const struct gnn_rowprog &prog, const Floats &from, uint64_t rows,
	const float *vec0 = nullptr, const float *vec1 = nullptr)
{
	Floats to(rows * prog.dim_out, NAN);
	struct gnn_rows_args a;

	memset(&a, 0, sizeof(a));
	a.prog = &prog;
	a.from = from.data();
	a.from_dtype = GNN_F32;
	a.from_pitch = prog.dim_in;
	a.to = to.data();
	a.to_pitch = prog.dim_out;
	a.rows = rows;
	a.vec[0] = vec0;
	a.vec[1] = vec1;
	b.rows(a);
	return to;
}

// |got - want| <= tolerance x scale for every item.
void expect_near(const Floats &got, const std::vector<double> &want, double tolerance)
{
	ASSERT_EQ(got.size(), want.size());
	for (size_t i = 0; i < got.size(); i++)
		ASSERT_NEAR(got[i], want[i], tolerance * std::max(1.0, std::fabs(want[i]))) << i;
}

std::vector<double> dense(const Floats &x, const Floats &w, const Floats &bias, uint64_t rows,
	uint32_t k, uint32_t n)
{
	std::vector<double> y(rows * n);

	for (uint64_t r = 0; r < rows; r++)
		for (uint32_t j = 0; j < n; j++) {
			double sum = bias.empty() ? 0.0 : bias[j];
			for (uint32_t i = 0; i < k; i++)
				sum += double(x[r * k + i]) * double(w[uint64_t(j) * k + i]);
			y[r * n + j] = sum;
		}
	return y;
}

struct gnn_rowop dense_op(const Floats &w, const Floats &bias, uint32_t k, uint32_t n)
{
	struct gnn_rowop op = op_of(GNN_ROW_DENSE, k, n);

	op.weight = w.data();
	op.bias = bias.empty() ? nullptr : bias.data();
	return op;
}

TEST(OpRows, DenseIsRightForEveryHeightAndWidth)
{
	Backend b(2);

	for (uint64_t rows : row_counts)
		for (uint32_t k : widths) {
			const uint32_t n = rows > 200 ? 33 : k == 1024 ? 127 : k;
			const Floats x = random_floats(rows * k, 1);
			const Floats w = random_floats(uint64_t(n) * k, 2);
			const Floats bias = rows % 2 ? random_floats(n, 3) : Floats();
			const auto p = prog_of({dense_op(w, bias, k, n)});

			expect_near(run(b, p, x, rows), dense(x, w, bias, rows, k, n),
				1e-6 * std::sqrt(k));
		}
}

TEST(OpRows, WidthZeroIsTheBias)
{
	Backend b(2);
	const Floats bias = {1, 2, 3}, none;
	struct gnn_rowprog p;

	gnn_rowprog_init(&p, 0);
	p.count = 1;
	p.dim_out = 3;
	p.op[0] = dense_op(none, bias, 0, 3);
	EXPECT_TRUE(equal_bits(run(b, p, none, 2), {1, 2, 3, 1, 2, 3}));
}

TEST(OpRows, TheIdentityCopies)
{
	Backend b(2);
	struct gnn_rowprog p;

	for (uint64_t rows : row_counts) {
		const Floats x = random_floats(rows * 33, 1);

		gnn_rowprog_init(&p, 33);
		EXPECT_TRUE(equal_bits(run(b, p, x, rows), x));
	}
}

// A layer's worth of operations: dense, bias, affine, act, scale, dense, norm.
struct Stack {
	Floats w1 = random_floats(128 * 172, 1), b1 = random_floats(128, 2);
	Floats scale = random_floats(128, 3), shift = random_floats(128, 4);
	Floats w2 = random_floats(33 * 128, 5), b2 = random_floats(33, 6);
	struct gnn_rowprog prog;

	Stack()
	{
		struct gnn_rowop affine = op_of(GNN_ROW_AFFINE, 128, 128);
		struct gnn_rowop act = op_of(GNN_ROW_ACT, 128, 128);
		struct gnn_rowop factor = op_of(GNN_ROW_SCALE, 128, 128);
		struct gnn_rowop bias = op_of(GNN_ROW_BIAS, 33, 33);
		struct gnn_rowop norm = op_of(GNN_ROW_L2NORM, 33, 33);

		affine.scale = scale.data();
		affine.shift = shift.data();
		act.act = GNN_ACT_ELU;
		factor.first = 5;
		factor.count = 100;
		bias.bias = b2.data();
		norm.epsilon = 1e-12f;
		prog = prog_of({dense_op(w1, b1, 172, 128), affine, act, factor,
			dense_op(w2, {}, 128, 33), bias, norm});
	}
};

TEST(OpRows, ThreadsChangeNoBit)
{
	const Stack s;
	const uint64_t rows = 4097;
	const Floats x = random_floats(rows * 172, 7), v = random_floats(rows, 8);
	Backend one(1);
	const Floats want = run(one, s.prog, x, rows, v.data());

	for (uint32_t threads : thread_counts) {
		Backend b(threads);
		EXPECT_TRUE(equal_bits(run(b, s.prog, x, rows, v.data()), want)) << threads;
	}
}

TEST(OpRows, SplitsChangeNoBit)
{
	const Stack s;
	const uint64_t rows = 2100;
	const Floats x = random_floats(rows * 172, 7), v = random_floats(rows, 8);
	Backend b(2);
	const Floats want = run(b, s.prog, x, rows, v.data());

	for (uint64_t each : {256, 512, 1024, 2048}) {
		Floats got;
		for (uint64_t first = 0; first < rows; first += each) {
			const uint64_t n = std::min(each, rows - first);
			const Floats part(x.begin() + long(first * 172),
				x.begin() + long((first + n) * 172));
			const Floats y = run(b, s.prog, part, n, v.data() + first);
			got.insert(got.end(), y.begin(), y.end());
		}
		EXPECT_TRUE(equal_bits(got, want)) << each;
	}
}

// Row r of x W^T as the header says: pieces of 512 products, each a chain of fmaf.
float product_of(const float *x, const float *w, uint64_t k)
{
	float sum = 0;

	for (uint64_t first = 0; first < k; first += 512) {
		float piece = 0;
		for (uint64_t i = first; i < std::min<uint64_t>(first + 512, k); i++)
			piece = std::fmaf(x[i], w[i], piece);
		sum += piece;
	}
	return sum;
}

// Whatever vectors the machine has.
TEST(OpRows, ProductsFollowTheFormulaBitByBit)
{
	const uint32_t shapes[][2] = {{1, 1}, {33, 47}, {512, 16}, {513, 17}, {1100, 40}};
	const uint64_t rows = 261;
	Backend b(2);
	struct gnn_cpu *c = reinterpret_cast<struct gnn_cpu *>(b.b);
	const bool can = c->wide;

	for (const auto &[k, n] : shapes) {
		const Floats w = random_floats(uint64_t(n) * k, 2), x = random_floats(rows * k, 1);
		const auto p = prog_of({dense_op(w, {}, k, n)});
		Floats want(rows * n);

		for (uint64_t r = 0; r < rows; r++)
			for (uint64_t j = 0; j < n; j++)
				want[r * n + j] = product_of(&x[r * k], &w[j * k], k);
		for (bool wide : {false, can}) {
			c->wide = wide;
			ASSERT_TRUE(equal_bits(run(b, p, x, rows), want))
				<< k << " to " << n << (wide ? " wide" : "");
		}
	}
}

TEST(OpRows, ARowIsAlone)
{
	Backend b(2);

	for (uint32_t k : widths)
		for (uint32_t n : {1u, 3u, 47u, 128u}) {
			const Floats w = random_floats(uint64_t(n) * k, 2);
			const auto p = prog_of({dense_op(w, {}, k, n)});
			Floats x = random_floats(512 * k, 1);

			ASSERT_EQ(gnn_backend_check_dense(b.b, k, n), GNN_OK);
			const Floats first = run(b, p, x, 512);
			for (uint64_t r : {1u, 2u, 7u, 100u, 254u, 255u, 256u, 511u})
				std::copy_n(x.begin(), k, x.begin() + long(r * k));
			x[3 * k] = NAN;
			const Floats moved = run(b, p, x, 512);
			for (uint64_t r : {0u, 1u, 2u, 7u, 100u, 254u, 255u, 256u, 511u})
				ASSERT_EQ(memcmp(&moved[r * n], first.data(), n * sizeof(float)), 0)
					<< k << " " << n << " row " << r;
			const Floats last = run(b, p, x, 1);
			ASSERT_EQ(memcmp(last.data(), first.data(), n * sizeof(float)), 0);
		}
}

TEST(OpRows, InPlaceAndPitchesChangeNoBit)
{
	Backend b(2);
	const uint64_t rows = 600, pitch = 41;
	const Floats w = random_floats(33 * 33, 2), bias = random_floats(33, 3);
	const auto p = prog_of({dense_op(w, bias, 33, 33)});
	const Floats x = random_floats(rows * 33, 1), want = run(b, p, x, rows);
	Floats wide(rows * pitch, -7.0f);
	struct gnn_rows_args a;

	for (uint64_t r = 0; r < rows; r++)
		std::copy_n(x.begin() + long(r * 33), 33, wide.begin() + long(r * pitch));
	memset(&a, 0, sizeof(a));
	a.prog = &p;
	a.from = a.to = wide.data();
	a.from_dtype = GNN_F32;
	a.from_pitch = a.to_pitch = pitch;
	a.rows = rows;
	b.rows(a);
	for (uint64_t r = 0; r < rows; r++) {
		ASSERT_EQ(memcmp(&wide[r * pitch], &want[r * 33], 33 * sizeof(float)), 0);
		for (uint64_t j = 33; j < pitch; j++)
			ASSERT_EQ(wide[r * pitch + j], -7.0f);
	}
}

// Applies `f(row, x, y)` to every row in double precision.
template <typename F>
std::vector<double> by_row(const Floats &x, uint64_t rows, uint32_t k, uint32_t n, F f)
{
	std::vector<double> y(rows * n);

	for (uint64_t r = 0; r < rows; r++)
		f(r, &x[r * k], &y[r * n]);
	return y;
}

TEST(OpRows, AffineBiasScaleAndEmpty)
{
	Backend b(2);

	for (uint64_t rows : {1u, 33u, 300u})
		for (uint32_t k : widths) {
			const Floats x = random_floats(rows * k, 1), scale = random_floats(k, 2);
			const Floats shift = random_floats(k, 3);
			Floats v = random_floats(rows, 4), w = v;
			const uint32_t first = k / 3, count = k - k / 2;
			struct gnn_rowop affine = op_of(GNN_ROW_AFFINE, k, k);
			struct gnn_rowop bias = op_of(GNN_ROW_BIAS, k, k);
			struct gnn_rowop factor = op_of(GNN_ROW_SCALE, k, k);
			struct gnn_rowop empty = op_of(GNN_ROW_EMPTY, k, k);

			for (uint64_t r = 0; r < rows; r += 3)
				w[r] = r % 2 ? 0.0f : -0.0f;
			affine.scale = scale.data();
			affine.shift = bias.bias = shift.data();
			factor.first = empty.first = first;
			factor.count = empty.count = count;
			empty.vector = 1;
			const auto want = by_row(x, rows, k, k,
				[&](uint64_t r, const float *from, double *to) {
				for (uint32_t j = 0; j < k; j++) {
					const bool in = j >= first && j < first + count;
					const double kept = w[r] == 0 ? 0.0 : double(v[r]);
					const double by = in ? kept : 1.0;
					to[j] = double(from[j]) * double(scale[j]);
					to[j] = by * (to[j] + 2 * double(shift[j]));
				}
			});
			const auto p = prog_of({affine, bias, factor, empty});
			expect_near(run(b, p, x, rows, v.data(), w.data()), want, 1e-6);
		}
}

TEST(OpRows, EmptyClearsEvenNaN)
{
	Backend b(1);
	struct gnn_rowop empty = op_of(GNN_ROW_EMPTY, 3, 3);
	const float v[] = {0.0f, 2.0f};

	empty.first = 1;
	empty.count = 2;
	const Floats y = run(b, prog_of({empty}), {1, -INFINITY, NAN, 4, 5, 6}, 2, v);
	EXPECT_TRUE(equal_bits(y, {1, 0, 0, 4, 5, 6}));
}

double act_of(enum gnn_act act, double x)
{
	switch (act) {
	case GNN_ACT_NONE:
		return x;
	case GNN_ACT_RELU:
		return std::max(x, 0.0);
	case GNN_ACT_ELU:
		return x > 0 ? x : std::expm1(x);
	case GNN_ACT_LEAKY_RELU:
		return x > 0 ? x : double(0.2f) * x;
	case GNN_ACT_TANH:
		return std::tanh(x);
	}
	return NAN;
}

TEST(OpRows, Activations)
{
	Backend b(2);

	for (enum gnn_act act : {GNN_ACT_NONE, GNN_ACT_RELU, GNN_ACT_ELU, GNN_ACT_LEAKY_RELU,
		     GNN_ACT_TANH})
		for (uint32_t k : {1u, 31u, 64u, 172u}) {
			const uint64_t rows = 300;
			struct gnn_rowop op = op_of(GNN_ROW_ACT, k, k);
			Floats x = random_floats(rows * k, 1);

			op.act = act;
			op.slope = 0.2f;
			for (size_t i = 0; i < x.size(); i++)
				x[i] *= i % 2 ? 10.0f : 0.01f;
			const Floats y = run(b, prog_of({op}), x, rows);
			for (size_t i = 0; i < x.size(); i++)
				ASSERT_NEAR(y[i], act_of(act, x[i]),
					4e-7 * std::fabs(act_of(act, x[i]))) << act << " " << x[i];
			const Floats nan = run(b, prog_of({op}), Floats(k, NAN), 1);
			for (float got : nan)
				ASSERT_TRUE(std::isnan(got)) << act;
		}
}

TEST(OpRows, HeadsDivideMeanAndScores)
{
	Backend b(2);

	for (uint32_t heads : {1u, 2u, 3u, 8u})
		for (uint32_t c : {1u, 3u, 8u, 31u, 64u}) {
			const uint32_t z = heads * c;
			const uint64_t rows = 260;
			Floats x = random_floats(rows * (z + heads), 1);
			const Floats att_src = random_floats(z, 2), att_dst = random_floats(z, 3);
			struct gnn_rowop divide = op_of(GNN_ROW_DIVIDE, z + heads, z);
			struct gnn_rowop mean = op_of(GNN_ROW_HEAD_MEAN, z, c);
			struct gnn_rowop scores = op_of(GNN_ROW_SCORES, z, 2 * heads);
			std::vector<double> middle(z);

			divide.heads = mean.heads = scores.heads = heads;
			divide.epsilon = 1e-16f;
			scores.weight = att_src.data();
			scores.bias = att_dst.data();
			for (uint64_t r = 0; r < rows; r++)
				for (uint32_t k = 0; k < heads; k++)
					x[r * (z + heads) + z + k] = 1 + 0.5f * float(k);
			const auto divided = [&](const float *from) {
				for (uint32_t j = 0; j < z; j++)
					middle[j] = double(from[j]) / double(from[z + j / c]);
			};
			expect_near(run(b, prog_of({divide, mean}), x, rows),
				by_row(x, rows, z + heads, c,
				[&](uint64_t, const float *from, double *to) {
				divided(from);
				for (uint32_t j = 0; j < z; j++)
					to[j % c] += middle[j] / heads;
			}), 1e-6);
			expect_near(run(b, prog_of({divide, scores}), x, rows),
				by_row(x, rows, z + heads, 2 * heads,
				[&](uint64_t, const float *from, double *to) {
				divided(from);
				for (uint32_t j = 0; j < z; j++) {
					to[j / c] += middle[j] * double(att_src[j]);
					to[heads + j / c] += middle[j] * double(att_dst[j]);
				}
			}), 1e-6);
		}
}

TEST(OpRows, TailsAreHandedOnAndHalvesAdded)
{
	Backend b(2);
	const uint32_t heads = 3, c = 4, z = heads * c;
	const uint64_t rows = 260;
	Floats x = random_floats(rows * (z + heads + c), 1);
	struct gnn_rowop divide = op_of(GNN_ROW_DIVIDE, z + heads + c, z + c);
	struct gnn_rowop mean = op_of(GNN_ROW_HEAD_MEAN, z + c, 2 * c);
	struct gnn_rowop add = op_of(GNN_ROW_ADD, 2 * c, c);

	divide.heads = mean.heads = heads;
	divide.tail = mean.tail = c;
	for (uint64_t r = 0; r < rows; r++)
		for (uint32_t k = 0; k < heads; k++)
			x[r * (z + heads + c) + z + k] = 2 + float(k);
	expect_near(run(b, prog_of({divide, mean, add}), x, rows),
		by_row(x, rows, z + heads + c, c, [&](uint64_t, const float *from, double *to) {
		for (uint32_t j = 0; j < c; j++) {
			to[j] = double(from[z + heads + j]);
			for (uint32_t k = 0; k < heads; k++)
				to[j] += double(from[k * c + j]) / (2.0 + k) / heads;
		}
	}), 1e-6);
}

TEST(OpRows, NoMessagesDivideToZero)
{
	Backend b(1);
	struct gnn_rowop divide = op_of(GNN_ROW_DIVIDE, 3, 2);

	divide.heads = 1;
	divide.epsilon = 1e-16f;
	EXPECT_TRUE(equal_bits(run(b, prog_of({divide}), {0, 0, 0}, 1), {0, 0}));
}

TEST(OpRows, LayerNormAndStandard)
{
	Backend b(2);
	const uint64_t rows = 300;

	for (const uint32_t k : {1u, 5u, 8u, 33u, 200u}) {
		const Floats x = random_floats(rows * k, 1);
		struct gnn_rowop norm = op_of(GNN_ROW_LAYERNORM, k, k);
		struct gnn_rowop standard = op_of(GNN_ROW_STANDARD, k, k);

		norm.epsilon = 1e-5f;
		standard.center = 0.25f;
		standard.factor = 1.5f;
		expect_near(run(b, prog_of({norm, standard}), x, rows),
			by_row(x, rows, k, k, [&](uint64_t, const float *from, double *to) {
			double mean = 0, square = 0;
			for (uint32_t j = 0; j < k; j++)
				mean += double(from[j]) / k;
			for (uint32_t j = 0; j < k; j++)
				square += (double(from[j]) - mean) * (double(from[j]) - mean) / k;
			for (uint32_t j = 0; j < k; j++)
				to[j] = ((double(from[j]) - mean) / std::sqrt(square + 1e-5) -
					0.25) * 1.5;
		}), 1e-5);
	}
}

TEST(OpRows, L2NormAndItsFloor)
{
	Backend b(2);

	for (uint32_t k : widths) {
		const uint64_t rows = 100;
		const Floats x = random_floats(rows * k, 1);
		struct gnn_rowop norm = op_of(GNN_ROW_L2NORM, k, k);

		norm.epsilon = 1e-12f;
		expect_near(run(b, prog_of({norm}), x, rows), by_row(x, rows, k, k,
			[&](uint64_t, const float *from, double *to) {
			double sum = 0;
			for (uint32_t j = 0; j < k; j++)
				sum += double(from[j]) * double(from[j]);
			for (uint32_t j = 0; j < k; j++)
				to[j] = double(from[j]) / std::sqrt(sum);
		}), 1e-6);
		EXPECT_TRUE(equal_bits(run(b, prog_of({norm}), Floats(k), 1), Floats(k)));
	}
}

// Runs the identity over rows of another element type, `pitch` items apart.
template <typename T>
Floats widened(Backend &b, const std::vector<T> &from, enum gnn_dtype type, uint64_t rows,
	uint32_t width)
{
	Floats to(rows * width, NAN);
	struct gnn_rowprog identity;
	struct gnn_rows_args a;

	gnn_rowprog_init(&identity, width);
	memset(&a, 0, sizeof(a));
	a.prog = &identity;
	a.from = from.data();
	a.from_dtype = type;
	a.from_pitch = from.size() / rows;
	a.to = to.data();
	a.to_pitch = width;
	a.rows = rows;
	b.rows(a);
	return to;
}

double half_value(uint32_t h)
{
	const double sign = h & 0x8000 ? -1 : 1;
	const int exponent = (h >> 10) & 31, mantissa = h & 1023;

	if (exponent == 31)
		return mantissa ? double(NAN) : sign * double(INFINITY);
	if (exponent == 0)
		return sign * std::ldexp(mantissa, -24);
	return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

TEST(OpRows, EveryHalfFloatWidensExactly)
{
	Backend b(2);
	std::vector<uint16_t> all(65536);

	for (uint32_t h = 0; h < 65536; h++)
		all[h] = uint16_t(h);
	const Floats y = widened(b, all, GNN_F16, 512, 128);
	const Floats z = widened(b, all, GNN_BF16, 512, 128);
	for (uint32_t h = 0; h < 65536; h++) {
		const uint32_t bits = h << 16;
		ASSERT_EQ(memcmp(&z[h], &bits, 4), 0) << h;
		if (std::isnan(half_value(h)))
			ASSERT_TRUE(std::isnan(y[h])) << h;
		else
			ASSERT_EQ(double(y[h]), half_value(h)) << h;
		ASSERT_EQ(std::signbit(y[h]), (h & 0x8000) != 0) << h;
	}
}

TEST(OpRows, BytesAndPitchesWiden)
{
	Backend b(2);
	std::vector<uint8_t> bytes(300 * 37);
	std::vector<uint16_t> ones(300 * 37, 0x3c00);

	for (size_t i = 0; i < bytes.size(); i++)
		bytes[i] = uint8_t(i * 7);
	const Floats y = widened(b, bytes, GNN_U8, 300, 33);
	const Floats z = widened(b, ones, GNN_F16, 300, 33);
	for (uint64_t r = 0; r < 300; r++)
		for (uint64_t j = 0; j < 33; j++) {
			ASSERT_EQ(y[r * 33 + j], float(bytes[r * 37 + j]));
			ASSERT_EQ(z[r * 33 + j], 1.0f);
		}
}

// Every type through a dense product gives the bits of its widened rows.
TEST(OpRows, NarrowTypesMultiplyLikeTheirFloats)
{
	Backend b(2);
	const uint64_t rows = 700;
	const Floats w = random_floats(33 * 64, 2);
	const auto p = prog_of({dense_op(w, {}, 64, 33)});
	std::vector<uint16_t> half(rows * 64);
	Floats got(rows * 33);
	struct gnn_rows_args a;

	for (size_t i = 0; i < half.size(); i++)
		half[i] = uint16_t(0x3000 + i % 0x1000);
	for (enum gnn_dtype type : {GNN_F16, GNN_BF16}) {
		memset(&a, 0, sizeof(a));
		a.prog = &p;
		a.from = half.data();
		a.from_dtype = type;
		a.from_pitch = 64;
		a.to = got.data();
		a.to_pitch = 33;
		a.rows = rows;
		b.rows(a);
		EXPECT_TRUE(equal_bits(got, run(b, p, widened(b, half, type, rows, 64), rows)));
	}
}

// Rows lie past 2^31 items from the start: offsets must not be 32 bit.
TEST(OpRows, OffsetsPastTwoToThe31)
{
	Backend b(2);
	const uint64_t pitch = uint64_t(1) << 23, rows = 258, bytes = rows * pitch;
	void *from = nullptr;
	struct gnn_rowprog p;
	struct gnn_rows_args a;
	Floats to(rows * 3);

	if (const uint64_t free_bytes = available_bytes(); free_bytes < bytes + bytes / 2)
		GTEST_SKIP() << "needs " << bytes << " bytes, " << free_bytes << " are available";
	ASSERT_EQ(b.b->ops->alloc(b.b, &from, bytes), GNN_OK) << gnn_err_text();
	gnn_rowprog_init(&p, 3);
	memset(&a, 0, sizeof(a));
	a.prog = &p;
	a.from = from;
	a.from_dtype = GNN_U8;
	a.from_pitch = pitch;
	a.to = to.data();
	a.to_pitch = 3;
	a.rows = rows;
	for (uint64_t r = 0; r < rows; r++)
		for (uint64_t j = 0; j < 3; j++)
			static_cast<uint8_t *>(from)[r * pitch + j] = uint8_t(r + 5 * j);
	b.rows(a);
	for (uint64_t r = 0; r < rows; r++)
		for (uint64_t j = 0; j < 3; j++)
			ASSERT_EQ(to[r * 3 + j], float(uint8_t(r + 5 * j))) << r;
	b.b->ops->free(b.b, from);
}

} // namespace
