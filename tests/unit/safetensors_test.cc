// Safetensors: what is written is read again; whatever lies, is cut or overlaps is refused.
#include "base/fault.h"
#include "base/mem.h"
#include "check/model_file.h"
#include "io/file.h"
#include "io/safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <unistd.h>

namespace {

// The tensor "t" with what stands behind its name.
std::string header(const std::string &entry)
{
	return "{\"t\":" + entry + "}";
}

struct Close {
	void operator()(gnn_safetensors *s) const { gnn_safetensors_close(s); }
};
using File = std::unique_ptr<gnn_safetensors, Close>;

struct Safetensors : ::testing::Test {
	const check::TempFile file{"test.safetensors"};

	void TearDown() override
	{
		gnn_fault_clear();
	}
	// Length field, header and data as given.
	void write_raw(uint64_t length, const std::string &header, const std::string &data)
	{
		std::ofstream out(file.path(), std::ios::binary);
		for (int i = 0; i < 8; i++)
			out.put(static_cast<char>(length >> (8 * i)));
		out << header << data;
	}
	void write_raw(const std::string &header, const std::string &data)
	{
		write_raw(header.size(), header, data);
	}
	File open()
	{
		gnn_safetensors *s = nullptr;
		EXPECT_EQ(gnn_safetensors_open(&s, file.path()), GNN_OK) << gnn_err_text();
		return File(s);
	}
	// The file is refused as bad data; the text names it and says `why`.
	void expect_refused(const std::string &why)
	{
		gnn_safetensors *s = nullptr;
		EXPECT_EQ(gnn_safetensors_open(&s, file.path()), GNN_EDATA) << why;
		EXPECT_EQ(s, nullptr);
		const std::string text = gnn_err_text();
		EXPECT_NE(text.find(why), std::string::npos) << text;
		EXPECT_EQ(text.find(file.path()), 0u) << text;
		EXPECT_EQ(text.find(file.path(), 1), std::string::npos) << text;
	}
	void expect_refused(const std::string &header, const std::string &data,
		const std::string &why)
	{
		write_raw(header, data);
		expect_refused(why);
	}
	std::vector<float> read(const std::string &dtype, uint64_t count, const std::string &data)
	{
		write_raw(header("{\"dtype\":\"" + dtype + "\",\"shape\":[" +
			std::to_string(count) + "],\"data_offsets\":[0," +
			std::to_string(data.size()) + "]}"), data);
		const File s = open();
		std::vector<float> values(count);
		EXPECT_EQ(gnn_safetensors_read_f32(s.get(), gnn_safetensors_find(s.get(), "t"),
			values.data()), GNN_OK) << gnn_err_text();
		return values;
	}
};

template <typename T>
std::string bytes(const std::vector<T> &values)
{
	return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
}

TEST_F(Safetensors, WhatIsWrittenIsReadAgain)
{
	const float weights[] = {1.5f, -2, 3e-40f, INFINITY, 0, -0.0f};
	const int64_t counter = 7;
	const uint16_t halves[] = {0x3c00, 0xc000, 0x7bff};
	const gnn_tensor_out tensors[] = {
		{"half", GNN_F16, 1, {3}, halves},
		{"convs.0.\"odd\\name\u00e9", GNN_F32, 2, {2, 3}, weights},
		{"empty", GNN_F32, 2, {0, 3}, weights},
		{"counter", GNN_I64, 0, {}, &counter},
	};
	const gnn_tensor_text texts[] = {{"format", "pt"}, {"gnnrun.arch", "a \"quoted\"\nline"}};
	const gnn_tensors_out content = {tensors, 4, texts, 2};

	ASSERT_EQ(gnn_safetensors_write(file.path(), &content), GNN_OK) << gnn_err_text();
	const File s = open();
	ASSERT_EQ(gnn_safetensors_count(s.get()), 4u);
	for (uint32_t i = 0; i < 4; i++) {
		const gnn_tensor *t = gnn_safetensors_at(s.get(), i);
		EXPECT_EQ(t->offset % (t->count > 0 ? t->bytes / t->count : 1), 0u) << t->name;
		EXPECT_EQ(gnn_safetensors_find(s.get(), t->name), t);
	}
	const gnn_tensor *w = gnn_safetensors_find(s.get(), tensors[1].name);
	ASSERT_NE(w, nullptr);
	EXPECT_STREQ(w->dtype, "F32");
	EXPECT_EQ(w->rank, 2u);
	EXPECT_EQ(w->shape[0], 2u);
	EXPECT_EQ(w->shape[1], 3u);
	float got[6];
	ASSERT_EQ(gnn_safetensors_read_f32(s.get(), w, got), GNN_OK);
	EXPECT_EQ(memcmp(got, weights, sizeof(weights)), 0);
	ASSERT_EQ(gnn_safetensors_read_f32(s.get(), gnn_safetensors_find(s.get(), "half"), got),
		GNN_OK);
	EXPECT_EQ(got[0], 1.0f);
	EXPECT_EQ(got[1], -2.0f);
	EXPECT_EQ(got[2], 65504.0f);
	EXPECT_EQ(gnn_safetensors_find(s.get(), "conv"), nullptr);
	gnn_tensor_text text;
	ASSERT_TRUE(gnn_safetensors_metadata(s.get(), 1, &text));
	EXPECT_STREQ(text.key, "gnnrun.arch");
	EXPECT_STREQ(text.value, "a \"quoted\"\nline");
	EXPECT_FALSE(gnn_safetensors_metadata(s.get(), 2, &text));
}

TEST_F(Safetensors, EveryTypeOfWeightIsWidened)
{
	const std::vector<float> want = {1.0f, -0.5f, 1024.0f};

	EXPECT_EQ(read("F32", 3, bytes<float>(want)), want);
	EXPECT_EQ(read("F64", 3, bytes<double>({1.0, -0.5, 1024.0})), want);
	EXPECT_EQ(read("F16", 3, bytes<uint16_t>({0x3c00, 0xb800, 0x6400})), want);
	EXPECT_EQ(read("BF16", 3, bytes<uint16_t>({0x3f80, 0xbf00, 0x4480})), want);
	EXPECT_EQ(read("F64", 1, bytes<double>({0.1})), std::vector<float>{0.1f});
	const std::vector<float> odd = read("F16", 3, bytes<uint16_t>({0x0001, 0x7c00, 0x7e00}));
	EXPECT_EQ(odd[0], 0x1p-24f);
	EXPECT_EQ(odd[1], INFINITY);
	EXPECT_TRUE(std::isnan(odd[2]));
}

TEST_F(Safetensors, DataNeedNotBeAligned)
{
	// A header of odd length, and one byte in front of the doubles.
	const std::string data = "\x01" + bytes<double>({3.25}) + bytes<float>({-7.5f});

	write_raw("{\"a\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[0,1]},"
		"\"d\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[1,9]},"
		"\"f\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[9,13]}} ", data);
	const File s = open();
	const auto read_one = [&](const char *name, float *to) {
		return gnn_safetensors_read_f32(s.get(), gnn_safetensors_find(s.get(), name), to);
	};
	float d = 0, f = 0;
	ASSERT_EQ(read_one("d", &d), GNN_OK);
	ASSERT_EQ(read_one("f", &f), GNN_OK);
	EXPECT_EQ(d, 3.25f);
	EXPECT_EQ(f, -7.5f);
	EXPECT_EQ(read_one("a", &f), GNN_EDATA);
	EXPECT_NE(std::string(gnn_err_text()).find("tensor a is BOOL, weights are F32"),
		std::string::npos);
}

TEST_F(Safetensors, NoSuchFile)
{
	gnn_safetensors *s = nullptr;

	EXPECT_EQ(gnn_safetensors_open(&s, file.path()), GNN_ENOENT);
	EXPECT_EQ(s, nullptr);
}

TEST_F(Safetensors, TooShortForAHeader)
{
	for (const size_t size : {0u, 1u, 7u}) {
		std::ofstream(file.path(), std::ios::binary) << std::string(size, '\1');
		expect_refused("too few");
	}
	write_raw(0, "", "");
	expect_refused("not JSON");
	write_raw(100, "{}", "");
	expect_refused("cut short: a header of 100 bytes, the file has 10");
}

TEST_F(Safetensors, AHugeHeaderLengthIsRefusedBeforeItIsRead)
{
	write_raw(UINT64_MAX, "{}", "");
	expect_refused("18446744073709551615 bytes, at most 100000000");
	write_raw(GNN_SAFETENSORS_HEADER_MAX + 1, "{}", "");
	ASSERT_EQ(truncate(file.path(), 200000000), 0); // sparse: the bytes would be there
	expect_refused("100000001 bytes, at most 100000000");
}

TEST_F(Safetensors, WhatIsNoJsonIsRefused)
{
	for (const std::string text : {"", "[]", "null", "{", "{\"t\"", "{\"t\":}", "{} x", "{}}",
		     "{\"t\":{\"dtype\":\"F32\",\"shape\":[NaN],\"data_offsets\":[0,4]}}",
		     "{\"t\":\"unterminated", "{\"a\":1,", " {}"})
		expect_refused(text, "", "not JSON");
	expect_refused(std::string(100000, '[') + std::string(100000, ']'), "", "not JSON");
	expect_refused("{\"t\":" + std::string(5000, '[') + std::string(5000, ']') + "}", "",
		"not JSON");
	write_raw("{}", "");
	EXPECT_EQ(gnn_safetensors_count(open().get()), 0u);
	write_raw("{}      \n", "");
	EXPECT_EQ(gnn_safetensors_count(open().get()), 0u);
}

TEST_F(Safetensors, EntriesThatAreNoTensorsAreRefused)
{
	for (const std::string entry : {"1", "\"F32\"", "[]", "null", "{}",
		     "{\"dtype\":\"F32\",\"shape\":[1]}",
		     "{\"dtype\":5,\"shape\":[1],\"data_offsets\":[0,4]}",
		     "{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"more\":1}"})
		expect_refused(header(entry), "abcd", "wanted dtype, shape and data_offsets");
	expect_refused(header("{\"dtype\":\"F31\",\"shape\":[1],\"data_offsets\":[0,4]}"), "abcd",
		"dtype F31 is unknown");
	expect_refused(header("{\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]}"), "abcd",
		"shape is not a list");
	expect_refused("{\"a\\u0007b\":{}}", "", "control characters");
}

TEST_F(Safetensors, DimensionsThatAreNoCountsAreRefused)
{
	for (const std::string dim : {"-1", "0.5", "1e999", "-0.1", "null", "\"1\"", "true",
		     "[1]", "9007199254740994"})
		expect_refused(header("{\"dtype\":\"F32\",\"shape\":[" + dim +
			"],\"data_offsets\":[0,4]}"), "abcd", "not a whole number");
	expect_refused(header("{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296,2],"
		"\"data_offsets\":[0,4]}"), "abcd", "more than 2^64");
	expect_refused(header("{\"dtype\":\"F32\",\"shape\":[4294967296,4294967295],"
		"\"data_offsets\":[0,4]}"), "abcd", "its shape takes");
	expect_refused(header("{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],"
		"\"data_offsets\":[0,4]}"), "abcd", "more than 8 dimensions");
}

TEST_F(Safetensors, OffsetsThatLieAreRefused)
{
	for (const std::string range : {"[0]", "[0,4,8]", "[4,0]", "[-4,0]", "[0.5,4.5]", "4",
		     "[null,4]", "[0,1e999]", "{}", "[]"})
		expect_refused(header("{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":" + range +
			"}"), "abcd", "data_offsets is no range");
	expect_refused(header("{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}"), "abcd",
		"hold 4 bytes, its shape takes 2 items of 4");
	expect_refused(header("{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}"), "abcd",
		"cut short: tensor t ends at byte 8 of data, 4 are there");
	expect_refused(header("{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}"),
		"abcdefgh", "leaving a gap");
	expect_refused(header("{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}"),
		"abcdefgh", "4 bytes behind the last tensor belong to none");
}

TEST_F(Safetensors, TensorsThatOverlapAreRefused)
{
	const std::string a = "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},";

	expect_refused(a + "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
		"abcdefgh", "tensor b: begins at byte 4 of the data, inside another tensor");
	expect_refused(a + "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
		"abcdefgh", "inside another tensor");
	expect_refused(a + "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]}}",
		"abcdefghijkl", "tensor a is listed twice");
}

TEST_F(Safetensors, MetadataMustBeTexts)
{
	expect_refused("{\"__metadata__\":[]}", "", "not an object");
	expect_refused("{\"__metadata__\":{\"a\":1}}", "", "a value is not a text");
	expect_refused("{\"__metadata__\":{},\"__metadata__\":{}}", "", "given twice");
}

// Every prefix of a sound file is refused, whatever it cuts.
TEST_F(Safetensors, CutShortAnywhere)
{
	check::write_tensors(file.path(), {{"a", {{2}, {1, 2}}}, {"b", {{1}, {3}}}},
		{{"gnnrun.arch", "gcn"}});
	std::ifstream in(file.path(), std::ios::binary);
	const std::string whole((std::istreambuf_iterator<char>(in)), {});

	for (size_t size = 0; size < whole.size(); size++) {
		std::ofstream(file.path(), std::ios::binary) << whole.substr(0, size);
		gnn_safetensors *s = nullptr;
		EXPECT_EQ(gnn_safetensors_open(&s, file.path()), GNN_EDATA) << size;
	}
}

// Any single byte of the header changed: refused or read, never a crash or a read outside.
TEST_F(Safetensors, AnyByteOfTheHeaderMayBeWrong)
{
	check::write_tensors(file.path(), {{"a", {{2}, {1, 2}}}, {"b", {{1}, {3}}}},
		{{"gnnrun.arch", "gcn"}});
	std::ifstream in(file.path(), std::ios::binary);
	const std::string whole((std::istreambuf_iterator<char>(in)), {});
	int refused = 0;

	for (size_t at = 0; at < whole.size() - 12; at++)
		for (const char wrong : {'\0', '"', '{', '9', '-', '\xff'}) {
			std::string bad = whole;
			bad[at] = wrong;
			std::ofstream(file.path(), std::ios::binary) << bad;
			gnn_safetensors *s = nullptr;
			const int rc = gnn_safetensors_open(&s, file.path());
			EXPECT_TRUE(rc == GNN_OK || rc == GNN_EDATA) << gnn_err_text();
			refused += rc == GNN_EDATA;
			for (uint32_t i = 0; rc == GNN_OK && i < gnn_safetensors_count(s); i++) {
				const gnn_tensor *t = gnn_safetensors_at(s, i);
				std::vector<float> to(t->count);
				gnn_safetensors_read_f32(s, t, to.data());
			}
			gnn_safetensors_close(s);
		}
	EXPECT_GT(refused, 500);
}

// safetensors#668: a writer made what its own reader refuses.
TEST_F(Safetensors, S07AHeaderOverTheCapIsNotWritten)
{
	std::vector<std::string> names;
	std::vector<gnn_tensor_out> tensors;
	const float value = 1;

	for (int i = 0; i < 101; i++)
		names.push_back(std::string(1000000, 'n') + std::to_string(i));
	for (const std::string &name : names)
		tensors.push_back({name.c_str(), GNN_F32, 1, {1}, &value});
	gnn_tensors_out content = {tensors.data(), 101, nullptr, 0};
	EXPECT_EQ(gnn_safetensors_write(file.path(), &content), GNN_ECREAT);
	EXPECT_NE(std::string(gnn_err_text()).find("readers accept 100000000"), std::string::npos);
	EXPECT_FALSE(gnn_file_exists(file.path()));
	content.tensor_count = 99;
	ASSERT_EQ(gnn_safetensors_write(file.path(), &content), GNN_OK) << gnn_err_text();
	EXPECT_EQ(gnn_safetensors_count(open().get()), 99u);
}

TEST_F(Safetensors, AFailedWriteLeavesTheOldFile)
{
	const check::Layer old = {{"old", {{1}, {1}}}}, fresh = {{"new", {{1}, {2}}}};

	check::write_tensors(file.path(), old);
	for (const char *fault : {"write:enospc@1", "write:eio@2", "fsync:eio@1", "rename:eio@1"}) {
		ASSERT_EQ(gnn_fault_parse(fault), GNN_OK);
		EXPECT_THROW(check::write_tensors(file.path(), fresh), std::runtime_error) << fault;
		gnn_fault_clear();
		EXPECT_NE(gnn_safetensors_find(open().get(), "old"), nullptr) << fault;
	}
}

TEST_F(Safetensors, FailingAllocationsAndReadsAreReported)
{
	check::write_tensors(file.path(), {{"a", {{2}, {1, 2}}}}, {{"k", "v"}});
	for (const std::string what : {"alloc:fail@", "read:eio@"}) {
		int failures = 0;
		for (int n = 1; n < 60; n++) {
			struct gnn_mem_stats before, after;
			gnn_safetensors *s = nullptr;
			float to[2];
			gnn_mem_stats(&before);
			ASSERT_EQ(gnn_fault_parse((what + std::to_string(n)).c_str()), GNN_OK);
			int rc = gnn_safetensors_open(&s, file.path());
			if (rc == GNN_OK)
				rc = gnn_safetensors_read_f32(s, gnn_safetensors_at(s, 0), to);
			gnn_safetensors_close(s);
			gnn_fault_clear();
			gnn_mem_stats(&after);
			EXPECT_TRUE(rc == GNN_OK || rc == GNN_EOS || rc == GNN_EIO) << rc;
			EXPECT_EQ(before.block_count, after.block_count);
			failures += rc != GNN_OK;
		}
		EXPECT_GE(failures, 3) << what;
		EXPECT_LT(failures, 59) << what;
	}
}

} // namespace
