// Bounded, in order, closed and cancelled without anybody left waiting; stages carry errors home.
#include "base/queue.h"
#include "base/stage.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

namespace {

struct Feed {
	struct gnn_queue *q;
	intptr_t first, last;
	std::atomic<intptr_t> pushed{0};
};

int feed(void *arg)
{
	Feed *f = static_cast<Feed *>(arg);
	for (intptr_t i = f->first; i <= f->last; i++) {
		int rc = gnn_queue_push(f->q, reinterpret_cast<void *>(i));
		if (rc < 0)
			return rc;
		f->pushed++;
	}
	return GNN_OK;
}

int fail_with_text(void *arg)
{
	return gnn_err(GNN_EDATA, "row %d is bad", *static_cast<int *>(arg));
}

int end_of_data(void *)
{
	return GNN_EOF;
}

TEST(QueueTest, KeepsOrderAcrossAFullRing)
{
	struct gnn_queue *q = nullptr;
	struct gnn_stage *s = nullptr;
	void *item = nullptr;
	ASSERT_EQ(gnn_queue_create(&q, 3), GNN_OK);
	Feed f{q, 1, 1000};
	ASSERT_EQ(gnn_stage_start(&s, "feed", feed, &f), GNN_OK);
	for (intptr_t i = 1; i <= 1000; i++) {
		ASSERT_EQ(gnn_queue_pop(q, &item), GNN_OK);
		ASSERT_EQ(reinterpret_cast<intptr_t>(item), i);
		ASSERT_LE(f.pushed.load(), i + 3);
	}
	EXPECT_EQ(gnn_stage_join(&s), GNN_OK);
	EXPECT_EQ(s, nullptr);
	gnn_queue_destroy(q);
}

TEST(QueueTest, ManyProducersLoseNothing)
{
	struct gnn_queue *q = nullptr;
	struct gnn_stage *s[4] = {};
	void *item = nullptr;
	ASSERT_EQ(gnn_queue_create(&q, 1), GNN_OK);
	Feed f[4] = {{q, 1, 500}, {q, 501, 1000}, {q, 1001, 1500}, {q, 1501, 2000}};
	for (int i = 0; i < 4; i++)
		ASSERT_EQ(gnn_stage_start(&s[i], "feed", feed, &f[i]), GNN_OK);
	intptr_t sum = 0;
	for (int i = 0; i < 2000; i++) {
		ASSERT_EQ(gnn_queue_pop(q, &item), GNN_OK);
		sum += reinterpret_cast<intptr_t>(item);
	}
	EXPECT_EQ(sum, 2000 * 2001 / 2);
	for (auto &stage : s)
		EXPECT_EQ(gnn_stage_join(&stage), GNN_OK);
	gnn_queue_destroy(q);
}

TEST(QueueTest, CloseDrainsThenEnds)
{
	struct gnn_queue *q = nullptr;
	void *item = nullptr;
	int value = 0;
	ASSERT_EQ(gnn_queue_create(&q, 2), GNN_OK);
	ASSERT_EQ(gnn_queue_push(q, &value), GNN_OK);
	gnn_queue_close(q);
	ASSERT_EQ(gnn_queue_pop(q, &item), GNN_OK);
	EXPECT_EQ(item, &value);
	EXPECT_EQ(gnn_queue_pop(q, &item), GNN_EOF);
	EXPECT_EQ(item, nullptr);
	EXPECT_DEATH(gnn_queue_push(q, &value), "closed");
	gnn_queue_destroy(q);
}

TEST(QueueTest, CancelWakesAProducerThatWaits)
{
	struct gnn_queue *q = nullptr;
	struct gnn_stage *s = nullptr;
	void *item = nullptr;
	ASSERT_EQ(gnn_queue_create(&q, 1), GNN_OK);
	Feed f{q, 1, 10};
	ASSERT_EQ(gnn_stage_start(&s, "feed", feed, &f), GNN_OK);
	gnn_queue_cancel(q);
	EXPECT_EQ(gnn_stage_join(&s), GNN_ESTOP);
	EXPECT_EQ(gnn_queue_pop(q, &item), GNN_ESTOP);
	gnn_queue_destroy(q);
	gnn_queue_destroy(nullptr);
}

TEST(StageTest, TheErrorTextTravelsToWhoJoins)
{
	struct gnn_stage *s = nullptr;
	int row = 41;
	ASSERT_EQ(gnn_stage_start(&s, "a name longer than the kernel takes", fail_with_text, &row),
		GNN_OK);
	gnn_err_clear();
	EXPECT_EQ(gnn_stage_join(&s), GNN_EDATA);
	EXPECT_STREQ(gnn_err_text(), "row 41 is bad");
	EXPECT_EQ(gnn_stage_join(&s), GNN_OK);
}

TEST(StageTest, AnInformationLeavesTheTextAlone)
{
	struct gnn_stage *s = nullptr;
	gnn_err(GNN_EDATA, "earlier");
	ASSERT_EQ(gnn_stage_start(&s, "end", end_of_data, nullptr), GNN_OK);
	EXPECT_EQ(gnn_stage_join(&s), GNN_EOF);
	EXPECT_STREQ(gnn_err_text(), "earlier");
}

} // namespace
