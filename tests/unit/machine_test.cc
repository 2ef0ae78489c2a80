// Memory from made-up /proc and cgroup trees, of both versions.
#include "base/machine.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
constexpr uint64_t MiB = 1 << 20;

struct MachineTest : ::testing::Test {
	std::string root;

	void SetUp() override
	{
		char name[] = "/tmp/gnnrun-machine-XXXXXX";
		root = mkdtemp(name);
		put("/proc/meminfo",
			"MemTotal:  16777216 kB\nMemFree: 1 kB\nMemAvailable:    8388608 kB\n");
	}
	void TearDown() override { fs::remove_all(root); }
	void put(const std::string &path, const std::string &text) const
	{
		fs::create_directories(fs::path(root + path).parent_path());
		std::ofstream(root + path) << text;
	}
	struct gnn_memory_state look() const
	{
		struct gnn_memory_state m;
		gnn_machine_memory(&m, root.c_str());
		return m;
	}
};

TEST_F(MachineTest, WithoutCgroupsMemAvailableCounts)
{
	const struct gnn_memory_state m = look();
	EXPECT_EQ(m.available_bytes, 8192 * MiB);
	EXPECT_EQ(m.cgroup_bytes, UINT64_MAX);
	EXPECT_EQ(gnn_machine_budget(&m), 7168 * MiB);
}

TEST_F(MachineTest, Version2TakesTheTightestAndGivesCacheBack)
{
	put("/proc/self/cgroup", "0::/job/step\n");
	put("/sys/fs/cgroup/job/step/memory.max", "max\n");
	put("/sys/fs/cgroup/job/step/memory.current", "1048576\n");
	put("/sys/fs/cgroup/job/memory.max", std::to_string(1024 * MiB) + "\n");
	put("/sys/fs/cgroup/job/memory.current", std::to_string(600 * MiB) + "\n");
	put("/sys/fs/cgroup/job/memory.stat",
		"anon 5\nactive_file 7\ninactive_file " + std::to_string(376 * MiB) + "\n");
	const struct gnn_memory_state m = look();
	EXPECT_EQ(m.cgroup_bytes, 1024 * MiB);
	EXPECT_EQ(m.cgroup_free_bytes, 800 * MiB);
	EXPECT_EQ(gnn_machine_budget(&m), 700 * MiB);
}

TEST_F(MachineTest, Version1AndItsHugeNumberForNone)
{
	put("/proc/self/cgroup", "9:name=systemd:/\n4:memory:/box/a\n0::/\n");
	put("/sys/fs/cgroup/memory/box/a/memory.limit_in_bytes", std::to_string(256 * MiB) + "\n");
	put("/sys/fs/cgroup/memory/box/a/memory.usage_in_bytes", std::to_string(300 * MiB) + "\n");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n");
	const struct gnn_memory_state m = look();
	EXPECT_EQ(m.cgroup_bytes, 256 * MiB);
	EXPECT_EQ(m.cgroup_free_bytes, 0u);
	EXPECT_EQ(gnn_machine_budget(&m), 0u);
}

TEST_F(MachineTest, AContainerThatSeesOnlyTheRootOfItsGroup)
{
	put("/proc/self/cgroup", "0::/elsewhere/unseen\n");
	put("/sys/fs/cgroup/memory.max", std::to_string(512 * MiB) + "\n");
	put("/sys/fs/cgroup/memory.current", "0\n");
	EXPECT_EQ(look().cgroup_free_bytes, 512 * MiB);
}

TEST_F(MachineTest, TheReserveIsLimited)
{
	const struct gnn_memory_state m = {1024 * 1024 * MiB, UINT64_MAX, UINT64_MAX};
	EXPECT_EQ(gnn_machine_budget(&m), 1024 * 1024 * MiB - 4096 * MiB);
}

TEST(MachineNowTest, ThisMachineAnswers)
{
	char kernel[GNN_KERNEL_BYTES];
	struct gnn_memory_state m;
	EXPECT_GE(gnn_machine_cores(), 1u);
	gnn_machine_memory(&m, "");
	EXPECT_GT(m.available_bytes, 0u);
	EXPECT_EQ(std::string(gnn_machine_kernel(kernel)).rfind("Linux ", 0), 0u);
}

TEST(MachineNowTest, PeakIsOfThisProgramAndGrows)
{
	const uint64_t before = gnn_machine_peak();
	std::vector<char> block(64 << 20, 1);
	EXPECT_GE(gnn_machine_peak(), 64u << 20);
	EXPECT_GE(gnn_machine_peak(), before);
	EXPECT_NE(block[12345], 0);
}

} // namespace
