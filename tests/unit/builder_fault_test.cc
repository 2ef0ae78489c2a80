// The builder when memory, disk and threads fail it: the right status, and nothing left behind.
#include "unit/builder_fixture.h"
#include "unit/folder_fixture.h"

namespace
{

using namespace builder_test;

struct BuilderFaultTest : BuilderFixture {
	/* The spill of runs, levels of merging, and for sparse ids all three sorts. */
	static std::vector<std::pair<Edges, Options>> builds()
	{
		Options plain, sparse;

		plain.memory = sparse.memory = 128 << 10;
		plain.threads = sparse.threads = 1;
		plain.dedup = plain.weighted = true;
		sparse.remap = true;
		return {{random_edges(9000, 500, 1), plain},
			{random_edges(9000, 500, 2, uint64_t(1) << 40), sparse}};
	}
	using Statuses = std::vector<int>;

	/* Fails the n-th operation for about `tries` n; returns how many builds failed of it. */
	int fail_each(enum gnn_fault_site site, const std::string &rule, const Statuses &allowed,
		uint64_t tries)
	{
		int failures = 0;

		for (const auto &[edges, options] : builds()) {
			const Graph wanted = naive(edges, options);
			gnn_fault_parse((rule + "@1000000000").c_str());
			EXPECT_EQ(build(edges, options), GNN_OK) << gnn_err_text();
			const uint64_t count = gnn_fault_count(site);
			for (uint64_t n = 1; n <= count; n += 1 + count / tries) {
				const std::string spec = rule + "@" + std::to_string(n);
				SCOPED_TRACE(spec + " of " + std::to_string(count));
				const uint64_t held = live_blocks();
				fs::remove(store);
				gnn_fault_parse(spec.c_str());
				const int rc = build(edges, options);
				const std::string text = gnn_err_text();
				gnn_fault_clear();
				EXPECT_EQ(live_blocks(), held);
				if (rc == GNN_OK) {
					/* Retried, or at a place where it does not matter. */
					EXPECT_EQ(read(), wanted);
					continue;
				}
				failures++;
				EXPECT_TRUE(std::count(allowed.begin(), allowed.end(), rc))
					<< rc << " " << text;
				EXPECT_FALSE(text.empty());
				/* Only when its folder cannot be synced is the output there. */
				const bool whole = text.find("is complete, but") != text.npos;
				EXPECT_EQ(files().size(), whole ? 1u : 0u);
				if (HasFailure())
					return failures;
			}
		}
		return failures;
	}
};

TEST_F(BuilderFaultTest, EveryAllocation)
{
	EXPECT_GT(fail_each(GNN_FAULT_ALLOC, "alloc:fail", {GNN_EOS}, 250), 100);
}

TEST_F(BuilderFaultTest, EveryWrite)
{
	EXPECT_GT(fail_each(GNN_FAULT_WRITE, "write:enospc", {GNN_EIO, GNN_ECREAT}, 60), 30);
	EXPECT_GT(fail_each(GNN_FAULT_WRITE, "write:eio", {GNN_EIO, GNN_ECREAT}, 60), 30);
	fail_each(GNN_FAULT_WRITE, "write:short", {GNN_EIO}, 20);
}

TEST_F(BuilderFaultTest, EveryRead)
{
	EXPECT_GT(fail_each(GNN_FAULT_READ, "read:eio", {GNN_EIO}, 60), 10);
	fail_each(GNN_FAULT_READ, "read:short", {GNN_EIO}, 20);
}

/* A bit that is wrong in what the scratch gives back is found. */
TEST_F(BuilderFaultTest, EveryFlippedBit)
{
	EXPECT_GT(fail_each(GNN_FAULT_READ, "read:flip", {GNN_EIO, GNN_EDATA}, 60), 10);
}

TEST_F(BuilderFaultTest, EveryOpenSyncAndRename)
{
	EXPECT_GT(fail_each(GNN_FAULT_OPEN, "open:eacces",
		{GNN_ECREAT, GNN_EIO, GNN_ENOENT, GNN_EDATA, GNN_EOS}, 60), 5);
	EXPECT_GT(fail_each(GNN_FAULT_FSYNC, "fsync:eio", {GNN_EIO}, 10), 0);
	EXPECT_GT(fail_each(GNN_FAULT_RENAME, "rename:eio", {GNN_EIO}, 10), 0);
	EXPECT_GT(fail_each(GNN_FAULT_RESERVE, "reserve:enospc", {GNN_EIO}, 10), 0);
}

} // namespace
