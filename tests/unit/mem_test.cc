// Blocks are counted, aligned, zeroed, held to the budget, and refused when a fault says so.
#include "base/fault.h"
#include "base/mem.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace {

struct MemTest : ::testing::Test {
	void TearDown() override
	{
		gnn_mem_limit(0);
		gnn_fault_clear();
	}
	static struct gnn_mem_stats stats()
	{
		struct gnn_mem_stats s;
		gnn_mem_stats(&s);
		return s;
	}
};

TEST_F(MemTest, BlocksAreAlignedZeroedAndCounted)
{
	void *block = nullptr;
	const uint64_t before = stats().held_bytes;
	ASSERT_EQ(gnn_mem_new(&block, 100, 8, GNN_MEM_IO), GNN_OK);
	EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
	for (int i = 0; i < 800; i++)
		ASSERT_EQ(static_cast<char *>(block)[i], 0);
	EXPECT_EQ(stats().held_bytes, before + 800);
	EXPECT_EQ(stats().held_by_kind[GNN_MEM_IO], 800u);
	gnn_mem_free(block);
	EXPECT_EQ(stats().held_bytes, before);
}

TEST_F(MemTest, PagesAreAlignedToPages)
{
	void *block = nullptr;
	ASSERT_EQ(gnn_mem_pages(&block, 5000, GNN_MEM_IO), GNN_OK);
	EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 4096, 0u);
	memset(block, 1, 5000);
	gnn_mem_free(block);
}

TEST_F(MemTest, OverTheBudgetIsRefusedWithTheNumbers)
{
	void *block = nullptr;
	gnn_mem_limit(1 << 20);
	EXPECT_EQ(gnn_mem_new(&block, 2 << 20, 1, GNN_MEM_STATE), GNN_EOS);
	EXPECT_EQ(block, nullptr);
	EXPECT_NE(std::string(gnn_err_text()).find("state asks for 2.0 MiB"), std::string::npos);
	ASSERT_EQ(gnn_mem_new(&block, 1000, 1, GNN_MEM_STATE), GNN_OK);
	gnn_mem_free(block);
}

TEST_F(MemTest, SizesThatOverflowAreRefused)
{
	void *block = nullptr;
	EXPECT_EQ(gnn_mem_new(&block, UINT64_MAX / 2, 4, GNN_MEM_MISC), GNN_EOS);
	EXPECT_EQ(gnn_mem_new(&block, UINT64_MAX, 1, GNN_MEM_MISC), GNN_EOS);
}

TEST_F(MemTest, ResizeKeepsTheContentsAndZeroesTheRest)
{
	void *block = nullptr;
	ASSERT_EQ(gnn_mem_resize(&block, 4, 1, GNN_MEM_MISC), GNN_OK);
	memcpy(block, "abc", 4);
	ASSERT_EQ(gnn_mem_resize(&block, 4000, 1, GNN_MEM_MISC), GNN_OK);
	EXPECT_STREQ(static_cast<char *>(block), "abc");
	EXPECT_EQ(static_cast<char *>(block)[3999], 0);
	gnn_mem_free(block);
}

TEST_F(MemTest, TheNthAllocationFails)
{
	void *block = nullptr;
	ASSERT_EQ(gnn_fault_parse("alloc:fail@2"), GNN_OK);
	ASSERT_EQ(gnn_mem_new(&block, 1, 1, GNN_MEM_MISC), GNN_OK);
	gnn_mem_free(block);
	EXPECT_EQ(gnn_mem_new(&block, 1, 1, GNN_MEM_MISC), GNN_EOS);
	EXPECT_EQ(gnn_mem_new(&block, 1, 1, GNN_MEM_MISC), GNN_OK);
	gnn_mem_free(block);
}

} // namespace
