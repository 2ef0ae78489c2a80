// Row programs on the CPU: each operation against double precision, every element type, and the
// same bits for any thread count, place of a row, neighbour and split into calls.
#include "unit/op_test.h"

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

} // namespace
