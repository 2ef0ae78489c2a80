// Rows pushed in any order come back by id, from memory and from the file; damage is seen.
#include "base/fault.h"
#include "base/mem.h"
#include "io/runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <ostream>
#include <random>
#include <vector>

namespace {

struct Case {
	uint64_t ids, row_bytes, range_rows, memory;
};

void PrintTo(const Case &c, std::ostream *to)
{
	*to << c.ids << " rows of " << c.row_bytes << " bytes, ranges of " << c.range_rows
	    << ", memory " << c.memory;
}

struct RunsTest : ::testing::TestWithParam<Case> {
	std::string path = ::testing::TempDir() + "runs_test_" + std::to_string(getpid());
	struct gnn_runs *runs = nullptr;
	struct gnn_runs_reader *reader = nullptr;

	bool stay = false; // in a named file

	struct gnn_runs_opts opts(const Case &c) const
	{
		struct gnn_runs_opts o = {};

		o.named = o.stay = stay;

		o.path = path.c_str();
		o.ids = c.ids;
		o.row_bytes = c.row_bytes;
		o.range_rows = c.range_rows;
		o.memory_bytes = c.memory;
		return o;
	}
	static char byte_of(uint64_t id, uint64_t k)
	{
		return static_cast<char>(id * 131 + k * 7 + (id >> 8));
	}
	int write(const Case &c)
	{
		const struct gnn_runs_opts o = opts(c);
		std::vector<uint64_t> ids(c.ids);
		std::mt19937_64 random(c.ids);
		int rc = gnn_runs_create(&runs, &o);

		std::iota(ids.begin(), ids.end(), uint64_t{0});
		std::shuffle(ids.begin(), ids.end(), random);
		for (uint64_t i = 0; i < c.ids && rc == GNN_OK;) {
			const uint64_t n = std::min<uint64_t>(random() % 300 + 1, c.ids - i);
			std::vector<char> rows(n * c.row_bytes);

			for (uint64_t r = 0; r < n; r++)
				for (uint64_t k = 0; k < c.row_bytes; k++)
					rows[r * c.row_bytes + k] = byte_of(ids[i + r], k);
			rc = gnn_runs_push(runs, ids.data() + i, 0, rows.data(), n);
			i += n;
		}
		return rc == GNN_OK ? gnn_runs_end(runs) : rc;
	}
	int read(const Case &c, uint32_t lent)
	{
		struct gnn_runs_range range;
		uint64_t seen = 0;
		int rc = gnn_runs_reader_open(&reader, runs, lent);

		while (rc == GNN_OK && (rc = gnn_runs_reader_next(reader, &range)) == GNN_OK) {
			EXPECT_EQ(range.first, seen);
			for (uint64_t i = 0; i < range.rows * c.row_bytes; i++)
				if (static_cast<const char *>(range.data)[i] !=
					byte_of(seen + i / c.row_bytes, i % c.row_bytes)) {
					ADD_FAILURE() << "byte " << i << " of " << range.first;
					break;
				}
			seen += range.rows;
		}
		if (rc == GNN_EOF) {
			EXPECT_EQ(seen, c.ids);
		}
		gnn_runs_reader_close(reader);
		reader = nullptr;
		return rc;
	}
	void TearDown() override
	{
		gnn_runs_destroy(runs);
		gnn_fault_clear();
		for (const auto &e : std::filesystem::directory_iterator(::testing::TempDir()))
			EXPECT_EQ(e.path().string().find(path), std::string::npos) << e.path();
	}
};

TEST_P(RunsTest, RowsComeBackInOrder)
{
	const Case c = GetParam();

	ASSERT_EQ(write(c), GNN_OK) << gnn_err_text();
	EXPECT_EQ(gnn_runs_written_bytes(runs) > 0, c.memory / (c.row_bytes + 16) < c.ids);
	EXPECT_EQ(read(c, 1), GNN_EOF) << gnn_err_text();
	EXPECT_EQ(read(c, 3), GNN_EOF) << gnn_err_text(); // again: nothing is used up
}

INSTANTIATE_TEST_SUITE_P(Sizes, RunsTest, ::testing::Values(
	Case{0, 4, 256, 1 << 20}, Case{1, 4, 256, 1 << 20}, Case{1000, 512, 256, 1 << 20},
	Case{1000, 512, 256, 100 << 10}, Case{1000, 4, 1, 8 << 10}, Case{5000, 100, 256, 64 << 10},
	Case{5000, 4100, 512, 1 << 20}, Case{3000, 12, 100000, 4 << 10}));

const Case ON_FILE = {4000, 256, 256, 128 << 10};

TEST_F(RunsTest, DamageIsSeen)
{
	for (const char *spec : {"read:flip@1", "read:flip@4", "read:flip@30", "write:flip@2",
		"write:flip@7"}) {
		ASSERT_EQ(gnn_fault_parse(spec), GNN_OK);
		ASSERT_EQ(write(ON_FILE), GNN_OK) << spec << gnn_err_text();
		EXPECT_EQ(read(ON_FILE, 2), GNN_EDATA) << spec;
		EXPECT_NE(std::string(gnn_err_text()).find(path), std::string::npos)
			<< gnn_err_text();
		gnn_runs_destroy(runs);
		runs = nullptr;
	}
}

// A named file is gone on with where it was sealed, and read from any range on.
TEST_F(RunsTest, SealedRunsGoOn)
{
	const uint64_t ids = 3000, row_bytes = 40, part[] = {0, 700, 701, 2500, ids};
	struct gnn_runs_opts o = opts({ids, row_bytes, 256, 32 << 10});
	std::vector<uint64_t> id(ids);
	std::mt19937_64 random(3);

	o.named = true;
	std::iota(id.begin(), id.end(), uint64_t{0});
	std::shuffle(id.begin(), id.end(), random);
	for (int k = 0; k < 4; k++) {
		ASSERT_EQ(gnn_runs_create(&runs, &o), GNN_OK) << gnn_err_text();
		EXPECT_FALSE(gnn_runs_ended(runs));
		EXPECT_EQ(gnn_runs_file_rows(runs), part[k]);
		for (uint64_t i = part[k]; i < part[k + 1]; i++) {
			char row[row_bytes];

			for (uint64_t b = 0; b < row_bytes; b++)
				row[b] = byte_of(id[i], b);
			ASSERT_EQ(gnn_runs_push(runs, &id[i], 0, row, 1), GNN_OK);
		}
		ASSERT_EQ(gnn_runs_seal(runs), GNN_OK) << gnn_err_text();
		o.sealed_bytes = gnn_runs_file_bytes(runs);
		if (k == 1) { // what is behind the sealed bytes does not count
			const char row[row_bytes] = {};

			ASSERT_EQ(gnn_runs_push(runs, &id[ids - 1], 0, row, 1), GNN_OK);
			ASSERT_EQ(gnn_runs_seal(runs), GNN_OK);
		}
		gnn_runs_destroy(runs);
	}
	ASSERT_EQ(gnn_runs_create(&runs, &o), GNN_OK) << gnn_err_text();
	EXPECT_TRUE(gnn_runs_ended(runs));
	EXPECT_EQ(gnn_runs_written_bytes(runs), 0u);
	EXPECT_EQ(read({ids, row_bytes, 256, 0}, 2), GNN_EOF) << gnn_err_text();
	for (uint64_t first : {0, 1, 5, 11}) {
		struct gnn_runs_range range;

		ASSERT_EQ(gnn_runs_reader_open(&reader, runs, 1), GNN_OK);
		gnn_runs_reader_skip(reader, first);
		ASSERT_EQ(gnn_runs_reader_next(reader, &range), GNN_OK) << gnn_err_text();
		EXPECT_EQ(range.first, first * 256);
		for (uint64_t i = 0; i < range.rows * row_bytes; i++)
			ASSERT_EQ(static_cast<const char *>(range.data)[i],
				byte_of(range.first + i / row_bytes, i % row_bytes));
		gnn_runs_reader_close(reader);
		reader = nullptr;
	}
	gnn_runs_destroy(runs);
	runs = nullptr;
	o.sealed_bytes -= 4096; // not the end of a run
	EXPECT_EQ(gnn_runs_create(&runs, &o), GNN_EDATA);
	std::filesystem::resize_file(path, 5000); // cut
	o.sealed_bytes += 4096;
	EXPECT_EQ(gnn_runs_create(&runs, &o), GNN_EDATA);
	EXPECT_NE(std::string(gnn_err_text()).find(path), std::string::npos) << gnn_err_text();
	std::filesystem::remove(path);
}

// They are on the file once they are sealed, and read from there by another process alone.
TEST_F(RunsTest, RowsThatStayAreReadFromMemory)
{
	const Case c = {3000, 40, 256, 1 << 20};
	struct gnn_runs_opts o;

	stay = true;
	o = opts(c);
	EXPECT_TRUE(gnn_runs_stay(&o));
	ASSERT_EQ(write(c), GNN_OK) << gnn_err_text();
	EXPECT_TRUE(gnn_runs_held(runs));
	EXPECT_EQ(gnn_runs_written_bytes(runs), 0u);
	EXPECT_EQ(read(c, 1), GNN_EOF) << gnn_err_text();
	for (int k = 0; k < 2; k++) {
		ASSERT_EQ(gnn_runs_seal(runs), GNN_OK) << gnn_err_text();
		EXPECT_EQ(gnn_runs_file_rows(runs), c.ids);
	}
	EXPECT_TRUE(gnn_runs_held(runs));
	ASSERT_EQ(gnn_fault_parse("read:eio%1"), GNN_OK);
	EXPECT_EQ(read(c, 3), GNN_EOF) << gnn_err_text();
	gnn_fault_clear();
	o.sealed_bytes = gnn_runs_file_bytes(runs);
	gnn_runs_destroy(runs);
	ASSERT_EQ(gnn_runs_create(&runs, &o), GNN_OK) << gnn_err_text();
	EXPECT_TRUE(gnn_runs_ended(runs));
	EXPECT_FALSE(gnn_runs_held(runs));
	EXPECT_EQ(read(c, 2), GNN_EOF) << gnn_err_text();
	gnn_runs_remove(runs);
	runs = nullptr;
}

// What was sealed on the way is on the file; so is the rest then.
TEST_F(RunsTest, RowsSealedBeforeTheEndDoNotStay)
{
	const uint64_t ids = 1000, row_bytes = 8;
	struct gnn_runs_opts o;

	stay = true;
	o = opts({ids, row_bytes, 256, 1 << 20});
	ASSERT_EQ(gnn_runs_create(&runs, &o), GNN_OK);
	for (uint64_t i = ids; i-- > 0;) {
		char row[row_bytes];

		for (uint64_t k = 0; k < row_bytes; k++)
			row[k] = byte_of(i, k);
		ASSERT_EQ(gnn_runs_push(runs, &i, 0, row, 1), GNN_OK);
		if (i == 400) {
			ASSERT_EQ(gnn_runs_seal(runs), GNN_OK) << gnn_err_text();
		}
	}
	ASSERT_EQ(gnn_runs_end(runs), GNN_OK) << gnn_err_text();
	EXPECT_FALSE(gnn_runs_held(runs));
	EXPECT_EQ(gnn_runs_file_rows(runs), ids);
	EXPECT_EQ(read({ids, row_bytes, 256, 0}, 2), GNN_EOF) << gnn_err_text();
	gnn_runs_remove(runs);
	runs = nullptr;
}

TEST_F(RunsTest, FullDiskAndReadErrorsAreSaid)
{
	ASSERT_EQ(gnn_fault_parse("write:enospc@5"), GNN_OK);
	EXPECT_EQ(write(ON_FILE), GNN_EIO);
	EXPECT_NE(std::string(gnn_err_text()).find("free"), std::string::npos) << gnn_err_text();
	gnn_runs_destroy(runs);
	runs = nullptr;
	ASSERT_EQ(gnn_fault_parse("read:eio@9"), GNN_OK);
	ASSERT_EQ(write(ON_FILE), GNN_OK);
	EXPECT_EQ(read(ON_FILE, 2), GNN_EIO);
}

TEST_F(RunsTest, EveryAllocationMayFail)
{
	for (int n = 1; n < 400; n++) {
		ASSERT_EQ(gnn_fault_parse(("alloc:fail@" + std::to_string(n)).c_str()), GNN_OK);
		int rc = write(ON_FILE);

		if (rc == GNN_OK)
			rc = read(ON_FILE, 2);
		gnn_runs_destroy(runs);
		runs = nullptr;
		if (rc == GNN_EOF)
			return;
		ASSERT_EQ(rc, GNN_EOS) << n;
	}
	FAIL() << "never whole";
}

} // namespace
