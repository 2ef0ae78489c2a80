// The manifest: what was written is read, or the old one is; anything else is 65 or a first run.
#include "infer/manifest.h"
#include "unit/folder_fixture.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

namespace {

struct ManifestTest : ::testing::Test {
	Folder box;
	std::string folder, path;

	void SetUp() override
	{
		box.enter();
		folder = box.dir.string();
		path = folder + "/manifest.json";
	}
	void TearDown() override
	{
		box.leave();
	}
	std::string content() const
	{
		std::stringstream text;
		text << std::ifstream(path, std::ios::binary).rdbuf();
		return text.str();
	}
	void put(const std::string &text) const
	{
		std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
	}
};

// Everything at its largest: 64 layers, odd texts, counts as large as JSON's numbers hold.
void fill(struct gnn_manifest *m)
{
	*m = {};
	gnn_manifest_fact(m, "model", "ffffffffffffffff");
	gnn_manifest_fact(m, "odd", "a \"text\" with \\ and \n in it, and \xc3\xa4");
	m->plan = GNN_PLAN_PARTITIONED;
	m->level = 7;
	m->chunk_bytes = UINT64_C(1) << 40;
	m->layer_count = GNN_LAYERS_MAX;
	for (uint32_t l = 0; l < m->layer_count; l++) {
		m->shards[l] = l + 1;
		m->messages[l] = (UINT64_C(1) << 53) - l;
	}
	m->position = {3, 5, GNN_STEP_SEAL, (UINT64_C(1) << 53) - 1, true};
	for (uint64_t i = 0; i < 3; i++) {
		struct gnn_manifest_file *f = gnn_manifest_add(m,
			("layer" + std::to_string(i) + ".rows").c_str(), i);
		ASSERT_NE(f, nullptr);
		f->first_row = i;
		f->rows = (UINT64_C(1) << 40) + i;
		f->row_bytes = 512;
		f->sealed_rows = 100 * i;
		f->sealed_bytes = 7 * i;
		for (uint64_t k = 0; k < i; k++)
			f->sums[k] = UINT64_MAX - k;
	}
}

void expect_same(const struct gnn_manifest *a, const struct gnn_manifest *b)
{
	EXPECT_EQ(a->plan, b->plan);
	EXPECT_EQ(a->level, b->level);
	EXPECT_EQ(a->chunk_bytes, b->chunk_bytes);
	ASSERT_EQ(a->layer_count, b->layer_count);
	for (uint32_t l = 0; l < a->layer_count; l++) {
		EXPECT_EQ(a->shards[l], b->shards[l]);
		EXPECT_EQ(a->messages[l], b->messages[l]);
	}
	EXPECT_EQ(a->position.layer, b->position.layer);
	EXPECT_EQ(a->position.pass, b->position.pass);
	EXPECT_EQ(a->position.step, b->position.step);
	EXPECT_EQ(a->position.row, b->position.row);
	EXPECT_EQ(a->position.states, b->position.states);
	ASSERT_EQ(a->fact_count, b->fact_count);
	for (uint32_t i = 0; i < a->fact_count; i++) {
		EXPECT_STREQ(a->fact[i].name, b->fact[i].name);
		EXPECT_STREQ(a->fact[i].value, b->fact[i].value);
	}
	ASSERT_EQ(a->file_count, b->file_count);
	for (uint32_t i = 0; i < a->file_count; i++) {
		EXPECT_STREQ(a->file[i].label, b->file[i].label);
		EXPECT_EQ(a->file[i].first_row, b->file[i].first_row);
		EXPECT_EQ(a->file[i].rows, b->file[i].rows);
		EXPECT_EQ(a->file[i].row_bytes, b->file[i].row_bytes);
		EXPECT_EQ(a->file[i].sealed_rows, b->file[i].sealed_rows);
		ASSERT_EQ(a->file[i].sum_count, b->file[i].sum_count);
		for (uint64_t k = 0; k < a->file[i].sum_count; k++)
			EXPECT_EQ(a->file[i].sums[k], b->file[i].sums[k]);
	}
}

TEST_F(ManifestTest, WhatIsWrittenIsReadToTheLastDigit)
{
	struct gnn_manifest m, found = {};
	EXPECT_EQ(gnn_manifest_read(&found, folder.c_str()), GNN_SKIPPED);
	gnn_manifest_fini(&found);
	fill(&m);
	ASSERT_EQ(gnn_manifest_write(&m, folder.c_str()), GNN_OK) << gnn_err_text();
	ASSERT_EQ(gnn_manifest_read(&found, folder.c_str()), GNN_OK) << gnn_err_text();
	expect_same(&m, &found);
	EXPECT_NE(gnn_manifest_find(&found, "layer2.rows"), nullptr);
	EXPECT_EQ(gnn_manifest_find(&found, "layer9.rows"), nullptr);
	gnn_manifest_fini(&found);
	gnn_manifest_fini(&m);
	gnn_manifest_fini(&m);
}

TEST_F(ManifestTest, EachCutAndEachFlippedBitIsFound)
{
	struct gnn_manifest m, found = {};
	fill(&m);
	ASSERT_EQ(gnn_manifest_write(&m, folder.c_str()), GNN_OK);
	gnn_manifest_fini(&m);
	const std::string whole = content();
	std::mt19937_64 random(9);
	for (int i = 0; i < 400; i++) {
		std::string text = whole;
		if (i < 200)
			text.resize(i < 20 ? static_cast<size_t>(i) : random() % whole.size());
		else
			text[random() % (whole.size() - 1)] ^= static_cast<char>(1 << (i % 8));
		if (text == whole)
			continue;
		put(text);
		const int rc = gnn_manifest_read(&found, folder.c_str());
		// The newline behind the checksum alone may be missed.
		if (text + "\n" == whole && rc == GNN_OK) {
			gnn_manifest_fini(&found);
			continue;
		}
		ASSERT_EQ(rc, GNN_EDATA) << i << ": " << text.substr(0, 100);
		EXPECT_NE(std::string(gnn_err_text()).find("manifest"), std::string::npos);
		gnn_manifest_fini(&found);
	}
	for (const char *text : {"", "\n", "{}", "{}\n0\n", "null\n",
		     "[1,2]\n0123456789abcdef\n"}) {
		put(text);
		EXPECT_EQ(gnn_manifest_read(&found, folder.c_str()), GNN_EDATA) << text;
		gnn_manifest_fini(&found);
	}
}

TEST_F(ManifestTest, AFailedWriteLeavesTheOldOne)
{
	struct gnn_manifest m, found = {};
	struct gnn_mem_stats before, after;
	fill(&m);
	ASSERT_EQ(gnn_manifest_write(&m, folder.c_str()), GNN_OK);
	const std::string old = content();
	m.position.row = 4;
	for (const char *spec : {"write:enospc@1", "fsync:eio@1", "rename:eio@1",
		     "open:eacces@1"}) {
		ASSERT_EQ(gnn_fault_parse(spec), GNN_OK);
		EXPECT_LT(gnn_manifest_write(&m, folder.c_str()), 0) << spec;
		gnn_fault_clear();
		EXPECT_EQ(content(), old) << spec;
	}
	gnn_mem_stats(&before);
	for (int n = 1, rc = GNN_EOS; rc != GNN_OK; n++) {
		ASSERT_EQ(gnn_fault_parse(("alloc:fail@" + std::to_string(n)).c_str()), GNN_OK);
		rc = gnn_manifest_read(&found, folder.c_str());
		gnn_fault_clear();
		ASSERT_TRUE(rc == GNN_OK || rc == GNN_EOS) << rc << gnn_err_text();
		gnn_manifest_fini(&found);
	}
	gnn_mem_stats(&after);
	EXPECT_EQ(after.block_count, before.block_count);
	gnn_manifest_fini(&m);
	EXPECT_LT(gnn_manifest_write(&m, (folder + "/none").c_str()), 0);
}

} // namespace
