// Rules strike exactly where they say, and a rule that cannot be read is refused by name.
#include "base/fault.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

namespace {

struct FaultTest : ::testing::Test {
	void TearDown() override { gnn_fault_clear(); }
	static std::vector<int> struck(enum gnn_fault_site site, int count)
	{
		std::vector<int> at;
		for (int i = 1; i <= count; i++)
			if (gnn_fault_next(site).action != GNN_FAULT_NONE)
				at.push_back(i);
		return at;
	}
};

TEST_F(FaultTest, WithoutRulesOperationsAreOnlyCounted)
{
	gnn_fault_clear();
	EXPECT_TRUE(struck(GNN_FAULT_READ, 5).empty());
	EXPECT_EQ(gnn_fault_count(GNN_FAULT_READ), 5u);
	EXPECT_EQ(gnn_fault_count(GNN_FAULT_WRITE), 0u);
}

TEST_F(FaultTest, OneRangeAndEveryKth)
{
	ASSERT_EQ(gnn_fault_parse("read:eio@3,write:short@2-4,fsync:eintr%3"), GNN_OK);
	EXPECT_EQ(struck(GNN_FAULT_READ, 6), (std::vector<int>{3}));
	EXPECT_EQ(struck(GNN_FAULT_WRITE, 6), (std::vector<int>{2, 3, 4}));
	EXPECT_EQ(struck(GNN_FAULT_FSYNC, 7), (std::vector<int>{3, 6}));
	EXPECT_TRUE(struck(GNN_FAULT_OPEN, 9).empty());
}

TEST_F(FaultTest, ActionsCarryTheirErrno)
{
	ASSERT_EQ(gnn_fault_parse("write:enospc@1,read:eof@1,ring:eperm@1"), GNN_OK);
	struct gnn_fault f = gnn_fault_next(GNN_FAULT_WRITE);
	EXPECT_EQ(f.action, GNN_FAULT_ERRNO);
	EXPECT_EQ(f.errnum, ENOSPC);
	EXPECT_EQ(gnn_fault_next(GNN_FAULT_READ).action, GNN_FAULT_ENDS);
	EXPECT_EQ(gnn_fault_next(GNN_FAULT_RING).errnum, EPERM);
}

TEST_F(FaultTest, ASeedDrawsTheSamePlacesAgain)
{
	ASSERT_EQ(gnn_fault_parse("read:short%4=7"), GNN_OK);
	const std::vector<int> first = struck(GNN_FAULT_READ, 400);
	ASSERT_EQ(gnn_fault_parse("read:short%4=7"), GNN_OK);
	EXPECT_EQ(struck(GNN_FAULT_READ, 400), first);
	EXPECT_GT(first.size(), 60u);
	EXPECT_LT(first.size(), 140u);
	ASSERT_EQ(gnn_fault_parse("read:short%4=8"), GNN_OK);
	EXPECT_NE(struck(GNN_FAULT_READ, 400), first);
}

TEST_F(FaultTest, UnreadableRulesAreRefusedByName)
{
	for (const char *spec : {"read", "read:", "read:eio", "read:eio@", "read:eio@0",
		     "read:eio@x", "read:eio@3-2", "read:eio%0", "read:eio@1,", ",read:eio@1",
		     "reed:eio@1", "read:nonsense@1", "alloc:eio@1", "read:fail@1",
		     "read:eio@99999999999999999999", "crash:@1", "read:short%3=",
		     "read:eio@1 "}) {
		EXPECT_EQ(gnn_fault_parse(spec), GNN_EUSAGE) << spec;
		EXPECT_EQ(gnn_fault_next(GNN_FAULT_READ).action, GNN_FAULT_NONE) << spec;
	}
	ASSERT_EQ(gnn_fault_parse("write:eio@1,read:bad@2"), GNN_EUSAGE);
	EXPECT_NE(std::string(gnn_err_text()).find("'read:bad@2'"), std::string::npos);
	std::string many = "read:eio@1";
	for (int i = 0; i < 16; i++)
		many += ",read:eio@1";
	EXPECT_EQ(gnn_fault_parse(many.c_str()), GNN_EUSAGE);
}

TEST_F(FaultTest, TheNamedCrashPointKills)
{
	ASSERT_EQ(gnn_fault_parse("crash:pub.before_rename@2"), GNN_OK);
	gnn_crash_point("pub.after_rename");
	gnn_crash_point("pub.before_rename");
	EXPECT_EXIT(gnn_crash_point("pub.before_rename"), ::testing::KilledBySignal(SIGKILL), "");
	ASSERT_EQ(gnn_fault_parse("signal:step@2"), GNN_OK);
	gnn_crash_point("step");
	EXPECT_EXIT(gnn_crash_point("step"), ::testing::KilledBySignal(SIGUSR1), "");
}

} // namespace
