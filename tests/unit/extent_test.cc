// Extents: every byte once and in order, a checksum every block that says what is on the disk, and
// no byte outside.
#include "io/extent.h"
#include "unit/folder_fixture.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <unistd.h>
#include <xxhash.h>

namespace {

constexpr uint64_t page = GNN_PAGE_BYTES, block = GNN_BLOCK_BYTES;

struct ExtentTest : ::testing::Test {
	Folder box;
	std::string folder, path;
	std::map<uint64_t, uint64_t> sums;

	void SetUp() override
	{
		box.enter();
		folder = box.dir.string();
		path = folder + "/extent";
	}
	void TearDown() override
	{
		box.leave();
	}
	static void done(void *self, uint64_t number, uint64_t sum)
	{
		static_cast<ExtentTest *>(self)->sums[number] = sum;
	}
	// A file of `bytes` that are 0xee.
	void make(uint64_t bytes) const
	{
		std::ofstream(path, std::ios::binary) << std::string(bytes, '\xee');
	}
	std::string content() const
	{
		std::stringstream text;
		text << std::ifstream(path, std::ios::binary).rdbuf();
		return text.str();
	}
	int open(struct gnn_extent_writer **w, uint64_t offset, uint64_t bytes, uint64_t slot,
		uint64_t first = 0)
	{
		const struct gnn_extent_writer_opts o = {{path.c_str(), "rows of a test",
			GNN_DIO_PREAD, 0, offset, bytes}, first, slot, done, this};
		return gnn_extent_writer_open(w, &o);
	}
};

std::string random_bytes(uint64_t count, uint64_t seed)
{
	std::mt19937_64 random(seed);
	std::string out(count, '\0');
	for (char &c : out)
		c = static_cast<char>(random());
	return out;
}

TEST_F(ExtentTest, AnyPiecesGiveTheBytesAndTheirSums)
{
	std::mt19937_64 random(1);
	for (const uint64_t bytes : {UINT64_C(1), page - 1, page, page + 1, 3 * page + 7,
		     block - 1, block, block + 5, 2 * block + 3 * page + 1}) {
		for (const uint64_t slot : {page, 64 * page, block}) {
			SCOPED_TRACE(::testing::Message() << bytes << " in slots of " << slot);
			const std::string data = random_bytes(bytes, bytes);
			const uint64_t end = gnn_align_up(page + bytes, page);
			struct gnn_extent_writer *w = nullptr;
			uint64_t at = 0;

			sums.clear();
			make(end + page);
			ASSERT_EQ(open(&w, page, bytes, slot), GNN_OK) << gnn_err_text();
			while (at < bytes) {
				const uint64_t n = std::min(bytes - at, 1 + random() % (block / 2));
				ASSERT_EQ(gnn_extent_writer_push(w, data.data() + at, n), GNN_OK);
				at += n;
				EXPECT_EQ(gnn_extent_writer_at(w), at);
			}
			ASSERT_EQ(gnn_extent_writer_close(&w), GNN_OK) << gnn_err_text();
			EXPECT_EQ(w, nullptr);
			const std::string found = content();
			ASSERT_EQ(found.size(), end + page);
			EXPECT_EQ(found.substr(0, page), std::string(page, '\xee'));
			EXPECT_TRUE(found.compare(page, bytes, data) == 0);
			EXPECT_EQ(found.substr(end), std::string(page, '\xee'));
			ASSERT_EQ(sums.size(), gnn_ceil_div(bytes, block));
			for (auto [number, sum] : sums) {
				const uint64_t first = number * block;
				EXPECT_EQ(sum, XXH3_64bits(data.data() + first,
					std::min(block, bytes - first)));
			}
		}
	}
}

TEST_F(ExtentTest, SettlingTellsOfTheBlockAtHandAndGoesOn)
{
	const std::string data = random_bytes(5 * page, 2);
	struct gnn_extent_writer *w = nullptr;

	make(5 * page);
	ASSERT_EQ(open(&w, 0, 5 * page, 2 * page), GNN_OK);
	for (uint64_t at = 0, n; at < data.size(); at += n) {
		n = std::min<uint64_t>(page - 96, data.size() - at);
		ASSERT_EQ(gnn_extent_writer_push(w, data.data() + at, n), GNN_OK);
		ASSERT_EQ(gnn_extent_writer_settle(w), GNN_OK);
		EXPECT_EQ(sums[0], XXH3_64bits(data.data(), at + n));
		EXPECT_TRUE(content().compare(0, at + n, data, 0, at + n) == 0);
	}
	ASSERT_EQ(gnn_extent_writer_close(&w), GNN_OK);
	EXPECT_EQ(sums[0], XXH3_64bits(data.data(), data.size()));
}

TEST_F(ExtentTest, MoreThanItHoldsIsABugAndNothingIsWritten)
{
	const std::string data = random_bytes(2 * page, 3);
	struct gnn_extent_writer *w = nullptr;

	make(3 * page);
	ASSERT_EQ(open(&w, 0, page + 1, page), GNN_OK);
	EXPECT_EQ(gnn_extent_writer_push(w, data.data(), page + 2), GNN_EBUG);
	EXPECT_NE(std::string(gnn_err_text()).find("rows of a test"), std::string::npos);
	gnn_extent_writer_abort(w);
	EXPECT_EQ(content(), std::string(3 * page, '\xee'));
	gnn_extent_writer_abort(nullptr);
}

TEST_F(ExtentTest, AFullDiskNamesFileAndExtent)
{
	const std::string data = random_bytes(8 * page, 4);
	struct gnn_mem_stats before, after;

	make(8 * page);
	gnn_mem_stats(&before);
	for (const char *spec : {"write:enospc@1", "write:eio@2", "write:enospc@3"}) {
		struct gnn_extent_writer *w = nullptr;
		ASSERT_EQ(gnn_fault_parse(spec), GNN_OK);
		ASSERT_EQ(open(&w, 0, 8 * page, page), GNN_OK);
		int rc = gnn_extent_writer_push(w, data.data(), data.size());
		if (rc == GNN_OK)
			rc = gnn_extent_writer_close(&w);
		EXPECT_EQ(rc, GNN_EIO) << spec;
		EXPECT_NE(std::string(gnn_err_text()).find(path), std::string::npos);
		EXPECT_NE(std::string(gnn_err_text()).find("rows of a test"), std::string::npos);
		gnn_extent_writer_abort(w);
		gnn_fault_clear();
	}
	gnn_mem_stats(&after);
	EXPECT_EQ(after.block_count, before.block_count);
}

TEST_F(ExtentTest, EveryAllocationMayBeRefused)
{
	struct gnn_mem_stats before, after;
	int rc = GNN_EOS, n;

	make(page);
	gnn_mem_stats(&before);
	for (n = 1; rc != GNN_OK; n++) {
		struct gnn_extent_writer *w = nullptr;
		ASSERT_EQ(gnn_fault_parse(("alloc:fail@" + std::to_string(n)).c_str()), GNN_OK);
		rc = open(&w, 0, page, page);
		ASSERT_TRUE(rc == GNN_OK || (rc == GNN_EOS && w == nullptr));
		gnn_extent_writer_abort(w);
		ASSERT_LT(n, 50);
	}
	gnn_mem_stats(&after);
	EXPECT_GT(n, 3);
	EXPECT_EQ(after.block_count, before.block_count);
}

} // namespace
