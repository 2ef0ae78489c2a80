/* The link of a rank with itself, on the stream that a backend forks: in its order, and twice. */
#include <gtest/gtest.h>
#include <vector>

#include "mpi/link.h"
#include "op/backend.h"

namespace {

constexpr uint64_t COUNT = 1 << 20;

struct CudaLink : ::testing::Test {
	gnn_backend *b = nullptr;
	gnn_comm *comm = nullptr;
	gnn_link *link = nullptr;

	void SetUp() override
	{
		gnn_backend_opts o{};
		gnn_comm_opts alone{};

		o.threads = 2;
		if (gnn_backend_create(&b, "cuda", &o) == GNN_EUNAVAIL)
			GTEST_SKIP() << gnn_err_text();
		ASSERT_NE(b, nullptr) << gnn_err_text();
		alone.allow_singleton = true;
		alone.peer_timeout_s = 10;
		ASSERT_EQ(gnn_comm_start(&comm, &alone), GNN_OK) << gnn_err_text();
	}
	void TearDown() override
	{
		bool said;

		gnn_link_close(link);
		if (b != nullptr)
			b->ops->watch(b, nullptr, nullptr);
		gnn_backend_destroy(b);
		gnn_comm_end(&comm, GNN_OK, &said);
	}
	void open()
	{
		const int rc = gnn_link_open(&link, comm);

		if (rc == GNN_SKIPPED)
			GTEST_SKIP() << gnn_err_text();
		ASSERT_EQ(rc, GNN_OK) << gnn_err_text();
		b->ops->watch(b, gnn_link_check, link);
	}
	float *floats(float value)
	{
		void *block = nullptr;

		EXPECT_EQ(b->ops->alloc(b, &block, COUNT * sizeof(float)), GNN_OK);
		EXPECT_EQ(b->ops->fill(b, static_cast<float *>(block), value, COUNT), GNN_OK);
		return static_cast<float *>(block);
	}
	void expect_all(const float *there, float value)
	{
		const uint64_t bytes = COUNT * sizeof(float);
		std::vector<float> host(COUNT);

		ASSERT_EQ(b->ops->copy(b, host.data(), bytes, there, bytes, bytes, 1), GNN_OK);
		ASSERT_EQ(b->ops->sync(b), GNN_OK) << gnn_err_text();
		EXPECT_EQ(host, std::vector<float>(COUNT, value));
	}
};

TEST_F(CudaLink, RowsGoInTheOrderOfTheStream)
{
	ASSERT_NO_FATAL_FAILURE(open());
	if (link == nullptr)
		return;
	float *from = floats(1), *to = floats(0);
	for (float value : {3.0f, 4.0f}) {
		gnn_link_message m[2] = {{0, true, from, COUNT * sizeof(float)},
			{0, false, to, COUNT * sizeof(float)}};
		void *stream = nullptr;

		ASSERT_EQ(b->ops->fill(b, from, value, COUNT), GNN_OK);
		ASSERT_EQ(b->ops->fork(b, &stream), GNN_OK) << gnn_err_text();
		ASSERT_EQ(gnn_link_exchange(link, m, 2, stream), GNN_OK) << gnn_err_text();
		ASSERT_EQ(b->ops->join(b), GNN_OK) << gnn_err_text();
		ASSERT_EQ(b->ops->fill(b, from, -1.0f, COUNT), GNN_OK);
		expect_all(to, value);
		expect_all(from, -1);
	}
	b->ops->free(b, from);
	b->ops->free(b, to);
}

TEST_F(CudaLink, ASumOfOneAndAgainAfterClosing)
{
	for (int k = 0; k < 2; k++) {
		ASSERT_NO_FATAL_FAILURE(open());
		if (link == nullptr)
			return;
		void *stream = nullptr;
		float *data = floats(2.5f);

		ASSERT_EQ(b->ops->fork(b, &stream), GNN_OK) << gnn_err_text();
		ASSERT_EQ(gnn_link_sum(link, data, COUNT, stream), GNN_OK) << gnn_err_text();
		ASSERT_EQ(b->ops->join(b), GNN_OK) << gnn_err_text();
		expect_all(data, 2.5f);
		b->ops->watch(b, nullptr, nullptr);
		gnn_link_close(link);
		link = nullptr;
		b->ops->free(b, data);
	}
}

} // namespace
