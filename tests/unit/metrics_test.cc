// Lines and spans that another program can read, also after a kill; no foreign file is emptied.
#include "base/fault.h"
#include "base/metrics.h"
#include "base/stage.h"
#include "base/ticker.h"
#include "base/trace.h"
#include "base/usage.h"

#include <gtest/gtest.h>

#include <cJSON.h>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

struct OutputTest : ::testing::Test {
	std::string folder, path;

	void SetUp() override
	{
		char name[] = "/tmp/gnnrun-metrics-XXXXXX";
		folder = mkdtemp(name);
		path = folder + "/out.json";
	}
	void TearDown() override
	{
		gnn_fault_clear();
		unlink(path.c_str());
		rmdir(folder.c_str());
	}
	void put(const char *text) const { std::ofstream(path, std::ios::binary) << text; }
	std::string content() const
	{
		std::stringstream text;
		text << std::ifstream(path, std::ios::binary).rdbuf();
		return text.str();
	}
};

using MetricsTest = OutputTest;
using TraceTest = OutputTest;

TEST_F(MetricsTest, EachLineIsAnObjectWithItsRun)
{
	ASSERT_EQ(gnn_metrics_open(path.c_str()), GNN_OK) << gnn_err_text();
	EXPECT_TRUE(gnn_metrics_enabled());
	for (uint64_t i = 0; i < 3; i++) {
		struct gnn_json *line = gnn_metrics_begin("layer");
		ASSERT_NE(line, nullptr);
		gnn_json_u64(line, "index", i);
		gnn_metrics_end(line);
	}
	ASSERT_EQ(gnn_metrics_close(), GNN_OK);
	EXPECT_FALSE(gnn_metrics_enabled());
	EXPECT_EQ(gnn_metrics_begin("layer"), nullptr);
	std::istringstream lines(content());
	std::string line, run;
	for (int i = 0; i < 3; i++) {
		ASSERT_TRUE(std::getline(lines, line));
		cJSON *root = cJSON_Parse(line.c_str());
		ASSERT_NE(root, nullptr) << line;
		EXPECT_STREQ(cJSON_GetObjectItem(root, "schema")->valuestring, "gnnrun-metrics-1");
		EXPECT_STREQ(cJSON_GetObjectItem(root, "event")->valuestring, "layer");
		EXPECT_EQ(cJSON_GetObjectItem(root, "index")->valueint, i);
		EXPECT_GE(cJSON_GetObjectItem(root, "time_s")->valuedouble, 0.0);
		const std::string id = cJSON_GetObjectItem(root, "run_id")->valuestring;
		EXPECT_TRUE(run.empty() || run == id);
		run = id;
		cJSON_Delete(root);
	}
	EXPECT_FALSE(std::getline(lines, line));
}

TEST_F(MetricsTest, AFileOfAnotherKindIsNotReplaced)
{
	put("precious");
	EXPECT_EQ(gnn_metrics_open(path.c_str()), GNN_ECREAT);
	EXPECT_EQ(gnn_trace_open(path.c_str()), GNN_ECREAT);
	EXPECT_EQ(content(), "precious");
	put("{\"old\":1}\n");
	EXPECT_EQ(gnn_metrics_open(path.c_str()), GNN_OK);
	EXPECT_EQ(gnn_metrics_close(), GNN_OK);
	EXPECT_EQ(content(), "");
	EXPECT_EQ(gnn_metrics_open((folder + "/none/x").c_str()), GNN_ECREAT);
	EXPECT_EQ(gnn_metrics_open(folder.c_str()), GNN_ECREAT);
}

TEST_F(MetricsTest, ALostLineIsAnErrorAtTheEnd)
{
	ASSERT_EQ(gnn_metrics_open("/dev/full"), GNN_OK) << gnn_err_text();
	gnn_metrics_end(gnn_metrics_begin("x"));
	EXPECT_EQ(gnn_metrics_close(), GNN_EIO);
	EXPECT_NE(std::string(gnn_err_text()).find("/dev/full"), std::string::npos);
	ASSERT_EQ(gnn_metrics_open(path.c_str()), GNN_OK);
	ASSERT_EQ(gnn_fault_parse("alloc:fail@3"), GNN_OK);
	gnn_metrics_end(gnn_metrics_begin("x"));
	EXPECT_EQ(gnn_metrics_close(), GNN_EOS);
}

void count_up(void *arg)
{
	(*static_cast<std::atomic<int> *>(arg))++;
}

TEST(TickerTest, CallsUntilItIsStoppedAndNotAfter)
{
	std::atomic<int> calls{0};
	struct gnn_ticker *t = nullptr;
	gnn_ticker_stop(&t);
	ASSERT_EQ(gnn_ticker_start(&t, "tick", 0.01, count_up, &calls), GNN_OK);
	while (calls < 3)
		usleep(1000);
	gnn_ticker_stop(&t);
	EXPECT_EQ(t, nullptr);
	const int then = calls;
	usleep(50000);
	EXPECT_EQ(calls, then);
	ASSERT_EQ(gnn_ticker_start(&t, "tick", 3600.0, count_up, &calls), GNN_OK);
	gnn_ticker_stop(&t); // at once
	EXPECT_EQ(calls, then);
}

double number(const cJSON *line, const char *key)
{
	const cJSON *item = cJSON_GetObjectItem(line, key);
	EXPECT_NE(item, nullptr) << key;
	return cJSON_IsNumber(item) ? item->valuedouble : -1.0;
}

TEST_F(MetricsTest, UsageEachSecondAndAtTheEnd)
{
	const char *const watched[] = {folder.c_str(), nullptr, "/proc/none/such", path.c_str()};
	gnn_usage_start(watched, 4); // off: nothing begins
	gnn_usage_stop();
	ASSERT_EQ(gnn_metrics_open(path.c_str()), GNN_OK) << gnn_err_text();
	gnn_usage_start(watched, 4);
	gnn_usage_gpu("ffff:ff:ff.f"); // there is none: null
	for (int i = 0; i < 300 && content().empty(); i++)
		usleep(10000);
	gnn_usage_stop();
	gnn_usage_stop();
	ASSERT_EQ(gnn_metrics_close(), GNN_OK);
	std::istringstream lines(content());
	std::string text;
	int count = 0;
	while (std::getline(lines, text)) {
		cJSON *line = cJSON_Parse(text.c_str());
		ASSERT_NE(line, nullptr) << text;
		EXPECT_STREQ(cJSON_GetObjectItem(line, "event")->valuestring, "usage");
		EXPECT_GT(number(line, "interval_s"), 0.0);
		EXPECT_GE(number(line, "cpu_cores"), 0.0);
		EXPECT_GT(number(line, "rss_bytes"), 1e5);
		for (const char *key : {"read_bytes_s", "written_bytes_s", "disk_read_bytes_s",
			     "disk_written_bytes_s"})
			EXPECT_NE(cJSON_GetObjectItem(line, key), nullptr) << key;
		EXPECT_TRUE(cJSON_IsNull(cJSON_GetObjectItem(line, "gpu_busy")));
		EXPECT_TRUE(cJSON_IsNull(cJSON_GetObjectItem(line, "gpu_memory_bytes")));
		cJSON_Delete(line);
		count++;
	}
	EXPECT_GE(count, 2);
}

TEST_F(MetricsTest, UsageWithoutAThreadIsNoLineAndNoError)
{
	ASSERT_EQ(gnn_metrics_open(path.c_str()), GNN_OK) << gnn_err_text();
	ASSERT_EQ(gnn_fault_parse("alloc:fail@1"), GNN_OK);
	gnn_usage_start(nullptr, 0);
	gnn_fault_clear();
	gnn_usage_stop();
	ASSERT_EQ(gnn_metrics_close(), GNN_OK);
	EXPECT_EQ(content(), "");
}

int sleep_a_little(void *)
{
	uint64_t span = gnn_trace_begin();
	usleep(2000);
	gnn_trace_end(span, "sleep");
	return GNN_OK;
}

TEST_F(TraceTest, SpansAndLanesOfThreads)
{
	struct gnn_stage *s = nullptr;
	ASSERT_EQ(gnn_trace_open(path.c_str()), GNN_OK);
	ASSERT_EQ(gnn_stage_start(&s, "reader", sleep_a_little, nullptr), GNN_OK);
	ASSERT_EQ(gnn_stage_join(&s), GNN_OK);
	ASSERT_EQ(gnn_trace_close(), GNN_OK);
	EXPECT_EQ(gnn_trace_close(), GNN_OK);
	EXPECT_EQ(gnn_trace_begin(), 0u);
	cJSON *root = cJSON_Parse(content().c_str());
	ASSERT_NE(root, nullptr) << content();
	bool slept = false, named = false;
	const cJSON *e;
	cJSON_ArrayForEach(e, root)
	{
		const std::string name = cJSON_GetObjectItem(e, "name")->valuestring;
		if (name == "sleep") {
			slept = true;
			EXPECT_STREQ(cJSON_GetObjectItem(e, "ph")->valuestring, "X");
			EXPECT_GE(cJSON_GetObjectItem(e, "dur")->valuedouble, 2000.0);
		}
		const cJSON *args = cJSON_GetObjectItem(e, "args");
		if (args != nullptr && name == "thread_name")
			named |= std::string(cJSON_GetObjectItem(args, "name")->valuestring) ==
				"reader";
	}
	EXPECT_TRUE(slept);
	EXPECT_TRUE(named);
	cJSON_Delete(root);
}

TEST_F(TraceTest, MoreThanTheBufferIsWhole)
{
	ASSERT_EQ(gnn_trace_open(path.c_str()), GNN_OK);
	for (int i = 0; i < 5000; i++)
		gnn_trace_end(gnn_trace_begin(), "span");
	ASSERT_EQ(gnn_trace_close(), GNN_OK);
	cJSON *root = cJSON_Parse(content().c_str());
	ASSERT_NE(root, nullptr);
	EXPECT_EQ(cJSON_GetArraySize(root), 5002);
	cJSON_Delete(root);
}

TEST_F(TraceTest, AKilledRunLeavesWhatReadersAccept)
{
	const pid_t child = fork();
	if (child == 0) {
		if (gnn_trace_open(path.c_str()) != GNN_OK)
			_exit(1);
		for (int i = 0; i < 2000; i++)
			gnn_trace_end(gnn_trace_begin(), "span");
		kill(getpid(), SIGKILL);
	}
	int status = 0;
	ASSERT_EQ(waitpid(child, &status, 0), child);
	ASSERT_TRUE(WIFSIGNALED(status));
	std::string text = content();
	ASSERT_GT(text.size(), 60000u);
	ASSERT_EQ(text.substr(text.size() - 2), ",\n"); // whole events, unterminated
	text.replace(text.size() - 2, 2, "]");
	cJSON *root = cJSON_Parse(text.c_str());
	ASSERT_NE(root, nullptr);
	cJSON_Delete(root);
}

} // namespace
