// Rows that move through real stores and a real spill end with the bits of dense states, on a host
// and on a device.
#include "unit/device_fixture.h"
#include "unit/tier_fixture.h"

#include "base/fault.h"
#include "tier/tier.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace {

enum { WIDTH = 37 };

struct TierTest : ::testing::TestWithParam<int> {
	struct gnn_backend *backend = nullptr;
	std::string path = ::testing::TempDir() + "tier_test_" + std::to_string(getpid());
	struct gnn_control *control = nullptr;
	struct gnn_tier *tier = nullptr;
	uint64_t written = 0;

	void SetUp() override
	{
		struct gnn_backend_opts o = {};

		o.threads = 2;

		ASSERT_EQ(gnn_backend_create(&backend, "cpu", &o), GNN_OK);
	}
	void TearDown() override
	{
		close();
		gnn_fault_clear();
		gnn_backend_destroy(backend);
		for (const auto &e : std::filesystem::directory_iterator(::testing::TempDir()))
			EXPECT_EQ(e.path().string().find(path), std::string::npos) << e.path();
	}
	void close()
	{
		gnn_tier_destroy(tier);
		gnn_control_destroy(control);
		tier = nullptr;
		control = nullptr;
	}

	struct gnn_aggregate_args args(const std::vector<float> &message, const Item &item,
		const struct gnn_edge_batch &b, float *state, float *carry) const
	{
		struct gnn_aggregate_args a = {};

		a.combine = GNN_COMBINE_SUM;
		a.batch = b;
		a.width = WIDTH;
		a.message = message.data() + item.first * WIDTH;
		a.message_pitch = WIDTH;
		a.own = a.message;
		a.own_pitch = WIDTH;
		a.own_factor = 0.75f;
		a.state = state;
		a.state_pitch = WIDTH;
		a.carry = carry;
		a.carry_pitch = WIDTH;
		return a;
	}
	// The states of all vertices as a dense array.
	std::vector<float> dense(const Graph &g, const Setting &s,
		const std::vector<float> &message)
	{
		std::vector<float> state(g.vertices * WIDTH), carry(g.vertices * WIDTH);

		for (Item &item : items_of(g, s)) {
			std::vector<uint64_t> rows = item.vertex;

			for (uint64_t &v : rows)
				if (g.degree[v] < GNN_HUB_DEGREE)
					v = GNN_NO_CARRY;
			item.batch.carry = rows.data();
			const auto a = args(message, item, item.batch, state.data(), carry.data());

			EXPECT_EQ(gnn_backend_cpu.aggregate(backend, &a), GNN_OK);
		}
		return state;
	}
	int begin(const Graph &g, const Setting &s)
	{
		const struct gnn_control_opts c = control_opts(g, s);
		struct gnn_tier_opts t = {};
		int rc = gnn_control_create(&control, &c);

		t.backend = backend;
		t.width = WIDTH;
		t.top_slots = s.top;
		t.host_slots = s.host;
		t.block_rows = 7;
		t.spill.path = path.c_str();
		t.spill.page_bytes = gnn_spill_page_bytes(WIDTH * 4, 1);
		t.spill.pages_ahead = 4;
		return rc < 0 ? rc : gnn_tier_create(&tier, &t);
	}
	int run_step(const std::vector<float> &message, const Item &item,
		const struct gnn_tier_program &p, const struct gnn_tier_lists &l, uint64_t i,
		std::vector<float> *out)
	{
		int rc = gnn_tier_move(tier, &p, &l, i);

		if (rc < 0)
			return rc;
		const auto a = args(message, item, gnn_tier_lists_batch(&l, &p, i), tier->top,
			tier->top);

		rc = gnn_backend_cpu.aggregate(backend, &a);
		for (uint64_t d = i == 0 ? 0 : p.step[i - 1].done_end; d < p.step[i].done_end; d++)
			memcpy(out->data() + uint64_t{p.done.move[d].to} * WIDTH,
				tier->top + uint64_t{p.done.move[d].from} * WIDTH, WIDTH * 4);
		return rc;
	}
	// The lists where the backend reads them.
	int lists(const struct gnn_tier_program &p, struct gnn_tier_image *m,
		struct gnn_tier_lists *l)
	{
		const void *there;

		*l = gnn_tier_lists_of(&p);
		if (backend->ops->unified)
			return GNN_OK;
		if (int rc = gnn_tier_image_make(m, &p); rc < 0)
			return rc;
		backend->ops->reserve(backend, GNN_STAGE_PROGRAM, m->used);
		backend->ops->stage(backend, GNN_STAGE_PROGRAM, m->bytes, m->used, &there);
		*l = gnn_tier_image_lists(m, there);
		return GNN_OK;
	}
	void use_device()
	{
		gnn_backend_destroy(backend);
		backend = device::make(2, uint64_t{1} << 30);
	}
	// The control side runs one item ahead, so that reloads are asked for early.
	int run(const Graph &g, const Setting &s, const std::vector<float> &message,
		std::vector<float> *out)
	{
		const std::vector<Item> items = items_of(g, s);
		struct gnn_tier_program p[2] = {};
		struct gnn_tier_image image = {};
		struct gnn_tier_lists l = {};
		int rc = begin(g, s);

		out->assign(g.vertices * WIDTH, -1.0f);
		for (size_t k = 0; k <= items.size() && rc >= 0; k++) {
			if (k < items.size()) {
				rc = gnn_control_step(control, items[k].first, items[k].rows,
					&items[k].batch, &p[k % 2]);
				rc = rc < 0 ? rc : gnn_tier_ask(tier, &p[k % 2]);
			}
			if (k == 0)
				continue;
			rc = rc < 0 ? rc : lists(p[(k - 1) % 2], &image, &l);
			for (uint64_t i = 0; i < p[(k - 1) % 2].step_count && rc >= 0; i++)
				rc = run_step(message, items[k - 1], p[(k - 1) % 2], l, i, out);
			rc = rc < 0 ? rc : gnn_tier_rest(tier);
		}
		if (rc >= 0) {
			rc = gnn_control_end(control);
			written = gnn_spill_written_bytes(tier->spill);
		}
		gnn_tier_image_fini(&image);
		gnn_tier_program_fini(&p[0]);
		gnn_tier_program_fini(&p[1]);
		close();
		return rc;
	}
};

std::vector<float> messages(const Graph &g)
{
	std::vector<float> m(g.vertices * WIDTH);
	std::mt19937 random(5);
	std::normal_distribution<float> normal;

	for (float &x : m)
		x = normal(random);
	return m;
}

Setting spilling(enum gnn_evict_policy p, uint32_t top, uint32_t pin = 0)
{
	Setting s = setting(p, top, 0, pin);

	s.records = gnn_spill_records(WIDTH * 4, gnn_spill_page_bytes(WIDTH * 4, 1));
	return s;
}

TEST_P(TierTest, StatesHaveTheBitsOfDenseOnes)
{
	const Graph g = random_graph(500, 8000, 0.6, 9, true);
	const std::vector<float> m = messages(g);

	for (uint32_t top : {40u, 150u, 1000u})
		for (uint32_t streams : {2u, 1000u}) {
			Setting s = spilling(static_cast<enum gnn_evict_policy>(GetParam()), top,
				top / 3);
			std::vector<float> out;

			s.streams = streams;
			s.rows = top == 40 ? 100 : 32;
			s.entries = top == 40 ? 900 : 1 << 20;
			ASSERT_EQ(run(g, s, m, &out), GNN_OK) << gnn_err_text();
			const std::vector<float> wanted = dense(g, s, m);

			ASSERT_EQ(memcmp(out.data(), wanted.data(), out.size() * 4), 0)
				<< "top " << top << " streams " << streams;
			EXPECT_EQ(written > 0, top < 1000);
		}
}

TEST_P(TierTest, StatesOnADeviceHaveTheBitsOfDenseOnes)
{
	const Graph g = random_graph(500, 8000, 0.6, 9, true);
	const std::vector<float> m = messages(g);

	use_device();
	for (uint32_t top : {2u, 40u, 150u})
		for (uint32_t host : {0u, 2u, 60u, 1000u}) {
			Setting s = spilling(static_cast<enum gnn_evict_policy>(GetParam()), top,
				top / 3);
			std::vector<float> out;

			s.host = host;
			s.entries = top == 40 ? 900 : 1 << 20;
			ASSERT_EQ(run(g, s, m, &out), GNN_OK) << gnn_err_text();
			const std::vector<float> wanted = dense(g, s, m);

			ASSERT_EQ(memcmp(out.data(), wanted.data(), out.size() * 4), 0)
				<< "top " << top << " host " << host;
			EXPECT_EQ(written > 0, host < 1000);
			EXPECT_TRUE(device::world.fetches.empty());
			EXPECT_TRUE(device::world.blocks.empty());
			EXPECT_GT(device::world.fetched, 0u);
		}
}

INSTANTIATE_TEST_SUITE_P(Policies, TierTest, ::testing::Range(0, int{GNN_EVICT_COUNT}),
	[](const auto &info) {
		return gnn_evict_ops_of(static_cast<enum gnn_evict_policy>(info.param))->name;
	});

TEST_F(TierTest, FaultsOfTheSpillAreSaid)
{
	const Graph g = random_graph(400, 4000, 0.5, 2, true);
	const std::vector<float> m = messages(g);
	std::vector<float> out;

	for (auto [spec, status] : std::map<const char *, int>{{"read:flip@3", GNN_EDATA},
		{"write:flip@8", GNN_EDATA}, {"write:enospc@6", GNN_EIO},
		{"read:eio@5", GNN_EIO}}) {
		ASSERT_EQ(gnn_fault_parse(spec), GNN_OK);
		EXPECT_EQ(run(g, spilling(GNN_EVICT_LRU, 50), m, &out), status) << spec;
		EXPECT_NE(std::string(gnn_err_text()).find("spill file"), std::string::npos)
			<< gnn_err_text();
	}
	ASSERT_EQ(gnn_fault_parse("read:short%3,write:short%5,read:eagain%7"), GNN_OK);
	EXPECT_EQ(run(g, spilling(GNN_EVICT_LRU, 50), m, &out), GNN_OK) << gnn_err_text();
}

TEST_F(TierTest, EveryAllocationMayFail)
{
	const Graph g = random_graph(300, 2000, 0.5, 2);
	const std::vector<float> m = messages(g);
	std::vector<float> out;

	for (int n = 1; n < 3000; n += 1 + n / 8) {
		ASSERT_EQ(gnn_fault_parse(("alloc:fail@" + std::to_string(n)).c_str()), GNN_OK);
		const int rc = run(g, spilling(GNN_EVICT_BELADY, 20), m, &out);

		if (rc == GNN_OK)
			return;
		ASSERT_EQ(rc, GNN_EOS) << n;
	}
	FAIL() << "never whole";
}

TEST_F(TierTest, EveryAllocationOnADeviceMayFail)
{
	const Graph g = random_graph(300, 2000, 0.5, 2);
	const std::vector<float> m = messages(g);
	std::vector<float> out;

	use_device();
	for (int n = 1; n < 3000; n += 1 + n / 8) {
		Setting s = spilling(GNN_EVICT_BELADY, 20);

		s.host = 30;
		ASSERT_EQ(gnn_fault_parse(("alloc:fail@" + std::to_string(n)).c_str()), GNN_OK);
		const int rc = run(g, s, m, &out);

		ASSERT_TRUE(device::world.blocks.empty()) << n;
		if (rc == GNN_OK)
			return;
		ASSERT_EQ(rc, GNN_EOS) << n;
	}
	FAIL() << "never whole";
}

} // namespace
