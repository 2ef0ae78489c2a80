// The whole tiered plan on a device made of host memory: the result has the resident plan's bits.
#include "unit/device_fixture.h"
#include "unit/small_store.h"

#include "base/stop.h"
#include "infer/infer.h"
#include "layer/seeded.h"
#include "tier/evict.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr uint64_t V = 3000, DIM = 20;
constexpr uint32_t HIDDEN = 12, LAST = 7;

struct How {
	gnn_evict_policy policy = GNN_EVICT_BELADY;
	uint64_t gpu_store = 0, hot_store = 0, chunk_bytes = 1;
	uint64_t room = uint64_t{256} << 20;
	uint64_t graduation_bytes = 0;
	bool resume = false;
	const char *fanout = "all";
};

struct TieredTest : ::testing::TestWithParam<gnn_arch> {
	std::string dir;
	gnn_infer_report report = {};

	std::string path(const char *name) const { return dir + "/" + name; }
	void SetUp() override
	{
		dir = ::testing::TempDir() + "tiered_test_" + std::to_string(getpid());
		std::filesystem::create_directories(dir);
		ASSERT_EQ(make_small_store(path("g.h5").c_str(), V, 12 * V, DIM, LAST), GNN_OK)
			<< gnn_err_text();
		make_model();
	}
	void make_model()
	{
		const uint32_t dims[] = {DIM, HIDDEN, LAST}, heads[] = {2, 1};
		const std::string model = path("m.safetensors");
		gnn_seeded_opts s = {};

		s.path = model.c_str();
		s.arch = GetParam();
		s.dims = dims;
		s.dim_count = 3;
		s.seed = 1;
		if (s.arch == GNN_ARCH_GAT) {
			s.heads = heads;
			s.head_count = 2;
		}
		ASSERT_EQ(gnn_model_seeded(&s), GNN_OK) << gnn_err_text();
	}
	void TearDown() override
	{
		for (const auto &e : std::filesystem::directory_iterator(dir))
			EXPECT_EQ(e.path().string().find("gnnrun"), std::string::npos) << e.path();
		std::filesystem::remove_all(dir);
	}

	int infer(gnn_backend *backend, gnn_plan_kind plan, const How &how)
	{
		const std::string out = path("e.h5"), weights = path("m.safetensors");
		const std::string graph = path("g.h5");
		gnn_infer_opts o = {};
		gnn_container_opts c = {};
		gnn_model_opts mo = {};
		gnn_store *store = nullptr;
		gnn_model *model = nullptr;
		int rc;

		c.path = graph.c_str();
		mo.path = weights.c_str();
		EXPECT_EQ(gnn_store_open(&store, &c), GNN_OK) << gnn_err_text();
		EXPECT_EQ(gnn_model_load(&model, &mo), GNN_OK) << gnn_err_text();
		EXPECT_EQ(gnn_model_set_fanout(model, how.fanout, true), GNN_OK);
		o.store = store;
		o.model = model;
		o.backend = backend;
		o.out_path = out.c_str();
		o.model_path = weights.c_str();
		o.plan = plan;
		o.evict = how.policy;
		o.hot_store = how.hot_store;
		o.gpu_store = how.gpu_store;
		o.graduation_bytes = how.graduation_bytes;
		o.chunk_bytes = how.chunk_bytes;
		o.resume = how.resume;
		o.threads = 2;
		o.queue_depth = 2;
		o.verify_reads = true;
		o.provenance = "{}";
		rc = gnn_infer_run(&o, &report);
		gnn_model_destroy(model);
		gnn_store_close(store);
		return rc;
	}
	std::vector<float> rows() const
	{
		const std::string out = path("e.h5");
		gnn_container *c = nullptr;
		gnn_container_opts o = {};
		std::vector<float> x;

		o.path = out.c_str();
		EXPECT_EQ(gnn_container_open(&c, &o), GNN_OK) << gnn_err_text();
		const gnn_array *a = gnn_container_find(c, "embeddings");

		EXPECT_NE(a, nullptr);
		if (a != nullptr) {
			std::ifstream f(out, std::ios::binary);

			x.resize(a->bytes / sizeof(float));
			f.seekg(static_cast<std::streamoff>(a->offset));
			f.read(reinterpret_cast<char *>(x.data()),
				static_cast<std::streamsize>(a->bytes));
		}
		gnn_container_close(c);
		return x;
	}
	std::vector<float> resident(const How &how = {})
	{
		gnn_backend_opts o = {};
		gnn_backend *cpu = nullptr;

		o.threads = 2;
		EXPECT_EQ(gnn_backend_create(&cpu, "cpu", &o), GNN_OK);
		EXPECT_EQ(infer(cpu, GNN_PLAN_RESIDENT, how), GNN_OK) << gnn_err_text();
		gnn_backend_destroy(cpu);
		return rows();
	}
};

TEST_P(TieredTest, ADeviceGivesTheBitsOfTheResidentPlan)
{
	const std::vector<float> wanted = resident();
	const uint64_t row = HIDDEN * 4;
	How cuts[] = {{}, {}, {}, {}, {}, {}, {}};

	ASSERT_EQ(wanted.size(), V * LAST);
	cuts[1] = {GNN_EVICT_BELADY, GNN_STORE_MIN, GNN_STORE_MIN};
	cuts[2] = {GNN_EVICT_PENDING, V / 4 * row, V / 8 * row};
	cuts[3] = {GNN_EVICT_LRU, V / 4 * row, V * row, 64 << 10};
	cuts[4] = {GNN_EVICT_FIFO, V / 16 * row, GNN_STORE_MIN, 1};
	cuts[5] = {GNN_EVICT_RANDOM, V / 4 * row, V / 4 * row, 30 << 10};
	cuts[6] = {GNN_EVICT_BELADY, V / 4 * row, V / 8 * row, 100 << 10};
	cuts[6].graduation_bytes = 1;
	for (const How &how : cuts) {
		gnn_backend *b = device::make(2, how.room);

		ASSERT_EQ(infer(b, GNN_PLAN_TIERED, how), GNN_OK) << gnn_err_text();
		const std::vector<float> got = rows();

		EXPECT_EQ(memcmp(got.data(), wanted.data(), wanted.size() * 4), 0)
			<< "policy " << how.policy << " store " << how.gpu_store;
		EXPECT_STREQ(report.layer[0].plan, "tiered");
		EXPECT_EQ(report.layer[0].evictions, report.layer[0].reloads);
		EXPECT_EQ(report.layer[0].evictions > 0, how.gpu_store != 0);
		EXPECT_GE(report.layer[0].host_store_bytes,
			how.hot_store == GNN_STORE_MIN ? 1 : how.hot_store);
		EXPECT_TRUE(device::world.fetches.empty());
		EXPECT_TRUE(device::world.blocks.empty()) << device::world.blocks.size();
		gnn_backend_destroy(b);
	}
}

TEST_P(TieredTest, TheBudgetOfTheDeviceHolds)
{
	const std::vector<float> wanted = resident();
	std::string said;
	unsigned long long least = 0;
	gnn_backend *b = device::make(2, uint64_t{1} << 20);

	ASSERT_EQ(infer(b, GNN_PLAN_TIERED, How{}), GNN_EOS);
	said = gnn_err_text();
	gnn_backend_destroy(b);
	ASSERT_NE(said.find("--gpu-memory"), std::string::npos) << said;
	ASSERT_EQ(sscanf(said.c_str() + said.rfind("--gpu-memory "), "--gpu-memory %lluM", &least),
		1);
	b = device::make(2, least << 20);
	ASSERT_EQ(infer(b, GNN_PLAN_TIERED, How{}), GNN_OK) << gnn_err_text();
	EXPECT_LE(device::world.peak, least << 20);
	gnn_backend_destroy(b);
	const std::vector<float> got = rows();

	EXPECT_EQ(memcmp(got.data(), wanted.data(), wanted.size() * 4), 0);
}

TEST_P(TieredTest, SampledEdgesBringTheirWeightsAlong)
{
	How how;

	if (GetParam() == GNN_ARCH_GAT)
		GTEST_SKIP() << "the device of this test groups no sample";
	how.fanout = "3";
	const std::vector<float> wanted = resident(how);
	gnn_backend *b = device::make(2, how.room);

	how.gpu_store = how.hot_store = V / 8 * HIDDEN * 4;
	ASSERT_EQ(infer(b, GNN_PLAN_TIERED, how), GNN_OK) << gnn_err_text();
	gnn_backend_destroy(b);
	const std::vector<float> got = rows();

	EXPECT_GT(report.layer[0].evictions, 0u);
	EXPECT_EQ(memcmp(got.data(), wanted.data(), wanted.size() * 4), 0);
}

/* The signal that stops it is never taken back, so each process runs to the next chunk and dies. */
TEST_P(TieredTest, WhatTheStoresHoldIsGoneOnWith)
{
	const std::vector<float> wanted = resident();
	How how;
	int stops = 0;

	how.gpu_store = how.hot_store = V / 8 * HIDDEN * 4;
	how.resume = true;
	how.chunk_bytes = 60 << 10;
	for (; stops < 50; stops++) {
		const pid_t child = fork();
		int status = 0;

		if (child == 0) {
			gnn_backend *b = device::make(1, how.room);

			gnn_stop_listen();
			raise(SIGTERM);
			_exit(infer(b, GNN_PLAN_TIERED, how) == GNN_ESTOP ? 1 :
				HasFailure() ? 2 : 0);
		}
		ASSERT_EQ(waitpid(child, &status, 0), child);
		ASSERT_TRUE(WIFEXITED(status));
		ASSERT_NE(WEXITSTATUS(status), 2);
		if (WEXITSTATUS(status) == 0)
			break;
	}
	EXPECT_GT(stops, 4);
	const std::vector<float> got = rows();

	EXPECT_EQ(memcmp(got.data(), wanted.data(), wanted.size() * 4), 0);
}

INSTANTIATE_TEST_SUITE_P(Archs, TieredTest,
	::testing::Values(GNN_ARCH_GCN, GNN_ARCH_SAGE, GNN_ARCH_GIN, GNN_ARCH_GAT),
	[](const auto &info) { return std::string(gnn_arch_name(info.param)); });

} // namespace
