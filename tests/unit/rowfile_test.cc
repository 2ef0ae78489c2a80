// Rows in scratch: read back from anywhere as they were pushed; damage and cuts are 65, by name.
#include "io/rowfile.h"
#include "unit/folder_fixture.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

struct RowfileTest : ::testing::Test {
	Folder box;
	std::string folder, path;

	void SetUp() override
	{
		box.enter();
		folder = box.dir.string();
		path = folder + "/rows";
	}
	void TearDown() override
	{
		box.leave();
	}
	struct gnn_rowfile_opts opts(uint64_t first, uint64_t rows, uint64_t row_bytes) const
	{
		return {path.c_str(), "rows of layer 2", GNN_DIO_PREAD, first, rows, row_bytes,
			GNN_PAGE_BYTES};
	}
	void flip(uint64_t at) const
	{
		const int fd = open(path.c_str(), O_RDWR);
		char c = 0;
		ASSERT_EQ(pread(fd, &c, 1, static_cast<off_t>(at)), 1);
		c = static_cast<char>(c ^ 4);
		ASSERT_EQ(pwrite(fd, &c, 1, static_cast<off_t>(at)), 1);
		close(fd);
	}
};

std::string rows_of(uint64_t rows, uint64_t row_bytes)
{
	std::mt19937_64 random(rows);
	std::string out(rows * row_bytes, '\0');
	for (char &c : out)
		c = static_cast<char>(random());
	return out;
}

// All bytes of rows [first, first + rows), or the status of the failure.
int read_rows(const struct gnn_rowfile *f, uint64_t first, uint64_t rows, uint64_t piece,
	std::string *out)
{
	struct gnn_stream *s = nullptr;
	struct gnn_piece *p = nullptr;
	int rc = gnn_rowfile_read(&s, f, first, rows, piece, 2, 1);

	out->clear();
	while (rc == GNN_OK && (rc = gnn_stream_next(s, &p)) == GNN_OK) {
		out->append(static_cast<const char *>(p->data), p->bytes);
		gnn_stream_put(s, p);
	}
	gnn_stream_close(s);
	return rc == GNN_EOF ? GNN_OK : rc;
}

TEST_F(RowfileTest, AnyRangeComesBackInAnyPieces)
{
	std::mt19937_64 random(5);
	for (const uint64_t row_bytes : {4, 52, 4096, 5000}) {
		const uint64_t first = 700, rows = 3001;
		const std::string data = rows_of(rows, row_bytes);
		const struct gnn_rowfile_opts o = opts(first, rows, row_bytes);
		struct gnn_rowfile *f = nullptr;
		std::string found;

		ASSERT_EQ(gnn_rowfile_create(&f, &o), GNN_OK) << gnn_err_text();
		for (uint64_t at = 0, n; at < rows; at += n) {
			n = std::min(rows - at, 1 + random() % 900);
			ASSERT_EQ(gnn_rowfile_push(f, data.data() + at * row_bytes, n), GNN_OK);
			if (random() % 2 == 0) {
				ASSERT_EQ(gnn_rowfile_seal(f), GNN_OK);
				EXPECT_EQ(f->sealed_rows, at + n);
			}
		}
		ASSERT_EQ(gnn_rowfile_finish(f), GNN_OK);
		for (int i = 0; i < 20; i++) {
			const uint64_t from = random() % rows, n = random() % (rows - from + 1);
			ASSERT_EQ(read_rows(f, first + from, n, 1 + random() % 800, &found),
				GNN_OK);
			EXPECT_TRUE(found == data.substr(from * row_bytes, n * row_bytes));
		}
		EXPECT_TRUE(std::filesystem::exists(path));
		gnn_rowfile_remove(f);
		EXPECT_FALSE(std::filesystem::exists(path));
	}
	gnn_rowfile_remove(nullptr);
	gnn_rowfile_close(nullptr);
}

TEST_F(RowfileTest, AnotherProcessGoesOnWhereSealedRowsEnd)
{
	const uint64_t rows = 2500, row_bytes = 5000;
	const std::string data = rows_of(rows, row_bytes);
	const struct gnn_rowfile_opts o = opts(0, rows, row_bytes);

	for (const uint64_t sealed : {UINT64_C(0), UINT64_C(1), UINT64_C(1677), UINT64_C(1678),
		     rows - 1, rows}) {
		struct gnn_rowfile *f = nullptr, *again = nullptr;
		std::string found;

		ASSERT_EQ(gnn_rowfile_create(&f, &o), GNN_OK);
		ASSERT_EQ(gnn_rowfile_push(f, data.data(), sealed), GNN_OK);
		ASSERT_EQ(gnn_rowfile_seal(f), GNN_OK);
		const std::vector<uint64_t> sums(f->sums,
			f->sums + gnn_rowfile_blocks(rows, row_bytes));
		if (sealed < rows) { // and what was pushed after it is lost, as by a kill
			ASSERT_EQ(gnn_rowfile_push(f, data.data(), 1), GNN_OK);
		}
		gnn_rowfile_close(f);
		ASSERT_EQ(gnn_rowfile_reopen(&again, &o, sealed, sums.data()), GNN_OK)
			<< gnn_err_text();
		if (sealed < rows) {
			ASSERT_EQ(gnn_rowfile_push(again, data.data() + sealed * row_bytes,
				rows - sealed), GNN_OK);
		}
		ASSERT_EQ(gnn_rowfile_finish(again), GNN_OK);
		ASSERT_EQ(read_rows(again, 0, rows, 100, &found), GNN_OK) << gnn_err_text();
		EXPECT_TRUE(found == data) << sealed;
		gnn_rowfile_remove(again);
	}
}

TEST_F(RowfileTest, DamageAndCutsAreNamed)
{
	const uint64_t rows = 4000, row_bytes = 5000; // two blocks and a half
	const std::string data = rows_of(rows, row_bytes);
	const struct gnn_rowfile_opts o = opts(0, rows, row_bytes);
	struct gnn_rowfile *f = nullptr;
	std::string found;

	ASSERT_EQ(gnn_rowfile_create(&f, &o), GNN_OK);
	ASSERT_EQ(gnn_rowfile_push(f, data.data(), rows), GNN_OK);
	ASSERT_EQ(gnn_rowfile_finish(f), GNN_OK);
	const uint64_t block = GNN_BLOCK_BYTES;
	for (const uint64_t at : {UINT64_C(0), block - 1, block, rows * row_bytes - 1}) {
		flip(at);
		EXPECT_EQ(read_rows(f, 0, rows, 300, &found), GNN_EDATA) << at;
		const std::string text = gnn_err_text();
		EXPECT_NE(text.find(path), std::string::npos) << text;
		EXPECT_NE(text.find("rows of layer 2"), std::string::npos) << text;
		EXPECT_NE(text.find("block " + std::to_string(at / block)),
			std::string::npos) << text;
		flip(at);
		EXPECT_EQ(read_rows(f, 0, rows, 300, &found), GNN_OK);
	}
	for (const uint64_t bytes : {rows * row_bytes - 1, UINT64_C(1) << 20, UINT64_C(0)}) {
		ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(bytes)), 0);
		EXPECT_EQ(read_rows(f, 0, rows, 300, &found), GNN_EDATA) << bytes;
		EXPECT_NE(std::string(gnn_err_text()).find(path), std::string::npos);
	}
	unlink(path.c_str());
	EXPECT_LT(read_rows(f, 0, rows, 300, &found), 0);
	gnn_rowfile_close(f);
}

TEST_F(RowfileTest, WhatAnotherProcessLeftMustBeWhole)
{
	const uint64_t rows = 3000, row_bytes = 5000;
	const std::string data = rows_of(rows, row_bytes);
	const struct gnn_rowfile_opts o = opts(0, rows, row_bytes);
	struct gnn_rowfile *f = nullptr;

	ASSERT_EQ(gnn_rowfile_create(&f, &o), GNN_OK);
	ASSERT_EQ(gnn_rowfile_push(f, data.data(), 2000), GNN_OK);
	ASSERT_EQ(gnn_rowfile_seal(f), GNN_OK);
	std::vector<uint64_t> sums(f->sums, f->sums + gnn_rowfile_blocks(rows, row_bytes));
	gnn_rowfile_close(f);
	flip(2000 * row_bytes - 1); // in the block that goes on
	EXPECT_EQ(gnn_rowfile_reopen(&f, &o, 2000, sums.data()), GNN_EDATA);
	EXPECT_NE(std::string(gnn_err_text()).find(path), std::string::npos);
	EXPECT_EQ(f, nullptr);
	flip(2000 * row_bytes - 1);
	ASSERT_EQ(truncate(path.c_str(), 5000), 0);
	EXPECT_EQ(gnn_rowfile_reopen(&f, &o, 2000, sums.data()), GNN_EDATA);
	unlink(path.c_str());
	EXPECT_LT(gnn_rowfile_reopen(&f, &o, 2000, sums.data()), 0);
	EXPECT_EQ(f, nullptr);
}

TEST_F(RowfileTest, AFullDiskShowsAtOnceAndNothingLeaks)
{
	const struct gnn_rowfile_opts o = opts(0, 100, 5000);
	struct gnn_mem_stats before, after;
	struct gnn_rowfile *f = nullptr;

	gnn_mem_stats(&before);
	ASSERT_EQ(gnn_fault_parse("reserve:enospc@1"), GNN_OK);
	EXPECT_EQ(gnn_rowfile_create(&f, &o), GNN_EIO);
	EXPECT_NE(std::string(gnn_err_text()).find("free"), std::string::npos);
	EXPECT_EQ(f, nullptr);
	gnn_fault_clear();
	for (int n = 1, rc = GNN_EOS; rc != GNN_OK; n++) {
		ASSERT_EQ(gnn_fault_parse(("alloc:fail@" + std::to_string(n)).c_str()), GNN_OK);
		rc = gnn_rowfile_create(&f, &o);
		gnn_fault_clear();
		ASSERT_TRUE(rc == GNN_OK || rc == GNN_EOS) << gnn_err_text();
		gnn_rowfile_remove(f);
	}
	gnn_mem_stats(&after);
	EXPECT_EQ(after.block_count, before.block_count);
}

} // namespace
