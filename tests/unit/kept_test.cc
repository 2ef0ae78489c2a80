// Kept rows: what was put comes back from memory and from scratch, whole and where it belongs.
#include "infer/kept.h"
#include "unit/folder_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace {

struct KeptTest : ::testing::Test {
	struct gnn_backend *cpu = nullptr;
	Folder box;
	std::string folder;

	void SetUp() override
	{
		struct gnn_backend_opts o = {};
		box.enter();
		folder = box.dir.string();
		o.threads = 2;
		ASSERT_EQ(gnn_backend_create(&cpu, "cpu", &o), GNN_OK);
	}
	void TearDown() override
	{
		gnn_backend_destroy(cpu);
		box.leave();
	}
	struct gnn_kept_opts opts(enum gnn_rows_kind kind, uint64_t vertices, uint32_t width,
		uint32_t own_width = 0, gnn_vid own_first = 0) const
	{
		struct gnn_kept_opts o = {};
		o.backend = cpu;
		o.kind = kind;
		o.vertices = vertices;
		o.width = width;
		o.own_width = own_width;
		o.own_first = own_first;
		o.block_rows = 256;
		o.folder = folder.c_str();
		o.label = "layer2-in";
		o.engine = GNN_DIO_PREAD;
		o.slot_bytes = GNN_PAGE_BYTES;
		o.range_rows = 256;
		o.arena_bytes = 64 << 10;
		return o;
	}
};

std::vector<float> random_rows(uint64_t count)
{
	std::mt19937 random(7);
	std::vector<float> out(count);
	for (float &x : out)
		x = static_cast<float>(random() % 100000) / 7.0f;
	return out;
}

// All floats of the rows, as a pass reads them.
int read_all(const struct gnn_rows &rows, uint64_t chunk, std::vector<float> *out)
{
	const struct gnn_rows_opts o = {chunk, 2, 1, true};
	struct gnn_rows_reader *r = nullptr;
	int rc = gnn_rows_open(&r, &rows, &o);

	out->clear();
	for (uint64_t at = 0; rc == GNN_OK && at < rows.count; at += chunk) {
		struct gnn_rows_part part;
		rc = gnn_rows_next(r, &part);
		if (rc != GNN_OK)
			break;
		const float *data = static_cast<const float *>(part.data);
		const uint64_t n = std::min(chunk, rows.count - at);
		out->insert(out->end(), data, data + n * rows.width);
		gnn_rows_put(r, &part);
	}
	gnn_rows_close(r);
	return rc;
}

TEST_F(KeptTest, WhatWasPutComesBack)
{
	for (const enum gnn_rows_kind kind : {GNN_ROWS_MEMORY, GNN_ROWS_FILE}) {
		for (const uint64_t vertices : {1, 255, 256, 1000}) {
			for (const uint64_t pitch : {20, 31}) {
				if (kind == GNN_ROWS_FILE && pitch != 20)
					continue; // pushed from where they lie
				const struct gnn_kept_opts o = opts(kind, vertices, 20);
				const std::vector<float> rows = random_rows(vertices * pitch);
				std::vector<float> found, wanted;
				struct gnn_kept *k = nullptr;

				ASSERT_EQ(gnn_kept_open(&k, &o), GNN_OK) << gnn_err_text();
				for (uint64_t v = 0; v < vertices; v += 256)
					ASSERT_EQ(gnn_kept_put(k, v, std::min<uint64_t>(256,
						vertices - v), &rows[v * pitch], pitch), GNN_OK);
				ASSERT_EQ(gnn_kept_finish(k), GNN_OK);
				for (uint64_t v = 0; v < vertices; v++)
					wanted.insert(wanted.end(), &rows[v * pitch],
						&rows[v * pitch] + 20);
				EXPECT_EQ(read_all(gnn_kept_rows(k), 256, &found), GNN_OK);
				EXPECT_TRUE(found == wanted);
				gnn_kept_drop(k);
				EXPECT_TRUE(std::filesystem::is_empty(folder));
			}
		}
	}
	gnn_kept_drop(nullptr);
	gnn_kept_leave(nullptr);
}

TEST_F(KeptTest, OwnColumnsHaveTheirFileFromTheirFirstRowOn)
{
	const uint64_t vertices = 1000, width = 6, own = 3, first = 512;
	const struct gnn_kept_opts o = opts(GNN_ROWS_FILE, vertices, width, own, first);
	const std::vector<float> rows = random_rows(vertices * (width + own));
	std::vector<float> found, main_part, own_part;
	struct gnn_kept *k = nullptr;

	ASSERT_EQ(gnn_kept_open(&k, &o), GNN_OK);
	for (uint64_t v = 0; v < vertices; v += 200)
		ASSERT_EQ(gnn_kept_put(k, v, 200, &rows[v * (width + own)], width + own), GNN_OK);
	ASSERT_EQ(gnn_kept_finish(k), GNN_OK);
	for (uint64_t v = 0; v < vertices; v++) {
		const float *row = &rows[v * (width + own)];
		main_part.insert(main_part.end(), row, row + width);
		if (v >= 768)
			own_part.insert(own_part.end(), row + width, row + width + own);
	}
	EXPECT_EQ(read_all(gnn_kept_rows(k), 256, &found), GNN_OK);
	EXPECT_TRUE(found == main_part);
	EXPECT_EQ(read_all(gnn_kept_own(k, 800, vertices, 256), 256, &found), GNN_OK);
	EXPECT_TRUE(found == own_part);
	EXPECT_GE(gnn_kept_written_bytes(k), vertices * width * 4 + (vertices - first) * own * 4);
	EXPECT_GE(gnn_kept_scratch_bytes(&o), gnn_kept_written_bytes(k));
	gnn_kept_leave(k);
	EXPECT_TRUE(std::filesystem::exists(folder + "/layer2-in.rows"));
	EXPECT_TRUE(std::filesystem::exists(folder + "/layer2-in.own"));
}

TEST_F(KeptTest, RowsInAnyOrderComeBackInOrder)
{
	const uint64_t vertices = 3000, width = 9;
	const struct gnn_kept_opts o = opts(GNN_ROWS_RUNS, vertices, width);
	const std::vector<float> rows = random_rows(vertices * width);
	std::vector<uint64_t> ids(vertices);
	std::vector<float> found, some;
	struct gnn_kept *k = nullptr;

	for (uint64_t v = 0; v < vertices; v++)
		ids[v] = v;
	std::shuffle(ids.begin(), ids.end(), std::mt19937(3));
	ASSERT_EQ(gnn_kept_open(&k, &o), GNN_OK) << gnn_err_text();
	for (uint64_t at = 0; at < vertices; at += 250) {
		some.clear();
		for (uint64_t i = 0; i < 250; i++)
			some.insert(some.end(), &rows[ids[at + i] * width],
				&rows[ids[at + i] * width] + width);
		ASSERT_EQ(gnn_kept_put_any(k, &ids[at], 250, some.data()), GNN_OK);
	}
	ASSERT_EQ(gnn_kept_finish(k), GNN_OK) << gnn_err_text();
	EXPECT_EQ(read_all(gnn_kept_rows(k), 256, &found), GNN_OK) << gnn_err_text();
	EXPECT_TRUE(found == rows);
	gnn_kept_drop(k);
	EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(KeptTest, SealedRowsAreGoneOnWith)
{
	const uint64_t vertices = 1000, width = 20;
	struct gnn_kept_opts o = opts(GNN_ROWS_FILE, vertices, width);
	const std::vector<float> rows = random_rows(vertices * width);
	std::vector<float> found;
	struct gnn_kept *k = nullptr;

	ASSERT_EQ(gnn_kept_open(&k, &o), GNN_OK);
	ASSERT_EQ(gnn_kept_put(k, 0, 256, rows.data(), width), GNN_OK);
	ASSERT_EQ(gnn_kept_seal(k), GNN_OK);
	const std::vector<uint64_t> sums(k->rows->sums, k->rows->sums + 1);
	gnn_kept_leave(k);
	o.reopen = true;
	o.sealed_rows = 256;
	o.row_sums = sums.data();
	ASSERT_EQ(gnn_kept_open(&k, &o), GNN_OK) << gnn_err_text();
	EXPECT_EQ(k->put_rows, 256u);
	for (uint64_t v = 256; v < vertices; v += 256)
		ASSERT_EQ(gnn_kept_put(k, v, std::min<uint64_t>(256, vertices - v),
			&rows[v * width], width), GNN_OK);
	ASSERT_EQ(gnn_kept_finish(k), GNN_OK);
	EXPECT_EQ(read_all(gnn_kept_rows(k), 256, &found), GNN_OK);
	EXPECT_TRUE(found == rows);
	gnn_kept_leave(k);
	std::filesystem::resize_file(folder + "/layer2-in.rows", 100); // cut
	EXPECT_EQ(gnn_kept_open(&k, &o), GNN_EDATA);
	EXPECT_NE(std::string(gnn_err_text()).find("layer2-in.rows"), std::string::npos);
}

TEST_F(KeptTest, NothingLeaksWhenMemoryOrDiskIsRefused)
{
	struct gnn_mem_stats before, after;

	gnn_mem_stats(&before);
	for (const enum gnn_rows_kind kind : {GNN_ROWS_MEMORY, GNN_ROWS_FILE, GNN_ROWS_RUNS}) {
		const struct gnn_kept_opts o = opts(kind, 1000, 8, kind == GNN_ROWS_FILE ? 4 : 0);
		for (int n = 1, rc = GNN_EOS; rc != GNN_OK; n++) {
			struct gnn_kept *k = nullptr;
			ASSERT_EQ(gnn_fault_parse(("alloc:fail@" + std::to_string(n)).c_str()),
				GNN_OK);
			rc = gnn_kept_open(&k, &o);
			gnn_fault_clear();
			ASSERT_TRUE(rc == GNN_OK || (rc == GNN_EOS && k == nullptr));
			gnn_kept_drop(k);
			ASSERT_LT(n, 200);
		}
	}
	const struct gnn_kept_opts o = opts(GNN_ROWS_FILE, 100000, 8);
	struct gnn_kept *k = nullptr;
	ASSERT_EQ(gnn_fault_parse("reserve:enospc@1"), GNN_OK);
	EXPECT_EQ(gnn_kept_open(&k, &o), GNN_EIO);
	EXPECT_EQ(k, nullptr);
	gnn_mem_stats(&after);
	EXPECT_EQ(after.block_count, before.block_count);
}

} // namespace
