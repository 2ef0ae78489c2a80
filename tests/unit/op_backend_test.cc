// The backend as an object: names, buffers, copies, the dense check, refused memory.
#include "unit/op_test.h"

#include "unit/folder_fixture.h"

#include <cmath>
#include <string>

namespace {

TEST(OpBackend, NamesAreFoundOrRefused)
{
	const struct gnn_backend_opts opts = {2, 0, nullptr, 0, 0};
	struct gnn_backend *b = nullptr;

	ASSERT_EQ(gnn_backend_create(&b, "auto", &opts), GNN_OK);
	EXPECT_STREQ(b->ops->name, "cpu");
	gnn_backend_destroy(b);
	ASSERT_EQ(gnn_backend_create(&b, "cpu", &opts), GNN_OK);
	gnn_backend_destroy(b);
	EXPECT_EQ(gnn_backend_create(&b, "tpu", &opts), GNN_EUNAVAIL);
	EXPECT_EQ(b, nullptr);
	EXPECT_NE(std::string(gnn_err_text()).find("\"tpu\""), std::string::npos);
	gnn_backend_destroy(nullptr);
}

TEST(OpBackend, FillAndCopyTouchWhatTheySay)
{
	for (uint32_t threads : {1u, 3u}) {
		Backend b(threads);
		const uint64_t count = 1000003, rows = 1001, width = 37, pitch = 53;
		Floats to(count + 2, -1.0f), from = random_floats(rows * width, 1);

		ASSERT_EQ(b.b->ops->fill(b.b, to.data() + 1, 2.5f, count), GNN_OK);
		EXPECT_EQ(to.front(), -1.0f);
		EXPECT_EQ(to.back(), -1.0f);
		for (uint64_t i = 1; i <= count; i++)
			ASSERT_EQ(to[i], 2.5f);
		ASSERT_EQ(b.b->ops->copy(b.b, to.data(), pitch * 4, from.data(), width * 4,
			width * 4, rows), GNN_OK);
		for (uint64_t r = 0; r < rows; r++)
			for (uint64_t j = 0; j < pitch; j++)
				ASSERT_EQ(to[r * pitch + j],
					j < width ? from[r * width + j] : 2.5f);
	}
}

TEST(OpBackend, MovesPutEveryRowAtItsPlace)
{
	for (enum gnn_move_rule rule : {GNN_MOVE_BOTH, GNN_MOVE_GATHER, GNN_MOVE_SCATTER})
		for (uint32_t count : {0u, 1u, 1000u}) {
			Backend b(3);
			const uint32_t width = 21, pitch = 24;
			const Floats from = random_floats((count + 1) * uint64_t{width}, 4);
			std::vector<struct gnn_move> moves;
			Floats to((count + 1) * uint64_t{pitch}, -1.0f), want = to;

			for (uint32_t i = 0; i < count; i++) {
				const uint64_t row = rule == GNN_MOVE_SCATTER ? i : i + 1;
				const uint64_t at = rule == GNN_MOVE_GATHER ? i : count - i;

				moves.push_back({i + 1, count - i});
				std::copy_n(&from[row * width], width, &want[at * pitch]);
			}
			const struct gnn_move_args a = {from.data(), width, to.data(), pitch, width,
				moves.data(), count, rule};

			ASSERT_EQ(b.b->ops->move(b.b, &a), GNN_OK);
			ASSERT_EQ(to, want) << rule << " " << count;
		}
}

TEST(OpBackend, EmptyFillsAndCopiesAreLegal)
{
	Backend b(2);
	float x = 1;

	EXPECT_EQ(b.b->ops->fill(b.b, &x, 2, 0), GNN_OK);
	EXPECT_EQ(b.b->ops->copy(b.b, &x, 0, &x, 0, 0, 0), GNN_OK);
	EXPECT_EQ(b.b->ops->copy(b.b, nullptr, 0, nullptr, 0, 0, 1), GNN_OK);
	EXPECT_EQ(gnn_backend_check_dense(b.b, 0, 5), GNN_OK);
	EXPECT_EQ(gnn_backend_check_dense(b.b, 5, 0), GNN_OK);
	EXPECT_EQ(x, 1);
}

// A refused allocation is reported, leaks nothing, and the next call succeeds.
TEST(OpBackend, RefusedMemoryIsReported)
{
	const struct gnn_backend_opts opts = {2, 0, nullptr, 0, 0};
	const uint64_t before = live_blocks();
	const Floats w = random_floats(20 * 30, 1), x = random_floats(300 * 30, 2);
	Floats y(300 * 20);
	struct gnn_rowprog p;
	struct gnn_rows_args a;
	int n = 1, rc = GNN_EOS;

	gnn_rowprog_init(&p, 30);
	ASSERT_EQ(gnn_rowprog_dense(&p, w.data(), nullptr, 20), GNN_OK);
	memset(&a, 0, sizeof(a));
	a.prog = &p;
	a.from = x.data();
	a.from_dtype = GNN_F32;
	a.from_pitch = 30;
	a.to = y.data();
	a.to_pitch = 20;
	a.rows = 300;
	for (; rc != GNN_OK && n < 100; n++) {
		struct gnn_backend *b = nullptr;

		ASSERT_EQ(gnn_fault_parse(("alloc:fail@" + std::to_string(n)).c_str()), GNN_OK);
		rc = gnn_backend_create(&b, "cpu", &opts);
		if (rc == GNN_OK)
			rc = b->ops->rows(b, &a);
		gnn_fault_clear();
		if (rc != GNN_OK) {
			ASSERT_EQ(rc, GNN_EOS);
			ASSERT_TRUE(b == nullptr || b->ops->rows(b, &a) == GNN_OK) << n;
		}
		gnn_backend_destroy(b);
		ASSERT_EQ(live_blocks(), before) << n;
	}
	EXPECT_EQ(rc, GNN_OK);
	EXPECT_GT(n, 3); // the backend, a packed weight, panels
}

} // namespace
