// One valid object: digits kept, what is not finite null, what is not UTF-8 repaired.
#include "base/fault.h"
#include "base/json.h"
#include "base/mem.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace {

std::string line_of(struct gnn_json *j)
{
	char *text = nullptr;
	EXPECT_EQ(gnn_json_line(j, &text), GNN_OK) << gnn_err_text();
	std::string line = text != nullptr ? text : "";
	gnn_mem_free(text);
	gnn_json_destroy(j);
	return line;
}

TEST(JsonTest, ValuesOfEveryKind)
{
	struct gnn_json *j = nullptr;
	ASSERT_EQ(gnn_json_create(&j), GNN_OK);
	gnn_json_u64(j, "most", UINT64_MAX);
	gnn_json_real(j, "real", 0.05);
	gnn_json_real(j, "nan", NAN);
	gnn_json_real(j, "inf", -INFINITY);
	gnn_json_bool(j, "yes", true);
	gnn_json_text(j, "none", nullptr);
	gnn_json_open_array(j, "layers");
	for (uint64_t i = 0; i < 2; i++) {
		gnn_json_open_object(j, nullptr);
		gnn_json_u64(j, "index", i);
		gnn_json_shut(j);
	}
	gnn_json_shut(j);
	gnn_json_text(j, "last", "a\"b\\c\n");
	EXPECT_EQ(line_of(j),
		"{\"most\":18446744073709551615,\"real\":0.05,\"nan\":null,\"inf\":null,"
		"\"yes\":true,\"none\":null,\"layers\":[{\"index\":0},{\"index\":1}],"
		"\"last\":\"a\\\"b\\\\c\\n\"}");
}

TEST(JsonTest, TextThatIsNotUtf8IsRepaired)
{
	const struct {
		const char *from, *to;
	} cases[] = {
		{"caf\xc3\xa9", "caf\xc3\xa9"},
		{"caf\xe9", "caf\xef\xbf\xbd"},
		{"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
		{"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xf5\x80\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
	};
	for (const auto &k : cases) {
		struct gnn_json *j = nullptr;
		ASSERT_EQ(gnn_json_create(&j), GNN_OK);
		gnn_json_text(j, "t", k.from);
		EXPECT_EQ(line_of(j), "{\"t\":\"" + std::string(k.to) + "\"}");
	}
}

TEST(JsonTest, ARefusedAllocationIsSaidAtTheEnd)
{
	struct gnn_mem_stats before, after;
	gnn_json_use_budget();
	gnn_mem_stats(&before);
	int refused = 0;
	for (int n = 1;; n++) {
		struct gnn_json *j = nullptr;
		char *text = nullptr;
		ASSERT_EQ(gnn_fault_parse(("alloc:fail@" + std::to_string(n)).c_str()), GNN_OK);
		int rc = gnn_json_create(&j);
		if (rc == GNN_OK) {
			gnn_json_open_array(j, "list");
			gnn_json_open_object(j, nullptr);
			gnn_json_text(j, "a", "b");
			gnn_json_shut(j);
			gnn_json_u64(j, nullptr, 1);
			gnn_json_shut(j);
			gnn_json_real(j, "x", 1.5);
			rc = gnn_json_line(j, &text);
			gnn_json_destroy(j);
		}
		gnn_fault_clear();
		gnn_mem_free(text);
		if (rc == GNN_OK)
			break;
		EXPECT_EQ(rc, GNN_EOS);
		EXPECT_EQ(text, nullptr);
		gnn_mem_stats(&after);
		EXPECT_EQ(after.block_count, before.block_count);
		refused++;
	}
	EXPECT_GT(refused, 8);
}

} // namespace
