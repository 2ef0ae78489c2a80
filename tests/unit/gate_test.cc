// A number that grows: who waits for it goes on when it is there, and nobody stays behind a cancel.
#include "base/gate.h"
#include "base/stage.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

namespace {

struct Runner {
	gnn_gate *gate;
	std::atomic<uint64_t> seen{0};
	uint64_t last;
};

int follow(void *arg)
{
	Runner *r = static_cast<Runner *>(arg);
	for (uint64_t i = 1; i <= r->last; i++) {
		const int rc = gnn_gate_wait(r->gate, i);
		if (rc < 0)
			return rc;
		r->seen = i;
	}
	return GNN_OK;
}

TEST(Gate, LetsThroughWhatIsThereAndNoMore)
{
	gnn_gate *gate = nullptr;

	ASSERT_EQ(gnn_gate_create(&gate, 3), GNN_OK);
	EXPECT_EQ(gnn_gate_value(gate), 3u);
	for (uint64_t i = 0; i <= 3; i++)
		EXPECT_EQ(gnn_gate_wait(gate, i), GNN_OK);
	gnn_gate_raise(gate, 10);
	EXPECT_EQ(gnn_gate_wait(gate, 10), GNN_OK);
	gnn_gate_cancel(gate);
	EXPECT_EQ(gnn_gate_wait(gate, 10), GNN_OK); // it is there
	EXPECT_EQ(gnn_gate_wait(gate, 11), GNN_ESTOP);
	EXPECT_NE(std::string(gnn_err_text()).find("another stage"), std::string::npos);
	gnn_gate_destroy(gate);
}

TEST(Gate, WaitersFollowEachRaise)
{
	constexpr uint64_t LAST = 200;
	gnn_gate *gate = nullptr;
	gnn_stage *stage[3];

	ASSERT_EQ(gnn_gate_create(&gate, 0), GNN_OK);
	Runner runner[3] = {{gate, {0}, LAST}, {gate, {0}, LAST}, {gate, {0}, LAST}};
	for (int i = 0; i < 3; i++)
		ASSERT_EQ(gnn_stage_start(&stage[i], "follow", follow, &runner[i]), GNN_OK);
	for (uint64_t i = 1; i <= LAST; i++) {
		for (const Runner &r : runner)
			EXPECT_LT(r.seen, i);
		gnn_gate_raise(gate, i);
	}
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(gnn_stage_join(&stage[i]), GNN_OK);
		EXPECT_EQ(runner[i].seen, LAST);
	}
	gnn_gate_destroy(gate);
}

TEST(Gate, ACancelWakesWhoWaits)
{
	gnn_gate *gate = nullptr;
	gnn_stage *stage = nullptr;

	ASSERT_EQ(gnn_gate_create(&gate, 0), GNN_OK);
	Runner runner{gate, {0}, 5};
	ASSERT_EQ(gnn_stage_start(&stage, "follow", follow, &runner), GNN_OK);
	gnn_gate_raise(gate, 2);
	while (runner.seen < 2)
		;
	gnn_gate_cancel(gate);
	EXPECT_EQ(gnn_stage_join(&stage), GNN_ESTOP);
	EXPECT_EQ(runner.seen, 2u);
	gnn_gate_destroy(gate);
	gnn_gate_cancel(nullptr);
	gnn_gate_destroy(nullptr);
}

} // namespace
