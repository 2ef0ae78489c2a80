// The command line wins over the file, the file over the default, and what is wrong is refused
// with its place.
#include "base/cmdline.h"
#include "base/config_print.h"
#include "base/decl.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/options.h"
#include "base/setting.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

const struct gnn_command commands[GNN_CMD_COUNT] = {
	{"import", "SOURCE STORE.h5", "", 2, 2, nullptr},
	{"generate", "KIND STORE.h5", "", 2, 2, nullptr},
	{"info", "STORE.h5", "", 1, 1, nullptr},
	{"reorder", "STORE.h5 OUT.h5", "", 2, 2, nullptr},
	{"infer", "STORE.h5", "", 1, 1, nullptr},
	{"export", "FILE.h5 OUT.npy", "", 2, 2, nullptr},
	{"model", "M", "", 1, 1, nullptr},
	{"doctor", "[FOLDER]", "", 0, 1, nullptr},
};

struct ConfigTest : ::testing::Test {
	struct gnn_config c = {};
	std::string folder, file;
	std::vector<std::string> words;

	void SetUp() override
	{
		char name[] = "/tmp/gnnrun-config-XXXXXX";
		folder = mkdtemp(name);
		file = folder + "/run.yaml";
	}
	void TearDown() override
	{
		gnn_config_fini(&c);
		unlink(file.c_str());
		rmdir(folder.c_str());
		gnn_fault_clear();
	}
	int read(std::vector<std::string> more)
	{
		std::vector<char *> argv;
		gnn_config_fini(&c);
		words = std::move(more);
		words.insert(words.begin(), "gnnrun");
		for (std::string &w : words)
			argv.push_back(w.data());
		return gnn_cmdline_read(&c, commands, static_cast<int>(argv.size()), argv.data());
	}
	int read_file(const std::string &text, std::vector<std::string> more = {})
	{
		std::ofstream(file, std::ios::binary) << text;
		more.insert(more.begin(), {"infer", "g.h5", "--config", file});
		return read(more);
	}
	// The text of a failure, without the folder in front of the file's name.
	std::string why() const
	{
		std::string text = gnn_err_text();
		if (text.rfind(folder + "/", 0) == 0)
			text.erase(0, folder.size() + 1);
		return text;
	}
	enum gnn_source source(const char *name) const
	{
		uint32_t count;
		bool negated;
		const struct gnn_option *o =
			gnn_option_find(name, strlen(name), c.command, &negated);
		return c.origin[o - gnn_options(&count)].source;
	}
};

TEST_F(ConfigTest, DefaultsStandWithoutAnything)
{
	ASSERT_EQ(read({"infer", "g.h5"}), GNN_OK) << gnn_err_text();
	EXPECT_EQ(c.command, GNN_CMD_INFER);
	EXPECT_STREQ(c.args[0], "g.h5");
	EXPECT_EQ(c.chunk_bytes, 8u << 20);
	EXPECT_EQ(c.threads, 0u);
	EXPECT_EQ(c.seed, 0u);
	EXPECT_EQ(c.log_level, GNN_LOG_INFO);
	EXPECT_STREQ(c.backend, "auto");
	EXPECT_EQ(c.out, nullptr);
	EXPECT_FALSE(c.predict);
	EXPECT_EQ(source("chunk-bytes"), GNN_FROM_DEFAULT);
}

TEST_F(ConfigTest, BothSpellingsOfAFlagAndOptionsAnywhere)
{
	ASSERT_EQ(read({"--threads", "3", "infer", "--chunk-bytes=64K", "g.h5", "--io", "pread",
			  "--predict", "--model-set", "library=pyg", "--model-set=heads=8,1"}),
		GNN_OK)
		<< gnn_err_text();
	EXPECT_EQ(c.threads, 3u);
	EXPECT_EQ(c.chunk_bytes, 65536u);
	EXPECT_EQ(c.io, GNN_OPT_IO_PREAD);
	EXPECT_TRUE(c.predict);
	ASSERT_EQ(c.model_set.count, 2u);
	EXPECT_STREQ(c.model_set.item[1], "heads=8,1");
	EXPECT_EQ(source("predict"), GNN_FROM_COMMAND_LINE);
}

TEST_F(ConfigTest, SwitchesCanBeTurnedOff)
{
	ASSERT_EQ(read({"generate", "rmat", "g.h5"}), GNN_OK);
	EXPECT_TRUE(c.shuffle);
	ASSERT_EQ(read({"generate", "rmat", "g.h5", "--no-shuffle"}), GNN_OK);
	EXPECT_FALSE(c.shuffle);
	ASSERT_EQ(read({"infer", "g.h5", "--predict=off", "--save-layers=yes"}), GNN_OK);
	EXPECT_FALSE(c.predict);
	EXPECT_TRUE(c.save_layers);
	EXPECT_EQ(read({"generate", "rmat", "g.h5", "--no-shuffle=on"}), GNN_EUSAGE);
	EXPECT_EQ(read({"infer", "g.h5", "--no-threads"}), GNN_EUSAGE);
}

TEST_F(ConfigTest, ADoubleDashEndsTheOptions)
{
	ASSERT_EQ(read({"import", "--remap", "--", "--odd", "g.h5"}), GNN_OK) << gnn_err_text();
	EXPECT_STREQ(c.args[0], "--odd");
}

TEST_F(ConfigTest, OneNameMayMeanTwoThingsInTwoCommands)
{
	ASSERT_EQ(read({"import", "a", "b", "--dtype", "f64"}), GNN_OK);
	EXPECT_STREQ(c.dtype, "f64");
	EXPECT_EQ(c.feature_dtype, GNN_DTYPE_COUNT);
	ASSERT_EQ(read({"generate", "rmat", "b", "--dtype", "f16"}), GNN_OK);
	EXPECT_EQ(c.feature_dtype, GNN_F16);
	ASSERT_EQ(read({"generate", "rmat", "b"}), GNN_OK);
	EXPECT_EQ(c.feature_dtype, GNN_F32);
	EXPECT_TRUE(std::isnan(c.noise));
	EXPECT_EQ(c.mixing, 0.05);
	EXPECT_EQ(read({"--dtype", "f16", "generate", "rmat", "b"}), GNN_EUSAGE);
}

TEST_F(ConfigTest, UsageErrorsNameTheNearest)
{
	const struct {
		std::vector<std::string> words;
		const char *says;
	} bad[] = {
		{{}, "a command is wanted"},
		{{"infr"}, "there is no command 'infr'; the nearest is 'infer'"},
		{{"infer", "g.h5", "--treads", "2"},
			"no option --treads; the nearest is --threads"},
		{{"infer", "g.h5", "--chunk_bytes=8M"}, "the nearest is --chunk-bytes"},
		{{"import", "a", "b", "--predict"},
			"--predict is an option of infer, not of import"},
		{{"infer", "g.h5", "-t", "2"}, "two dashes, found '-t'"},
		{{"infer", "g.h5", "--threads"}, "--threads wants a value: N"},
		{{"infer", "g.h5", "--out", "--predict"}, "--out wants a value: FILE"},
		{{"infer", "g.h5", "--progress", "bar"},
			"--progress: wants auto|never, found 'bar'"},
		{{"infer", "g.h5", "--threads", "four"}, "--threads: wants a whole number"},
		{{"infer", "g.h5", "--threads", "-1"}, "found '-1'"},
		{{"infer", "g.h5", "--threads", "5000"}, "from 0 to 4096 or auto, found '5000'"},
		{{"infer", "g.h5", "--seed", "012"}, "--seed: wants a whole number"},
		{{"infer", "g.h5", "--chunk-bytes", "8MB"}, "--chunk-bytes: wants a size"},
		{{"infer", "g.h5", "--queue-depth", "0"}, "from 1 to 256, found '0'"},
		{{"infer", "g.h5", "--predict=2"}, "--predict: wants on or off, found '2'"},
		{{"infer", "g.h5", "--out="}, "--out: is empty"},
		{{"generate", "sbm", "b", "--mixing", "1.5"},
			"--mixing: wants a decimal number from 0 to 1, found '1.5'"},
		{{"generate", "sbm", "b", "--noise", "nan"}, "from 0 or auto, found 'nan'"},
		{{"infer"}, "infer wants STORE.h5, found 0 of these"},
		{{"infer", "a", "b"}, "infer wants STORE.h5 and no more, found 'b'"},
		{{"doctor", "a", "b", "c", "d", "e"}, "too many arguments, from 'e' on"},
	};
	for (const auto &b : bad) {
		EXPECT_EQ(read(b.words), GNN_EUSAGE) << b.says;
		EXPECT_NE(why().find(b.says), std::string::npos) << why();
	}
}

TEST_F(ConfigTest, AListIsLimited)
{
	std::vector<std::string> many = {"infer", "g.h5"};
	for (int i = 0; i <= GNN_LIST_MAX; i++)
		many.push_back("--model-set=a=" + std::to_string(i));
	EXPECT_EQ(read(many), GNN_EUSAGE);
	many.pop_back();
	EXPECT_EQ(read(many), GNN_OK);
}

TEST_F(ConfigTest, TheFileStandsBetweenDefaultAndCommandLine)
{
	ASSERT_EQ(read_file("# a comment\nthreads: 3\nseed: 5\npredict: yes\n"
			    "verify-reads: off\nmodel-set: [library=pyg, 'heads=8,1']\n",
			  {"--seed", "7"}),
		GNN_OK)
		<< gnn_err_text();
	EXPECT_EQ(c.threads, 3u);
	EXPECT_EQ(c.seed, 7u);
	EXPECT_TRUE(c.predict);
	EXPECT_EQ(c.verify_reads, GNN_OPT_OFF);
	ASSERT_EQ(c.model_set.count, 2u);
	EXPECT_STREQ(c.model_set.item[0], "library=pyg");
	EXPECT_EQ(source("threads"), GNN_FROM_FILE);
	EXPECT_EQ(source("seed"), GNN_FROM_COMMAND_LINE);
	EXPECT_EQ(source("queue-depth"), GNN_FROM_DEFAULT);
}

TEST_F(ConfigTest, AListOfTheCommandLineReplacesTheFiles)
{
	ASSERT_EQ(read_file("model-set:\n- a=1\n- b=2\n", {"--model-set", "c=3"}), GNN_OK);
	ASSERT_EQ(c.model_set.count, 1u);
	EXPECT_STREQ(c.model_set.item[0], "c=3");
	ASSERT_EQ(read_file("model-set: a=1\n"), GNN_OK);
	ASSERT_EQ(c.model_set.count, 1u);
	EXPECT_STREQ(c.model_set.item[0], "a=1");
}

TEST_F(ConfigTest, PathsOfTheFileCountFromItsFolder)
{
	ASSERT_EQ(read_file("scratch: tmp\nmodel: /m.safetensors\n", {"--out", "e.h5"}), GNN_OK);
	EXPECT_EQ(std::string(c.scratch), folder + "/tmp");
	EXPECT_STREQ(c.model, "/m.safetensors");
	EXPECT_STREQ(c.out, "e.h5");
}

TEST_F(ConfigTest, WhatYamlAllowsOfFlatFiles)
{
	for (const char *text : {"", "\n\n", "# nothing\n", "---\n", "--- ~\n", "{}\n",
		     "threads: 4", "threads: 4\r\nseed: 1\r\n",
		     "\xef\xbb\xbfthreads: 4\n", "\"threads\": '4'\n",
		     "{threads: 4, seed: 1}", "---\nthreads: 4\n...\n"})
		EXPECT_EQ(read_file(text), GNN_OK) << text << ": " << why();
	ASSERT_EQ(read_file("threads: 4\r\nlog: debug\r\n"), GNN_OK);
	EXPECT_EQ(c.log_level, GNN_LOG_DEBUG);
	ASSERT_EQ(read_file("no-predict: off\n"), GNN_OK);
	EXPECT_TRUE(c.predict);
}

TEST_F(ConfigTest, WhatIsWrongInTheFileIsRefusedWithItsLine)
{
	const struct {
		std::string text;
		const char *says;
	} bad[] = {
		{"seed: 1\nthreds: 4\n",
			"run.yaml:2: there is no option threds; the nearest is threads"},
		{"chunk_bytes: 8M\n", "run.yaml:1: there is no option chunk_bytes; the nearest is "
				      "chunk-bytes"},
		{"remap: on\n", "run.yaml:1: remap is an option of import, not of infer"},
		{"seed: 1\n\nseed: 2\n", "run.yaml:3: seed stands a second time, first in line 1"},
		{"predict: on\nno-predict: on\n", "run.yaml:2: no-predict stands a second time"},
		{"threads:\n  a: 1\n", "run.yaml:2: a nested map"},
		{"threads: {a: 1}\n", "run.yaml:1: a nested map"},
		{"threads: [1]\n", "run.yaml:1: a list, where one value is wanted"},
		{"model-set: [[a=1]]\n", "run.yaml:1: a list, where one value is wanted"},
		{"model-set: [a: 1]\n", "run.yaml:1: a nested map"},
		{"seed: 0\nthreads: four\n", "run.yaml:2: threads: wants a whole number"},
		{"threads: 012\n", "run.yaml:1: threads: wants a whole number"},
		{"threads: 1e3\n", "run.yaml:1: threads: wants a whole number"},
		{"threads: 4.0\n", "run.yaml:1: threads: wants a whole number"},
		{"threads: on\n", "run.yaml:1: threads: wants a whole number"},
		{"predict: 1\n", "run.yaml:1: predict: wants on or off, found '1'"},
		{"log: on\n", "run.yaml:1: log: wants error|warn|info|debug, found 'on'"},
		{"threads:\n", "run.yaml:1: threads has no value"},
		{"threads: ~\n", "run.yaml:1: threads has no value"},
		{"out: null\n", "run.yaml:1: out has no value"},
		{"out: \"\"\n", "run.yaml:1: out: is empty"},
		{"out: \"a\\0b\"\n", "run.yaml:1: a NUL byte in the text"},
		{"threads: !!int 4\n", "run.yaml:1: tags are not taken"},
		{"threads: &n 4\nseed: 1\n", "run.yaml:1: anchors are not taken"},
		{"seed: *n\n", "run.yaml:1: aliases are not taken"},
		{"<<: {seed: 1}\n", "run.yaml:1: there is no option <<"},
		{"? [seed]\n: 1\n", "run.yaml:1: a list"},
		{"\tseed: 1\n", "run.yaml:1: "},
		{"seed: 1\n\tthreads: 2\n", "run.yaml:2: "},
		{"seed:1\n", "run.yaml:1: `name: value` lines are wanted"},
		{"- seed\n", "run.yaml:1: `name: value` lines are wanted"},
		{"seed: 1\nthreads\n", "run.yaml:"},
		{"seed: 1\n---\nseed: 2\n", "run.yaml:2: a second document"},
		{"out: caf\xe9\n", "run.yaml: byte 8: "},
		{std::string("seed: 1\0\n", 9), "run.yaml: byte 7: "},
		{"config: other.yaml\n", "run.yaml:1: config is taken on the command line only"},
		{"help: on\n", "run.yaml:1: help is taken on the command line only"},
		{"faults: read:eio@1\n", "run.yaml:1: faults is taken on the command line only"},
		{"out: \"unterminated\n", "run.yaml:"},
		{"out: [a\n", "run.yaml:"},
		{std::string(2 << 20, '#'), "run.yaml: more than 1048576 bytes"},
	};
	for (const auto &b : bad) {
		EXPECT_EQ(read_file(b.text), GNN_ECONFIG) << b.says;
		EXPECT_EQ(why().rfind(b.says, 0), 0u) << why() << "\nwanted: " << b.says;
	}
}

TEST_F(ConfigTest, AValueThatIsOverruledIsCheckedToo)
{
	EXPECT_EQ(read_file("seed: x\n", {"--seed", "1"}), GNN_ECONFIG);
	ASSERT_EQ(read_file("no-predict: on\n", {"--predict"}), GNN_OK);
	EXPECT_TRUE(c.predict);
}

TEST_F(ConfigTest, AFileThatCannotBeReadIsNoInput)
{
	EXPECT_EQ(read({"infer", "g.h5", "--config", folder + "/none.yaml"}), GNN_ENOENT);
	EXPECT_NE(why().find("none.yaml: No such file"), std::string::npos) << why();
	EXPECT_EQ(read({"infer", "g.h5", "--config", folder}), GNN_ENOENT);
}

TEST_F(ConfigTest, EveryAllocationMayFail)
{
	struct gnn_mem_stats before, after;
	gnn_mem_stats(&before);
	int refused = 0;
	for (int n = 1; refused == n - 1; n++) {
		ASSERT_EQ(gnn_fault_parse(("alloc:fail@" + std::to_string(n)).c_str()), GNN_OK);
		const int rc = read_file("seed: 1\nout: a\nmodel-set: [a=1, b=2]\n");
		gnn_fault_clear();
		if (rc == GNN_OK)
			break;
		EXPECT_EQ(rc, GNN_EOS) << why();
		gnn_config_fini(&c);
		gnn_mem_stats(&after);
		EXPECT_EQ(after.block_count, before.block_count);
		refused++;
	}
	EXPECT_GE(refused, 4);
}

// Every row by itself: its default can be read, printed and read again.
TEST_F(ConfigTest, EveryRowPrintsWhatItReads)
{
	uint32_t count;
	const struct gnn_option *o = gnn_options(&count);
	char first[64], second[64];
	for (uint32_t i = 0; i < count; i++) {
		struct gnn_config x = {};
		EXPECT_NE(o[i].commands, 0u) << o[i].name;
		EXPECT_NE(o[i].help, nullptr) << o[i].name;
		EXPECT_EQ(o[i].type == GNN_OPTION_CHOICE || o[i].type == GNN_OPTION_WORD,
			o[i].choices != nullptr)
			<< o[i].name;
		EXPECT_TRUE(o[i].type == GNN_OPTION_FLAG || o[i].choices != nullptr ||
			o[i].wanted != nullptr)
			<< o[i].name;
		if (o[i].preset == nullptr)
			continue;
		ASSERT_EQ(gnn_setting_put(&o[i], &x, o[i].preset), GNN_OK) << o[i].name;
		const std::string text = gnn_setting_text(&o[i], &x, first, sizeof(first));
		EXPECT_EQ(text, o[i].preset) << o[i].name;
		ASSERT_EQ(gnn_setting_put(&o[i], &x, text.c_str()), GNN_OK) << o[i].name;
		EXPECT_EQ(gnn_setting_text(&o[i], &x, second, sizeof(second)), text);
	}
}

// Two rows of one name must not be taken by one command.
TEST_F(ConfigTest, NamesAreUniqueInEachCommand)
{
	uint32_t count;
	const struct gnn_option *o = gnn_options(&count);
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < i; k++)
			if (strcmp(o[i].name, o[k].name) == 0) {
				EXPECT_EQ(o[i].commands & o[k].commands, 0u) << o[i].name;
			}
}

TEST(NearestTest, TheSmallestDistanceWins)
{
	const char *const words[] = {"import", "infer", "info"};
	EXPECT_STREQ(gnn_nearest("inport", words, 3), "import");
	EXPECT_STREQ(gnn_nearest("inf", words, 3), "info");
	EXPECT_STREQ(gnn_nearest("", words, 3), "info");
	EXPECT_STREQ(gnn_nearest("infr", words, 3), "infer");
	EXPECT_NE(gnn_nearest(std::string(1000, 'x').c_str(), words, 3), nullptr);
	EXPECT_EQ(gnn_nearest("x", words, 0), nullptr);
}

} // namespace
