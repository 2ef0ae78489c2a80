// Containers: what is written comes back, under the rules of docs/formats.md, or not at all.
#include "base/fault.h"
#include "base/mem.h"
#include "io/container.h"
#include "io/store_schema.h"
#include "io/stream.h"
#include "unit/container_fixture.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <thread>

namespace
{

using ContainerTest = ContainerFixture;

TEST_F(ContainerTest, EverySizeComesBack)
{
	const uint64_t block = GNN_BLOCK_BYTES;
	std::vector<Array> arrays;

	for (uint64_t bytes : {uint64_t(0), uint64_t(1), uint64_t(4095), uint64_t(4096),
		     uint64_t(4097), block - 1, block, block + 1, 2 * block + 12345})
		arrays.push_back(
			{"size/" + std::to_string(bytes), GNN_U8, 1, bytes, 1, pattern(bytes)});
	ASSERT_EQ(write(arrays), GNN_OK) << gnn_err_text();
	open();
	ASSERT_EQ(gnn_container_count(container), arrays.size());
	for (const Array &a : arrays) {
		const struct gnn_array *found = gnn_container_find(container, a.name.c_str());
		ASSERT_NE(found, nullptr) << a.name;
		EXPECT_EQ(found->bytes, a.data.size());
		EXPECT_EQ(found->offset % 4096, 0u);
		EXPECT_EQ(load(*found), a.data) << a.name;
	}
}

TEST_F(ContainerTest, EveryTypeAndShapeIsDescribed)
{
	std::vector<Array> arrays;

	for (int t = 0; t < GNN_DTYPE_COUNT; t++)
		for (uint32_t rank : {1u, 2u}) {
			const auto type = static_cast<enum gnn_dtype>(t);
			const uint64_t cols = rank == 1 ? 1 : 5;
			arrays.push_back({"of/" + std::string(gnn_dtype_name(type)) +
						  std::to_string(rank),
				type, rank, 3, cols, pattern(3 * cols * gnn_dtype_bytes(type))});
		}
	arrays.push_back({"of/nothing", GNN_F32, 2, 0, 8, {}});
	arrays.push_back({"of/no_columns", GNN_F32, 2, 8, 0, {}});
	ASSERT_EQ(write(arrays), GNN_OK) << gnn_err_text();
	open();
	for (const Array &a : arrays) {
		const struct gnn_array *found = gnn_container_find(container, a.name.c_str());
		ASSERT_NE(found, nullptr) << a.name;
		EXPECT_EQ(found->dtype, a.dtype) << a.name;
		EXPECT_EQ(found->rank, a.rank) << a.name;
		EXPECT_EQ(found->rows, a.rows) << a.name;
		EXPECT_EQ(found->cols, a.cols) << a.name;
		EXPECT_EQ(load(*found), a.data) << a.name;
	}
}

TEST_F(ContainerTest, AttributesAreReplacedInPlace)
{
	const std::string json = "{\"inputs\":[\"gr\u00fcn.txt\"]}";
	uint64_t number;

	begin({{"x", GNN_U8, 1, 10, 1, pattern(10)}});
	const uint64_t before = std::filesystem::file_size(gnn_container_temp(writing));
	ASSERT_EQ(gnn_container_set_provenance(writing, json.c_str()), GNN_OK);
	ASSERT_EQ(gnn_container_set_number(writing, GNN_ATTR_EDGES, 1234567890123456789u), GNN_OK);
	EXPECT_EQ(gnn_container_set_number(writing, "no_such", 1), GNN_EBUG);
	push("x", pattern(10));
	ASSERT_EQ(gnn_container_commit(&writing), GNN_OK) << gnn_err_text();
	EXPECT_EQ(std::filesystem::file_size(path), before);
	open();
	EXPECT_EQ(gnn_container_provenance(container), json);
	EXPECT_STREQ(gnn_container_format(container), GNN_FORMAT_STORE);
	EXPECT_STREQ(gnn_container_text(container, GNN_ATTR_ORDER), "taurus");
	ASSERT_EQ(gnn_container_number(container, GNN_ATTR_EDGES, &number), GNN_OK);
	EXPECT_EQ(number, 1234567890123456789u);
	ASSERT_EQ(gnn_container_number(container, GNN_ATTR_VERTICES, &number), GNN_OK);
	EXPECT_EQ(number, 7u);
	EXPECT_EQ(gnn_container_number(container, "absent", &number), GNN_EDATA);
}

TEST_F(ContainerTest, ProvenanceThatDoesNotFitIsLeftOut)
{
	begin({});
	ASSERT_EQ(gnn_container_set_provenance(writing, std::string(8192, 'p').c_str()), GNN_OK);
	ASSERT_EQ(gnn_container_set_provenance(writing, std::string(8193, 'p').c_str()), GNN_OK);
	ASSERT_EQ(gnn_container_commit(&writing), GNN_OK) << gnn_err_text();
	open();
	EXPECT_STREQ(gnn_container_provenance(container), "{\"omitted\":\"too long\"}");
}

TEST_F(ContainerTest, ChecksumsAreThoseOfTheContract)
{
	const std::vector<char> data = pattern(2 * GNN_BLOCK_BYTES + 100);
	const uint64_t *sums;
	uint64_t count;

	ASSERT_EQ(write({{"x", GNN_U8, 1, data.size(), 1, data}}), GNN_OK) << gnn_err_text();
	open();
	ASSERT_EQ(gnn_container_checksums(
			  container, gnn_container_find(container, "x"), &sums, &count),
		GNN_OK);
	ASSERT_EQ(count, 3u);
	for (uint64_t b = 0; b < 3; b++) {
		const uint64_t first = b * GNN_BLOCK_BYTES;
		EXPECT_EQ(
			sums[b], XXH3_64bits(data.data() + first,
					 std::min<uint64_t>(GNN_BLOCK_BYTES, data.size() - first)));
	}
}

TEST_F(ContainerTest, TheSameInputGivesTheSameBytes)
{
	const std::vector<Array> arrays = {
		{"a/b", GNN_F32, 2, 100, 3, pattern(1200)}, {"c", GNN_U64, 1, 5, 1, pattern(40)}};

	ASSERT_EQ(write(arrays), GNN_OK);
	const std::vector<char> first = bytes_of(path);
	ASSERT_EQ(write(arrays), GNN_OK);
	EXPECT_EQ(bytes_of(path), first);
}

TEST_F(ContainerTest, WritersOfTwoArraysRunAtOnce)
{
	const std::vector<char> a = pattern(5 * GNN_BLOCK_BYTES + 4),
				b = pattern(3 * GNN_BLOCK_BYTES);

	begin({{"a", GNN_F32, 1, a.size() / 4, 1, {}}, {"b", GNN_U64, 1, b.size() / 8, 1, {}}});
	std::thread other([&] { push("a", a, 999983); });
	push("b", b, 4096);
	other.join();
	ASSERT_EQ(gnn_container_commit(&writing), GNN_OK) << gnn_err_text();
	open();
	EXPECT_EQ(load(*gnn_container_find(container, "a")), a);
	EXPECT_EQ(load(*gnn_container_find(container, "b")), b);
}

TEST_F(ContainerTest, PartsOfOneArrayMayHaveTheirOwnWriters)
{
	const std::vector<char> data = pattern(3 * GNN_BLOCK_BYTES + 8);
	const uint64_t cut = 2 * GNN_BLOCK_BYTES;

	begin({{"x", GNN_U64, 1, data.size() / 8, 1, {}}});
	push("x", {data.begin() + cut, data.end()}, 1 << 20, cut);
	push("x", {data.begin(), data.begin() + cut}, 1 << 20, 0);
	ASSERT_EQ(gnn_container_commit(&writing), GNN_OK) << gnn_err_text();
	open();
	EXPECT_EQ(load(*gnn_container_find(container, "x")), data);
}

TEST_F(ContainerTest, WhatWasNotWrittenIsNotPublished)
{
	struct gnn_array_writer *w;

	begin({{"x", GNN_U8, 1, 2 * GNN_BLOCK_BYTES, 1, {}}});
	ASSERT_EQ(gnn_array_writer_open(&w, writing, "x", 0), GNN_OK);
	const std::vector<char> block = pattern(GNN_BLOCK_BYTES);
	ASSERT_EQ(gnn_array_writer_push(w, block.data(), block.size()), GNN_OK);
	ASSERT_EQ(gnn_array_writer_push(w, block.data(), 5), GNN_OK);
	EXPECT_EQ(gnn_array_writer_close(&w), GNN_EBUG); /* inside a block */
	EXPECT_EQ(w, nullptr);
	EXPECT_EQ(gnn_container_commit(&writing), GNN_EBUG);
	EXPECT_NE(std::string(gnn_err_text()).find("block 0 of 2 of array x"), std::string::npos);
	EXPECT_EQ(writing, nullptr);
	EXPECT_TRUE(std::filesystem::is_empty(dir));
}

TEST_F(ContainerTest, TooMuchAndUnknownArraysAreBugs)
{
	struct gnn_array_writer *w;
	char bytes[11] = "";

	begin({{"x", GNN_U8, 1, 10, 1, {}}});
	EXPECT_EQ(gnn_array_writer_open(&w, writing, "y", 0), GNN_EBUG);
	ASSERT_EQ(gnn_array_writer_open(&w, writing, "x", 0), GNN_OK);
	EXPECT_EQ(gnn_array_writer_push(w, bytes, 11), GNN_EBUG);
	gnn_array_writer_abort(w);
	gnn_container_close(writing);
	writing = nullptr;
	EXPECT_TRUE(std::filesystem::is_empty(dir));
	const struct gnn_array twice[2] = {
		{"x", GNN_U8, 1, 1, 1, 0, 0}, {"x", GNN_U8, 1, 1, 1, 0, 0}};
	const struct gnn_container_opts o = options();
	EXPECT_EQ(gnn_container_create(&writing, &o, twice, 2, nullptr, 0), GNN_EBUG);
	EXPECT_EQ(writing, nullptr);
}

TEST_F(ContainerTest, AnOldFileStaysUntilTheNewOneIsWhole)
{
	ASSERT_EQ(write({{"x", GNN_U8, 1, 10, 1, pattern(10)}}), GNN_OK);
	const std::vector<char> before = bytes_of(path);
	begin({{"y", GNN_U8, 1, 10, 1, pattern(10)}});
	gnn_container_close(writing);
	writing = nullptr;
	EXPECT_EQ(bytes_of(path), before);
}

/* The n-th operation of each kind fails: nothing is published, nothing is left, nothing leaks. */
TEST_F(ContainerTest, EveryFaultWhileWritingLeavesNothing)
{
	const char *const kinds[] = {"alloc:fail", "write:eio", "write:enospc", "reserve:enospc",
		"fsync:eio", "close:eio", "rename:eio", "open:emfile"};
	struct gnn_mem_stats before, after;
	const std::vector<Array> arrays = {
		{"a", GNN_U8, 1, GNN_BLOCK_BYTES + 10, 1, pattern(GNN_BLOCK_BYTES + 10)},
		{"b", GNN_U8, 1, 10, 1, pattern(10)}};

	for (const char *kind : kinds) {
		int n = 1, rc = -1;
		for (; rc < 0 && n < 200; n++) {
			gnn_mem_stats(&before);
			ASSERT_EQ(gnn_fault_parse((kind + ("@" + std::to_string(n))).c_str()),
				GNN_OK);
			rc = write(arrays);
			gnn_fault_clear();
			if (rc < 0) {
				EXPECT_TRUE(rc == GNN_EOS || rc == GNN_EIO || rc == GNN_ECREAT)
					<< kind;
				EXPECT_STRNE(gnn_err_text(), "");
				/* The folder is synced last, when the name is there already. */
				EXPECT_TRUE(std::filesystem::is_empty(dir) ||
					    (kind == std::string("fsync:eio") && n > 1))
					<< kind << n;
			}
			gnn_mem_stats(&after);
			EXPECT_EQ(after.block_count, before.block_count) << kind << n;
		}
		EXPECT_GT(n, 2) << kind << " was never met";
		EXPECT_LT(n, 200) << kind;
		std::filesystem::remove(path);
	}
}

TEST_F(ContainerTest, EveryFaultWhileReadingIsAnError)
{
	const std::vector<char> data = pattern(GNN_BLOCK_BYTES + 10);
	const char *const kinds[] = {"alloc:fail", "open:eio", "read:eio", "read:eof", "read:flip"};
	struct gnn_mem_stats before, after;

	ASSERT_EQ(write({{"x", GNN_U8, 1, data.size(), 1, data}}), GNN_OK);
	for (const char *kind : kinds) {
		int n = 1, rc = -1;
		for (; rc < 0 && n < 200; n++) {
			std::vector<char> got(data.size());
			gnn_mem_stats(&before);
			ASSERT_EQ(gnn_fault_parse((kind + ("@" + std::to_string(n))).c_str()),
				GNN_OK);
			const struct gnn_container_opts o = options();
			rc = gnn_container_open(&container, &o);
			if (rc == GNN_OK)
				rc = gnn_array_load(container, gnn_container_find(container, "x"),
					0, data.size(), got.data());
			gnn_container_close(container);
			container = nullptr;
			gnn_fault_clear();
			EXPECT_TRUE(rc != GNN_OK || got == data) << kind << n;
			gnn_mem_stats(&after);
			EXPECT_EQ(after.block_count, before.block_count) << kind << n;
		}
		EXPECT_GT(n, 2) << kind << " was never met";
		EXPECT_LT(n, 200) << kind;
	}
}

TEST_F(ContainerTest, AReplacedFileIsNotReadOn)
{
	ASSERT_EQ(write({{"x", GNN_U8, 1, 10, 1, pattern(10)}}), GNN_OK);
	open();
	char got[10];

	ASSERT_EQ(write({{"x", GNN_U8, 1, 10, 1, pattern(10)}}), GNN_OK);
	EXPECT_EQ(gnn_array_load(container, gnn_container_at(container, 0), 0, 10, got), GNN_EDATA);
	EXPECT_NE(std::string(gnn_err_text()).find("replaced"), std::string::npos)
		<< gnn_err_text();
}

} // namespace
