// A folder for each test, every block of memory given back, and what is asked of messages.
#ifndef GNN_TEST_FOLDER_FIXTURE_H
#define GNN_TEST_FOLDER_FIXTURE_H

#include "base/fault.h"
#include "base/mem.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

inline uint64_t live_blocks()
{
	struct gnn_mem_stats s;

	gnn_mem_stats(&s);
	return s.block_count;
}

// The error text holds `part`.
inline ::testing::AssertionResult says(const std::string &part)
{
	const std::string text = gnn_err_text();

	if (text.find(part) != std::string::npos)
		return ::testing::AssertionSuccess();
	return ::testing::AssertionFailure() << "\"" << part << "\" is not in: " << text;
}

// Runs in a child process; what it ended with, as waitpid tells.
inline int child(const std::function<int()> &body)
{
	int status = 0;
	const pid_t pid = fork();

	if (pid == 0)
		_exit(body());
	EXPECT_EQ(waitpid(pid, &status, 0), pid);
	return status;
}

struct Folder {
	std::filesystem::path dir;
	uint64_t blocks_before = 0;

	void enter()
	{
		char name[] = "unit_test.XXXXXX";

		ASSERT_NE(mkdtemp(name), nullptr);
		dir = std::filesystem::absolute(name);
		blocks_before = live_blocks();
	}
	void leave() const
	{
		gnn_fault_clear();
		gnn_mem_limit(0);
		std::filesystem::remove_all(dir);
		EXPECT_EQ(live_blocks(), blocks_before);
	}
	std::string at(const std::string &name) const
	{
		return (dir / name).string();
	}
};

#endif
