// On a terminal one line in place; elsewhere no escape codes and few lines; off: nothing.
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <pty.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

struct ProgressTest : ::testing::Test {
	void TearDown() override
	{
		gnn_progress_enable(false);
		gnn_fault_clear();
	}
};

TEST_F(ProgressTest, OffThereIsNoHandle)
{
	struct gnn_progress *p = gnn_progress_begin("layer 1", "rows", 10);
	EXPECT_EQ(p, nullptr);
	gnn_progress_add(p, 1, 1);
	gnn_progress_end(p);
}

TEST_F(ProgressTest, InAFileALineComesAfterTwoSecondsAndFivePercent)
{
	gnn_progress_enable(true);
	::testing::internal::CaptureStderr();
	const uint64_t start = gnn_clock_ns();
	char name[] = "layer 1";
	struct gnn_progress *p = gnn_progress_begin(name, "rows", 200);
	name[0] = '!'; // it was copied
	ASSERT_NE(p, nullptr);
	for (int i = 0; i < 35; i++) {
		gnn_progress_add(p, 4, 4000);
		usleep(100000);
	}
	gnn_progress_end(p);
	const std::string text = ::testing::internal::GetCapturedStderr();
	const auto lines = std::count(text.begin(), text.end(), '\n');
	EXPECT_GE(lines, 1) << text;
	EXPECT_LE(static_cast<double>(lines), gnn_clock_s_since(start) / 2.0) << text;
	EXPECT_EQ(text.find('\r'), std::string::npos);
	EXPECT_EQ(text.find('\x1b'), std::string::npos);
	EXPECT_NE(text.find("info [progress] layer 1"), std::string::npos) << text;
	EXPECT_NE(text.find(" %"), std::string::npos) << text;
	EXPECT_NE(text.find("rows/s"), std::string::npos) << text;
	EXPECT_NE(text.find("left "), std::string::npos) << text;
}

TEST_F(ProgressTest, StoresAndEvictionsStandBehindTheRates)
{
	gnn_progress_enable(true);
	::testing::internal::CaptureStderr();
	struct gnn_progress *p = gnn_progress_begin("layer 1", "rows", 200);
	ASSERT_NE(p, nullptr);
	for (int i = 0; i < 25; i++) {
		gnn_progress_add(p, 4, 4000);
		gnn_progress_gauge(p, GNN_GAUGE_HOT_ROWS, 700);
		gnn_progress_gauge(p, GNN_GAUGE_EVICTIONS, 12);
		usleep(100000);
	}
	gnn_progress_end(p);
	gnn_progress_gauge(nullptr, GNN_GAUGE_HOT_ROWS, 1);
	const std::string text = ::testing::internal::GetCapturedStderr();
	EXPECT_NE(text.find("hot 700"), std::string::npos) << text;
	EXPECT_NE(text.find("evicted 12"), std::string::npos) << text;
	EXPECT_EQ(text.find("cold"), std::string::npos) << text;
}

TEST_F(ProgressTest, AShortPhaseAndAQuietLogSayNothing)
{
	gnn_progress_enable(true);
	::testing::internal::CaptureStderr();
	struct gnn_progress *p = gnn_progress_begin("quick", "rows", 100);
	gnn_progress_add(p, 100, 0);
	gnn_progress_end(p);
	EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

// What a terminal of 60 columns receives while a phase of a second is half done.
std::string on_terminal(const char *term)
{
	const struct winsize size = {24, 60, 0, 0};
	int master = -1;
	const pid_t child = forkpty(&master, nullptr, nullptr, &size);
	if (child == 0) {
		setenv("TERM", term, 1);
		gnn_progress_enable(true);
		struct gnn_progress *p = gnn_progress_begin("layer 1", "rows", 100);
		gnn_progress_add(p, 50, 1 << 20);
		usleep(1000000);
		gnn_log(GNN_LOG_INFO, "test", "a line between");
		gnn_progress_end(p);
		_exit(p != nullptr ? 0 : 1);
	}
	std::string text;
	char part[4096];
	ssize_t n;
	while ((n = read(master, part, sizeof(part))) > 0)
		text.append(part, static_cast<size_t>(n));
	int status = 0;
	waitpid(child, &status, 0);
	EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	close(master);
	return text;
}

TEST_F(ProgressTest, OnATerminalOneLineIsRedrawnAndTakenAway)
{
	const std::string erase = "\r\x1b[K", text = on_terminal("xterm");
	EXPECT_NE(text.find(erase + "layer 1 "), std::string::npos) << text;
	EXPECT_NE(text.find(" 50 %"), std::string::npos) << text;
	EXPECT_NE(text.find("a line between\r\nlayer 1"), std::string::npos) << text;
	EXPECT_EQ(text.substr(text.size() - erase.size()), erase);
	EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
	for (size_t at = text.find("layer 1"); at != std::string::npos;
		at = text.find("layer 1", at + 1))
		EXPECT_LE(text.find_first_of("\r", at) - at, 59u) << text;
}

TEST_F(ProgressTest, ADumbTerminalGetsNoEscapes)
{
	const std::string text = on_terminal("dumb");
	EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
	EXPECT_EQ(text.find("layer 1"), std::string::npos) << text;
	EXPECT_NE(text.find("a line between"), std::string::npos) << text;
}

TEST_F(ProgressTest, WithoutMemoryThereIsNoHandleAndNoLeak)
{
	struct gnn_mem_stats before, after;
	gnn_progress_enable(true);
	gnn_mem_stats(&before);
	for (const char *spec : {"alloc:fail@1", "alloc:fail@2", "alloc:fail@3"}) {
		ASSERT_EQ(gnn_fault_parse(spec), GNN_OK);
		EXPECT_EQ(gnn_progress_begin("x", "rows", 1), nullptr);
		gnn_fault_clear();
	}
	gnn_mem_stats(&after);
	EXPECT_EQ(after.block_count, before.block_count);
}

} // namespace
