// Blocks are counted, aligned, zeroed, held to the budget, and refused when a fault says so.
#include "base/fault.h"
#include "base/mem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

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

#ifndef __SANITIZE_ADDRESS__ // which is told where a block ends
TEST_F(MemTest, PagesHoldNothingElse)
{
	for (const uint64_t bytes : {UINT64_C(1), UINT64_C(5000), UINT64_C(70001)}) {
		void *block = nullptr;
		std::vector<void *> others(500);
		ASSERT_EQ(gnn_mem_pages(&block, bytes, GNN_MEM_IO), GNN_OK);
		const uintptr_t first = reinterpret_cast<uintptr_t>(block);
		const uintptr_t end = (first + bytes + 4095) / 4096 * 4096;
		for (void *&other : others) {
			ASSERT_EQ(gnn_mem_new(&other, 24, 1, GNN_MEM_MISC), GNN_OK);
			const uintptr_t at = reinterpret_cast<uintptr_t>(other);
			EXPECT_FALSE(at + 24 > first && at < end) << bytes;
		}
		for (void *other : others)
			gnn_mem_free(other);
		gnn_mem_free(block);
	}
}
#endif

TEST_F(MemTest, LargePagesAreAlignedToHugePages)
{
	for (const uint64_t bytes : {UINT64_C(2) << 20, (UINT64_C(5) << 20) + 123}) {
		void *block = nullptr;
		ASSERT_EQ(gnn_mem_pages(&block, bytes, GNN_MEM_STATE), GNN_OK);
		EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % (2 << 20), 0u);
		memset(block, 1, bytes);
		EXPECT_GE(stats().held_bytes, bytes);
		gnn_mem_free(block);
	}
}

std::vector<void *> pinned;
bool refuses;

bool pin(void *block, uint64_t bytes)
{
	memset(block, 7, bytes); // all of it is there
	if (!refuses)
		pinned.push_back(block);
	return !refuses;
}

void unpin(void *block)
{
	memset(block, 8, 1); // and still is
	pinned.erase(std::find(pinned.begin(), pinned.end(), block));
}

// Alone, because a pinner stays: what was pinned is unpinned once, before it is freed.
TEST_F(MemTest, BuffersOfTransfersArePinnedWhileTheyLive)
{
	static const struct gnn_mem_pinner pinner = {pin, unpin};
	void *before = nullptr, *io[3] = {}, *small = nullptr, *state = nullptr;
	ASSERT_EQ(gnn_mem_pages(&before, 1 << 20, GNN_MEM_IO), GNN_OK);
	gnn_mem_pin_io(&pinner);
	ASSERT_EQ(gnn_mem_pages(&io[0], 1 << 20, GNN_MEM_IO), GNN_OK);
	ASSERT_EQ(gnn_mem_pages(&io[1], (3 << 20) + 5, GNN_MEM_IO), GNN_OK);
	ASSERT_EQ(gnn_mem_pages(&small, 4096, GNN_MEM_IO), GNN_OK);
	ASSERT_EQ(gnn_mem_pages(&state, 1 << 20, GNN_MEM_STATE), GNN_OK);
	EXPECT_EQ(pinned, (std::vector<void *>{io[0], io[1]}));
	EXPECT_EQ(stats().pinned_bytes, (UINT64_C(4) << 20) + 5);
	refuses = true;
	ASSERT_EQ(gnn_mem_pages(&io[2], 1 << 20, GNN_MEM_IO), GNN_OK);
	refuses = false;
	gnn_mem_free(io[2]);
	ASSERT_EQ(gnn_fault_parse("pin:fail@1"), GNN_OK);
	ASSERT_EQ(gnn_mem_pages(&io[2], 1 << 20, GNN_MEM_IO), GNN_OK);
	for (void *block : {before, small, state, io[2], io[0], io[1]})
		gnn_mem_free(block);
	EXPECT_TRUE(pinned.empty());
	EXPECT_EQ(stats().pinned_bytes, 0u);
	gnn_mem_pin_io(nullptr);
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
