/* Blocks that the GPU draws against those of the CPU: equal ids, entries, factors, turned too. */
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

#include "op/sample.h"
#include "train/sampler.h"
#include "unit/train_fixture.h"

namespace {

constexpr gnn_edge_rule RULES[] = {{true, true, GNN_WEIGH_GCN}, {false, false, GNN_WEIGH_MEAN},
	{false, true, GNN_WEIGH_SUM}, {true, true, GNN_WEIGH_NONE}};

struct CudaSample : ::testing::Test {
	gnn_backend *b[2] = {nullptr, nullptr}; /* cpu, cuda */
	std::vector<void *> blocks;

	void SetUp() override
	{
		gnn_backend_opts o{};

		o.threads = 2;
		if (gnn_backend_create(&b[1], "cuda", &o) == GNN_EUNAVAIL)
			GTEST_SKIP() << gnn_err_text();
		ASSERT_NE(b[1], nullptr) << gnn_err_text();
		b[0] = cpu_backend(2);
	}
	void TearDown() override
	{
		for (void *block : blocks)
			b[1]->ops->free(b[1], block);
		gnn_backend_destroy(b[0]);
		gnn_backend_destroy(b[1]);
	}
	template <typename T> T *there(const T *from, uint64_t count)
	{
		const uint64_t bytes = count * sizeof(T);
		void *block = nullptr;

		EXPECT_EQ(b[1]->ops->alloc(b[1], &block, bytes), GNN_OK);
		EXPECT_EQ(b[1]->ops->copy(b[1], block, bytes, from, bytes, bytes, 1), GNN_OK);
		blocks.push_back(block);
		return static_cast<T *>(block);
	}
	template <typename T> std::vector<T> back(const T *from, uint64_t count)
	{
		const uint64_t bytes = count * sizeof(T);
		std::vector<T> to(count);

		if (count == 0 || from == nullptr)
			return {};
		EXPECT_EQ(b[1]->ops->copy(b[1], to.data(), bytes, from, bytes, bytes, 1), GNN_OK);
		EXPECT_EQ(b[1]->ops->sync(b[1]), GNN_OK) << gnn_err_text();
		return to;
	}
	template <typename T> void expect_same(const char *what, const T *cpu, const T *cuda,
		uint64_t count)
	{
		const std::vector<T> got = back(cuda, count);

		ASSERT_EQ(cpu == nullptr, cuda == nullptr) << what;
		for (uint64_t i = 0; i < got.size(); i++)
			ASSERT_EQ(got[i], cpu[i]) << what << " " << i << " of " << count;
	}
	void expect_same_block(const gnn_block &x, const gnn_block &y)
	{
		ASSERT_EQ(x.dst_count, y.dst_count);
		ASSERT_EQ(x.src_count, y.src_count);
		ASSERT_EQ(x.entry_count, y.entry_count);
		expect_same("first", x.first, y.first, x.dst_count + 1);
		expect_same("src", x.src, y.src, x.entry_count);
		expect_same("weight", x.weight, y.weight, x.entry_count);
		expect_same("back_first", x.back_first, y.back_first, x.src_count + 1);
		expect_same("back_dst", x.back_dst, y.back_dst, x.entry_count);
		expect_same("back_entry", x.back_entry, y.back_entry, x.entry_count);
		expect_same("back_weight", x.back_weight, y.back_weight, x.entry_count);
	}
	void draw(int i, const gnn_sampler_opts &like, const std::vector<gnn_vid> &seeds,
		gnn_sample *to)
	{
		gnn_sampler_opts o = like;
		gnn_sampler *s = nullptr;

		o.backend = b[i];
		ASSERT_EQ(gnn_sampler_create(&s, &o), GNN_OK) << gnn_err_text();
		/* Twice with one sampler: what the first leaves must not show. */
		ASSERT_EQ(gnn_sampler_draw(s, seeds.data(), 1, 99, to), GNN_OK);
		ASSERT_EQ(gnn_sampler_draw(s, seeds.data(), seeds.size(), 7, to), GNN_OK)
			<< gnn_err_text();
		for (uint32_t l = 0; l < o.layers; l++)
			ASSERT_EQ(gnn_block_turn(&to->block[l], b[i]), GNN_OK) << gnn_err_text();
		gnn_sampler_destroy(s);
	}
	void twins(const Graph &g, const gnn_edge_rule &rule, gnn_sampling sampling,
		const std::vector<uint64_t> &fanout, uint64_t stride)
	{
		gnn_lists lists = g.lists;
		gnn_sampler_opts o{};
		gnn_sample sample[2]{};
		std::vector<gnn_vid> seeds;

		for (gnn_vid v = 0; v < g.lists.vertices; v += stride)
			seeds.push_back(v);
		lists.first = there(g.lists.first, lists.vertices + 1);
		lists.neighbor = there(g.neighbor.data(), g.neighbor.size());
		lists.loops = there(g.lists.loops, lists.vertices);
		o.rule = rule;
		o.sampling = sampling;
		o.dependency = 2;
		o.layers = (uint32_t)fanout.size();
		o.fanout = fanout.data();
		o.seed = 5;
		for (int i = 0; i < 2 && !HasFatalFailure(); i++) {
			o.lists = i == 0 ? &g.lists : &lists;
			draw(i, o, seeds, &sample[i]);
		}
		ASSERT_FALSE(HasFatalFailure());
		ASSERT_EQ(sample[0].id_count, sample[1].id_count);
		expect_same("id", sample[0].id, sample[1].id, sample[0].id_count);
		for (uint32_t l = 0; l < o.layers && !HasFatalFailure(); l++)
			expect_same_block(sample[0].block[l], sample[1].block[l]);
		for (gnn_sample &s : sample)
			gnn_sample_fini(&s);
	}
};

TEST_F(CudaSample, BlocksAreThoseOfTheCpu)
{
	Graph g(3000, 200);

	for (const gnn_edge_rule &rule : RULES)
		for (gnn_sampling how : {GNN_SAMPLE_UNIFORM, GNN_SAMPLE_LABOR})
			for (const std::vector<uint64_t> &fanout : {std::vector<uint64_t>{3, 5, 2},
				{100, 7}, {GNN_FANOUT_ALL, 4}, {1}, {40, 33}, {300, 63}}) {
				SCOPED_TRACE(testing::Message() << "weighting " << rule.weighting
					<< ", sampling " << how << ", first fanout " << fanout[0]);
				ASSERT_NO_FATAL_FAILURE(twins(g, rule, how, fanout, 7));
			}
}

/* More entries than a grid has threads, a list of 20,000, and seeds without in-edges. */
TEST_F(CudaSample, LargeBatches)
{
	Graph g(100000, 2000);

	for (gnn_sampling how : {GNN_SAMPLE_UNIFORM, GNN_SAMPLE_LABOR})
		ASSERT_NO_FATAL_FAILURE(twins(g, RULES[0], how, {70, 3}, 4));
	Graph bare(50, 0);
	ASSERT_NO_FATAL_FAILURE(twins(bare, RULES[1], GNN_SAMPLE_UNIFORM, {3, 3}, 6));
}

} // namespace
