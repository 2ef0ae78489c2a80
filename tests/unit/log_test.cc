// One line a call, with level and subsystem; levels filter; stdout's failure is an error.
#include "base/err.h"
#include "base/log.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace {

struct LogTest : ::testing::Test {
	void TearDown() override { gnn_log_set_level(GNN_LOG_INFO); }
};

TEST_F(LogTest, ALineHasTimeLevelSubsystemText)
{
	::testing::internal::CaptureStderr();
	gnn_log(GNN_LOG_WARN, "io", "depth %d", 8);
	const std::string line = ::testing::internal::GetCapturedStderr();
	ASSERT_EQ(line.size(), std::string("HH:MM:SS warn [io] depth 8\n").size()) << line;
	EXPECT_EQ(line.substr(8), " warn [io] depth 8\n");
	EXPECT_EQ(line[2], ':');
	EXPECT_EQ(line[5], ':');
}

TEST_F(LogTest, TheLevelFilters)
{
	gnn_log_set_level(GNN_LOG_WARN);
	EXPECT_TRUE(gnn_log_enabled(GNN_LOG_ERROR));
	EXPECT_FALSE(gnn_log_enabled(GNN_LOG_INFO));
	::testing::internal::CaptureStderr();
	gnn_log(GNN_LOG_INFO, "io", "not seen");
	EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(LogTest, ALongTextStaysOneLine)
{
	const std::string text(5000, 'x');
	::testing::internal::CaptureStderr();
	gnn_log(GNN_LOG_ERROR, "io", "%s", text.c_str());
	const std::string line = ::testing::internal::GetCapturedStderr();
	EXPECT_LT(line.size(), 2100u);
	EXPECT_EQ(line.back(), '\n');
}

TEST_F(LogTest, AFailingStdoutIsAnIoError)
{
	const auto write_to_full = [] {
		int full = open("/dev/full", O_WRONLY);
		dup2(full, STDOUT_FILENO);
		gnn_out("%d\n", 1);
		_exit(gnn_out_finish() == GNN_EIO ? 0 : 1);
	};
	EXPECT_EXIT(write_to_full(), ::testing::ExitedWithCode(0), "");
	const auto write_to_null = [] {
		int null = open("/dev/null", O_WRONLY);
		dup2(null, STDOUT_FILENO);
		gnn_out("%d\n", 1);
		_exit(gnn_out_finish() == GNN_OK ? 0 : 1);
	};
	EXPECT_EXIT(write_to_null(), ::testing::ExitedWithCode(0), "");
}

} // namespace
