/*
 * Batches on a device that is host memory: whoever samples and gathers, with a pipeline or without,
 * ids, edges, rows and labels are those of the host's batch.
 */
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "base/fault.h"
#include "op/grad.h"
#include "train/cache.h"
#include "train/carrier.h"
#include "train/gauge.h"
#include "train/ways.h"
#include "unit/carrier_fixture.h"

namespace {

constexpr uint64_t STEPS = 9;

gnn_net *make_net(gnn_backend *b, double dropout)
{
	gnn_net *net = nullptr;
	gnn_net_opts o{};

	o.backend = b;
	o.shape.arch = GNN_ARCH_GCN;
	o.shape.layers = 2;
	o.shape.dim_in = DIM;
	o.shape.channels[0] = 4;
	o.shape.channels[1] = CLASSES;
	o.shape.heads[0] = o.shape.heads[1] = 1;
	o.dropout = dropout;
	o.seed = 4;
	EXPECT_EQ(gnn_net_create(&net, &o), GNN_OK) << gnn_err_text();
	return net;
}

/* What one batch holds, as values. */
struct Values {
	Values(const gnn_there &t, uint64_t parts)
		: dropped(t.dropped), id(t.sample.id, t.sample.id + t.sample.id_count),
		  x(t.x, t.x + id.size() * DIM * parts),
		  label(t.label, t.label + t.seed_count)
	{
		for (uint32_t l = 0; l < t.sample.layers; l++) {
			const gnn_block &b = t.sample.block[l];

			entries.insert(entries.end(), b.src, b.src + b.entry_count);
			weights.insert(weights.end(), b.weight, b.weight + b.entry_count);
			if (b.back_first == nullptr)
				continue;
			entries.insert(entries.end(), b.back_dst, b.back_dst + b.entry_count);
		}
	}
	/* Rows as the net takes them: behind its dropout, whoever applied it. */
	void drop(const gnn_net *net, uint64_t step)
	{
		gnn_backend *cpu = cpu_backend(1);
		gnn_dropout_args a{};

		a.from = a.to = x.data();
		a.id = id.data();
		a.rows = id.size();
		a.width = DIM;
		a.drop = gnn_net_input_drop(net, step);
		if (!dropped && a.drop.below > 0) {
			EXPECT_EQ(cpu->ops->grad->dropout(cpu, &a), GNN_OK);
		}
		dropped = false;
		gnn_backend_destroy(cpu);
	}
	bool operator==(const Values &) const = default;
	bool dropped;
	std::vector<gnn_vid> id;
	std::vector<float> x;
	std::vector<int64_t> label;
	std::vector<uint32_t> entries;
	std::vector<float> weights;
};

struct How {
	gnn_gather_wish gather;
	gnn_sample_wish sample;
	bool pipeline;
	uint64_t steps; /* taken before the end */
	const gnn_onehop_opts *onehop = nullptr;
	double ratio = 0; /* of a cache */
	gnn_hot_policy policy = GNN_HOT_PRESAMPLE;
	double share = NAN; /* of both; else measured */
	double dropout = 0;
};

/* What a carrying did, beside the batches. */
struct Done {
	gnn_table table{};
	uint64_t hits = 0, rows = 0, bus_bytes = 0, most = 0;
	const char *fails = nullptr;           /* what next must fail with */
	std::function<void()> begin = [] {};   /* called before the carrier starts */
};

std::vector<Values> carry(gnn_backend *b, Source &source, const How &how, Done *done)
{
	const uint64_t fanout[] = {4, 6};
	std::vector<Values> to;
	gnn_carrier *carrier = nullptr;
	gnn_carrier_opts o{};
	gnn_table table{};
	gnn_cache *cache = nullptr;
	gnn_there *t;
	gnn_net *net = make_net(b, how.dropout);
	const gnn_table_wish wish{how.gather, how.sample, how.ratio > 0, 0};

	done->hits = done->rows = done->bus_bytes = 0;
	EXPECT_EQ(gnn_table_init(&table, b, &source.s, &wish), GNN_OK) << gnn_err_text();
	o.batches.source = &source.s;
	o.batches.net = net;
	o.batches.backend = b;
	o.batches.batch_size = 20;
	o.batches.last_step = STEPS;
	o.batches.workers = how.pipeline ? 2 : 0;
	o.batches.threads = 1;
	o.batches.sampler.lists = &source.graph.lists;
	o.batches.sampler.rule = gnn_net_rule(GNN_ARCH_GCN);
	o.batches.sampler.dependency = 1;
	o.batches.sampler.layers = 2;
	o.batches.sampler.fanout = fanout;
	o.batches.sampler.bare = source.s.bottom != nullptr || how.onehop != nullptr;
	o.batches.onehop = how.onehop;
	if (how.ratio > 0) {
		const gnn_cache_opts c{b, how.ratio, how.policy, &o.batches, nullptr, nullptr, 0};

		EXPECT_EQ(gnn_cache_open(&cache, &c), GNN_OK) << gnn_err_text();
		table.cache = cache;
	}
	EXPECT_EQ(gnn_gauge_gather(&table, &o.batches, 1), GNN_OK) << gnn_err_text();
	if (how.share >= 0)
		table.share = how.share;
	done->table = table;
	o.table = &table;
	o.pipeline = how.pipeline;
	o.threads = 2;
	done->begin();
	EXPECT_EQ(gnn_carrier_start(&carrier, &o), GNN_OK) << gnn_err_text();
	while (to.size() < how.steps && gnn_carrier_next(carrier, &t) == GNN_OK) {
		EXPECT_EQ(t->step, to.size());
		EXPECT_EQ(t->seed[0], t->sample.id[0]);
		to.emplace_back(*t, source.s.parts);
		EXPECT_EQ(t->dropped, !b->ops->unified && !gnn_table_is_staged(&table));
		to.back().drop(net, t->step);
		done->hits += t->cache_hits;
		done->rows += t->sample.id_count;
		done->most = std::max(done->most, t->sample.id_count);
		done->bus_bytes += t->copied_bytes;
		gnn_carrier_put(carrier, t);
	}
	if (done->fails != nullptr) {
		EXPECT_STREQ(gnn_err_text(), done->fails);
	} else if (how.steps > STEPS) {
		EXPECT_EQ(gnn_carrier_next(carrier, &t), GNN_EOF);
	}
	gnn_carrier_stop(carrier);
	gnn_table_fini(&table);
	gnn_cache_close(cache);
	gnn_net_destroy(net);
	return to;
}

/* Where the device has no room for the table, the fastest that the wish allows is measured. */
void expect_gather(gnn_gather got, gnn_gather_wish wish, bool fits)
{
	if (wish == GNN_WISH_STAGED)
		EXPECT_EQ(got, GNN_GATHER_STAGED);
	else if (wish == GNN_WISH_ZERO_COPY)
		EXPECT_EQ(got, GNN_GATHER_ZERO_COPY);
	else if (wish == GNN_WISH_BOTH)
		EXPECT_EQ(got, GNN_GATHER_BOTH);
	else if (fits)
		EXPECT_EQ(got, GNN_GATHER_RESIDENT);
	else
		EXPECT_NE(got, GNN_GATHER_RESIDENT);
}

/* A cache has what it holds; what it lacks goes over the bus, and the labels' and lists' bytes. */
void expect_hits(const Done &d, double ratio)
{
	const uint64_t lacking = (d.rows - d.hits) * DIM * sizeof(float);

	if (ratio == 0)
		EXPECT_EQ(d.hits, 0u);
	else if (ratio == 1)
		EXPECT_EQ(d.hits, d.rows);
	else
		EXPECT_TRUE(d.hits > 0 && d.hits < d.rows) << d.hits;
	EXPECT_GE(d.bus_bytes, lacking);
}

TEST(Carrier, BatchesAreThoseOfTheHost)
{
	Device device;
	Source source;
	gnn_backend *cpu = cpu_backend(1);
	Done done;
	const std::vector<Values> want = carry(cpu, source, {GNN_WISH_AUTO, GNN_SAMPLE_AUTO, false,
		STEPS + 1}, &done);

	ASSERT_EQ(want.size(), STEPS);
	for (const Values &v : want)
		for (uint64_t i = 0; i < v.id.size(); i++)
			ASSERT_EQ(v.x[i * DIM], (float)(v.id[i] * DIM));
	for (uint64_t bytes : {UINT64_C(1) << 30, UINT64_C(0)})
		for (gnn_gather_wish gather : {GNN_WISH_AUTO, GNN_WISH_STAGED, GNN_WISH_ZERO_COPY,
			GNN_WISH_BOTH, GNN_WISH_DEVICE})
			for (gnn_sample_wish sample : {GNN_SAMPLE_AUTO, GNN_SAMPLE_HOST,
				GNN_SAMPLE_DEVICE})
				for (bool pipeline : {false, true}) {
					room = bytes;
					const auto got = carry(device.backend, source, {gather,
						sample, pipeline, STEPS + 1}, &done);
					ASSERT_EQ(got, want) << gather << sample << pipeline;
					ASSERT_EQ(done.hits, 0u);
					ASSERT_EQ(done.table.samples, sample == GNN_SAMPLE_DEVICE ||
						(sample == GNN_SAMPLE_AUTO && bytes > 0));
					expect_gather(done.table.gather, gather, bytes > 0);
				}
	gnn_backend_destroy(cpu);
}

/* Weights come with what the CPU samples: a device is not asked, and refuses. */
TEST(Carrier, WeightedEdgesAreSampledByTheCpu)
{
	Device device;
	Source source;
	gnn_backend *cpu = cpu_backend(1);
	const gnn_table_wish wish{GNN_WISH_AUTO, GNN_SAMPLE_DEVICE, false, 0};
	gnn_table table{};
	Done done;
	const How how{GNN_WISH_AUTO, GNN_SAMPLE_AUTO, true, STEPS + 1};
	const std::vector<Values> plain = carry(cpu, source, how, &done);

	source.graph.weigh();
	const std::vector<Values> want = carry(cpu, source, how, &done);
	ASSERT_EQ(want.size(), STEPS);
	ASSERT_EQ(want[0].entries, plain[0].entries);
	ASSERT_NE(want[0].weights, plain[0].weights);
	for (uint64_t bytes : {UINT64_C(1) << 30, UINT64_C(0)}) {
		room = bytes;
		ASSERT_EQ(carry(device.backend, source, how, &done), want);
		ASSERT_FALSE(done.table.samples);
		ASSERT_EQ(gnn_table_init(&table, device.backend, &source.s, &wish), GNN_ECONFIG);
		ASSERT_NE(strstr(gnn_err_text(), "step-gpu-gather"), nullptr);
		gnn_table_fini(&table);
	}
	gnn_backend_destroy(cpu);
}

/* Whatever the share that is staged, whatever the cache holds, with dropout and without. */
TEST(Carrier, CachedAndDividedBatchesAreThoseOfTheHost)
{
	Device device;
	Source source;
	gnn_backend *cpu = cpu_backend(1);
	Done done;
	How host{GNN_WISH_AUTO, GNN_SAMPLE_AUTO, false, STEPS + 1};
	const std::vector<Values> plain = carry(cpu, source, host, &done);
	host.dropout = .4;
	const std::vector<Values> dropped = carry(cpu, source, host, &done);

	ASSERT_NE(plain[0].x, dropped[0].x);
	ASSERT_GT(done.most, 256u); /* more than one block of rows is looked up in the cache */
	room = 1 << 30;
	for (double ratio : {0.0, 0.002, 0.3, 1.0})
		for (double share : {0.0, 0.01, 0.4, 1.0})
			for (gnn_gather_wish gather : {GNN_WISH_STAGED, GNN_WISH_ZERO_COPY,
				GNN_WISH_BOTH, GNN_WISH_DEVICE})
				for (int way = 0; way < 8; way++) {
					const bool drops = way >= 4;
					const How how{gather, way & 1 ? GNN_SAMPLE_HOST :
						GNN_SAMPLE_DEVICE, (way & 2) != 0, STEPS + 1,
						nullptr, ratio, GNN_HOT_PRESAMPLE, share,
						drops ? .4 : 0};
					const auto got = carry(device.backend, source, how, &done);

					ASSERT_EQ(got, drops ? dropped : plain) << gather << way <<
						" " << ratio << " " << share;
					if (ratio > 0 || gather != GNN_WISH_DEVICE)
						expect_hits(done, ratio);
				}
	gnn_backend_destroy(cpu);
}

/* The first epoch's batches say what is needed: they hit more often than hubs do. */
TEST(Carrier, CacheOfEitherPolicyWithinTheDevice)
{
	Device device;
	Source source;
	Done presample, degree, done;

	room = 1 << 30;
	How how{GNN_WISH_ZERO_COPY, GNN_SAMPLE_HOST, false, STEPS + 1, nullptr, 0.2};
	carry(device.backend, source, how, &presample);
	how.policy = GNN_HOT_DEGREE;
	carry(device.backend, source, how, &degree);
	EXPECT_GT(degree.hits, 0u);
	EXPECT_GT(presample.hits, degree.hits);
	EXPECT_LT(presample.bus_bytes, degree.bus_bytes);

	/* Places of all, and 40 rows: no more are cached. */
	room = 2 * (500 * sizeof(uint32_t) + 40 * DIM * sizeof(float));
	gnn_batches_opts batches{};
	const gnn_cache_opts o{device.backend, 0.5, GNN_HOT_DEGREE, &batches, nullptr,
		nullptr, 0};
	gnn_cache *cache = nullptr;

	batches.source = &source.s;
	batches.threads = 1;
	ASSERT_EQ(gnn_cache_open(&cache, &o), GNN_OK) << gnn_err_text();
	EXPECT_EQ(cache->count, 40u);
	gnn_cache_close(cache);
	room = 2 * 500 * sizeof(uint32_t);
	EXPECT_EQ(gnn_cache_open(&cache, &o), GNN_ECONFIG);
}

/* A path that is slowed down is not chosen, unless nothing else may be. */
TEST(Carrier, TheFastestGatherIsChosen)
{
	Device device;
	Source source;
	Done done;
	const struct {
		const char *faults;
		gnn_gather_wish wish;
		gnn_gather want;
	} cases[] = {{"staged:slow%1", GNN_WISH_AUTO, GNN_GATHER_ZERO_COPY},
		{"in-place:slow%1", GNN_WISH_AUTO, GNN_GATHER_STAGED},
		{"staged:slow%1", GNN_WISH_DEVICE, GNN_GATHER_ZERO_COPY},
		/* its runs alone are slow: beside another it is not */
		{"in-place:slow@1-4,staged:slow@1-4", GNN_WISH_AUTO, GNN_GATHER_BOTH},
		{"in-place:slow@1-4", GNN_WISH_DEVICE, GNN_GATHER_BOTH},
		{"in-place:slow%1", GNN_WISH_ZERO_COPY, GNN_GATHER_ZERO_COPY},
		{"staged:slow%1", GNN_WISH_BOTH, GNN_GATHER_BOTH},
		{"staged:slow%1", GNN_WISH_STAGED, GNN_GATHER_STAGED}};

	room = 0;
	for (const auto &c : cases) {
		ASSERT_EQ(gnn_fault_parse(c.faults), GNN_OK);
		carry(device.backend, source, {c.wish, GNN_SAMPLE_HOST, false, 0}, &done);
		EXPECT_EQ(done.table.gather, c.want) << c.faults << " " << c.wish;
	}
	gnn_fault_clear();
}

/* A device, in-lists and features on it or staged, and what may be chosen of. */
gnn_ways_choice chosen(const char *faults, Source &source, gnn_gather_wish gather, gnn_reuse reuse,
	bool pipeline, gnn_ways_seen *seen)
{
	const uint64_t fanout[] = {4, 6};
	Device device;
	gnn_table table{};
	gnn_ways_opts o{};
	gnn_ways_choice choice{};
	gnn_train_opts train{};
	gnn_batches_opts batches{};
	gnn_net *net = make_net(device.backend, 0);
	const gnn_table_wish wish{gather, GNN_SAMPLE_AUTO, false, 0};

	room = 1 << 30;
	EXPECT_EQ(gnn_table_init(&table, device.backend, &source.s, &wish), GNN_OK);
	train.backend = device.backend;
	train.shape = *gnn_net_shape_of(net);
	train.threads = 1;
	train.pipeline = pipeline;
	train.reuse = reuse;
	train.super_batch = 2;
	train.hot_ratio = .2;
	train.device = wish;
	batches.source = &source.s;
	batches.net = net;
	batches.backend = device.backend;
	batches.batch_size = 20;
	batches.workers = pipeline ? 2 : 0;
	batches.threads = 1;
	batches.sampler.lists = &source.graph.lists;
	batches.sampler.rule = gnn_net_rule(GNN_ARCH_GCN);
	batches.sampler.dependency = 1;
	batches.sampler.layers = 2;
	batches.sampler.fanout = fanout;
	o.train = &train;
	o.source = &source.s;
	o.net = net;
	o.batches = &batches;
	o.table = &table;
	o.steps = pipeline ? 512 : 4;
	*seen = gnn_ways_seen{};
	EXPECT_EQ(gnn_fault_parse(faults), GNN_OK);
	EXPECT_EQ(gnn_ways_choose(&choice, seen, &o), GNN_OK) << gnn_err_text();
	gnn_fault_clear();
	gnn_hot_free(choice.hot);
	source.s.parts = 1;
	gnn_table_fini(&table);
	gnn_net_destroy(net);
	return choice;
}

/* Whoever samples slowly does not, with the pipeline of the training or without. */
TEST(Ways, TheFasterSamplerIsChosen)
{
	Source source;
	gnn_ways_seen seen;

	for (bool pipeline : {false, true})
		for (gnn_gather_wish gather : {GNN_WISH_AUTO, GNN_WISH_STAGED})
			for (bool host : {false, true}) {
				const char *slow = host ? "sample-there:slow%1" : "sample:slow%1";
				const auto c = chosen(slow, source, gather, GNN_REUSE_OFF,
					pipeline, &seen);

				EXPECT_EQ(c.way, GNN_WAY_STEP);
				EXPECT_EQ(c.samples, !host);
				EXPECT_EQ(seen.count, 2u);
				EXPECT_EQ(seen.chosen, host ? 1u : 0u);
				EXPECT_STREQ(seen.way[1].orchestration,
					gather == GNN_WISH_AUTO ? "step-gpu-gather" : "step-cpu");
				EXPECT_GT(seen.way[host ? 0 : 1].step_s, .01);
			}
}

/* Four times each: by layer, where the device samples, or the CPU does; reused, likewise. */
TEST(Ways, TheFastestShareOfTheCpuIsChosen)
{
	Source source;
	gnn_ways_seen seen;
	const struct {
		const char *faults;
		gnn_way want;
		uint32_t place;
	} cases[] = {{"rows:slow%1,bottom:slow@5-16", GNN_WAY_LAYER, 2},
		{"rows:slow%1,bottom:slow@1-12", GNN_WAY_AGGREGATES, 5},
		{"bottom:slow@1-16,sample:slow%1", GNN_WAY_STEP, 0}};

	for (const auto &x : cases) {
		const auto c = chosen(x.faults, source, GNN_WISH_STAGED, GNN_REUSE_AUTO, false,
			&seen);

		EXPECT_EQ(c.way, x.want) << x.faults;
		EXPECT_EQ(seen.chosen, x.place) << x.faults;
		EXPECT_EQ(seen.count, 6u);
	}
	/* A device that reads features in place has nothing that the CPU could aggregate. */
	EXPECT_EQ(chosen("sample:slow%1", source, GNN_WISH_ZERO_COPY, GNN_REUSE_AUTO, false,
		&seen).way, GNN_WAY_STEP);
	EXPECT_EQ(seen.count, 2u);
}

/* Rows of both tables come, whoever samples; nobody but the CPU gathers. */
TEST(Carrier, AggregatesInThePlaceOfFeatures)
{
	Device device;
	Source source;
	gnn_backend *cpu = cpu_backend(1);
	Done done;

	source.precompute();
	room = 1 << 30;
	const std::vector<Values> want = carry(cpu, source, {GNN_WISH_AUTO, GNN_SAMPLE_AUTO, false,
		STEPS + 1}, &done);

	ASSERT_EQ(want.size(), STEPS);
	for (const Values &v : want)
		for (uint64_t i = 0; i < v.id.size(); i++) {
			ASSERT_EQ(v.x[i * DIM + 1], -(float)(v.id[i] * DIM + 1));
			ASSERT_EQ(v.x[(v.id.size() + i) * DIM], (float)(v.id[i] * DIM));
		}
	for (gnn_gather_wish gather : {GNN_WISH_AUTO, GNN_WISH_STAGED})
		for (gnn_sample_wish sample : {GNN_SAMPLE_HOST, GNN_SAMPLE_DEVICE})
			for (bool pipeline : {false, true}) {
				const auto got = carry(device.backend, source, {gather, sample,
					pipeline, STEPS + 1}, &done);
				ASSERT_EQ(got, want) << gather << sample << pipeline;
				ASSERT_EQ(done.table.gather, GNN_GATHER_STAGED);
			}
	gnn_backend_destroy(cpu);
}

/* The CPU aggregates for what it or the device drew; workers change nothing. */
TEST(Carrier, AggregatesOfTheBatch)
{
	Device device;
	Source source;
	gnn_backend *cpu = cpu_backend(1);
	Done done;
	gnn_hot *hot = nullptr;
	gnn_batches_opts batches{};
	gnn_hot_opts ho{GNN_HOT_DEGREE, 0.3, &batches, nullptr};

	batches.source = &source.s;
	ASSERT_EQ(gnn_hot_choose(&hot, &ho), GNN_OK);
	EXPECT_EQ(hot->count, 150u);
	room = 1 << 30;
	source.s.parts = 2;
	for (uint64_t count : {UINT64_C(0), hot->count}) {
		const gnn_onehop_opts onehop{hot->place, count, 3};
		const std::vector<Values> want = carry(cpu, source, {GNN_WISH_AUTO,
			GNN_SAMPLE_AUTO, false, STEPS + 1, &onehop}, &done);

		ASSERT_EQ(want.size(), STEPS);
		for (const Values &v : want)
			for (uint64_t i = 0; i < v.id.size(); i++)
				ASSERT_EQ(v.x[(v.id.size() + i) * DIM], (float)(v.id[i] * DIM));
		for (gnn_sample_wish sample : {GNN_SAMPLE_HOST, GNN_SAMPLE_DEVICE})
			for (bool pipeline : {false, true}) {
				const auto got = carry(device.backend, source, {GNN_WISH_STAGED,
					sample, pipeline, STEPS + 1, &onehop}, &done);
				ASSERT_EQ(got, want) << sample << pipeline;
			}
	}
	gnn_hot_free(hot);
	gnn_backend_destroy(cpu);
}

gnn_grad_ops failing_grad;
int copies_left, gathers_left;

int failing_copy(gnn_backend *b, void *to, uint64_t to_pitch, const void *from, uint64_t from_pitch,
	uint64_t width, uint64_t rows)
{
	if (copies_left-- == 0)
		return gnn_err(GNN_EOS, "no copy");
	return gnn_backend_cpu.copy(b, to, to_pitch, from, from_pitch, width, rows);
}

int failing_gather(gnn_backend *b, const gnn_gather_args *a)
{
	if (gathers_left-- == 0)
		return gnn_err(GNN_EOS, "no gather");
	return gnn_backend_cpu.grad->gather(b, a);
}

/* Whichever of the two threads fails, next says why. */
TEST(Carrier, FailsWithTheReasonOfEitherThread)
{
	Device device;
	Source source;

	room = 1 << 30;
	failing_grad = *gnn_backend_cpu.grad;
	failing_grad.gather = failing_gather;
	device_ops.grad = &failing_grad;
	for (bool gathers : {false, true})
		for (bool pipeline : {false, true})
			for (int left : {0, 3}) {
				Done done;
				uint64_t got = 0;

				done.fails = gathers ? "no gather" : "no copy";
				copies_left = gathers_left = 1 << 30;
				device_ops.copy = failing_copy;
				done.begin = [&] {
					(gathers ? gathers_left : copies_left) =
						gathers ? left : 10 * left;
				};
				got = carry(device.backend, source, {GNN_WISH_ZERO_COPY,
					GNN_SAMPLE_HOST, pipeline, STEPS + 1}, &done).size();
				EXPECT_LT(got, STEPS);
				EXPECT_TRUE(got > 0 || left == 0 || !gathers);
			}
}

/* By whoever stops: workers that are through with all steps by then have no reason to tell. */
TEST(Carrier, CancelledBatchesEnd)
{
	Device device;
	Source source;
	gnn_batches_opts o{};

	o.source = &source.s;
	o.backend = device.backend;
	o.batch_size = 20;
	o.bare = true;
	o.threads = 1;
	for (uint32_t workers : {1, 2, 1, 2})
		for (uint64_t steps : {UINT64_C(1), UINT64_C(2), UINT64_C(1000)}) {
			gnn_batches *b = nullptr;
			gnn_batch *batch = nullptr;

			o.workers = workers;
			o.last_step = steps;
			ASSERT_EQ(gnn_batches_start(&b, &o), GNN_OK) << gnn_err_text();
			std::this_thread::sleep_for(std::chrono::milliseconds(2));
			gnn_batches_cancel(b);
			EXPECT_EQ(gnn_batches_next(b, &batch), GNN_ESTOP);
			EXPECT_EQ(batch, nullptr);
			gnn_batches_stop(b);
		}
}

TEST(Carrier, StopsInTheMiddle)
{
	Device device;
	Source source;
	Done done;

	room = 1 << 30;
	for (uint64_t steps : {UINT64_C(0), UINT64_C(1), UINT64_C(4)})
		for (gnn_sample_wish sample : {GNN_SAMPLE_HOST, GNN_SAMPLE_DEVICE})
			EXPECT_EQ(carry(device.backend, source, {GNN_WISH_STAGED, sample, true,
				steps}, &done).size(), steps);
}

} // namespace
