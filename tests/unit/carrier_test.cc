/*
 * Batches on a device that is host memory: whoever samples and gathers, with a pipeline or without,
 * ids, edges, rows and labels are those of the host's batch.
 */
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

#include "op/grad.h"
#include "train/carrier.h"
#include "train/hot.h"
#include "unit/carrier_fixture.h"

namespace {

constexpr uint64_t STEPS = 9;

gnn_net *make_net(gnn_backend *b)
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
	EXPECT_EQ(gnn_net_create(&net, &o), GNN_OK) << gnn_err_text();
	return net;
}

/* What one batch holds, as values. */
struct Values {
	Values(const gnn_there &t, uint64_t parts)
		: id(t.sample.id, t.sample.id + t.sample.id_count),
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
	bool operator==(const Values &) const = default;
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
};

std::vector<Values> carry(gnn_backend *b, Source &source, const How &how, gnn_table *done)
{
	const uint64_t fanout[] = {4, 6};
	std::vector<Values> to;
	gnn_carrier *carrier = nullptr;
	gnn_carrier_opts o{};
	gnn_table table{};
	gnn_there *t;
	gnn_net *net = make_net(b);

	EXPECT_EQ(gnn_table_init(&table, b, &source.s, how.gather, how.sample), GNN_OK)
		<< gnn_err_text();
	*done = table;
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
	o.table = &table;
	o.pipeline = how.pipeline;
	o.threads = 1;
	EXPECT_EQ(gnn_carrier_start(&carrier, &o), GNN_OK) << gnn_err_text();
	while (to.size() < how.steps && gnn_carrier_next(carrier, &t) == GNN_OK) {
		EXPECT_EQ(t->step, to.size());
		EXPECT_EQ(t->seed[0], t->sample.id[0]);
		to.emplace_back(*t, source.s.parts);
		gnn_carrier_put(carrier, t);
	}
	if (how.steps > STEPS) {
		EXPECT_EQ(gnn_carrier_next(carrier, &t), GNN_EOF);
	}
	gnn_carrier_stop(carrier);
	gnn_table_fini(&table);
	gnn_net_destroy(net);
	return to;
}

TEST(Carrier, BatchesAreThoseOfTheHost)
{
	Device device;
	Source source;
	gnn_backend *cpu = cpu_backend(1);
	gnn_table done;
	const std::vector<Values> want = carry(cpu, source, {GNN_WISH_AUTO, GNN_SAMPLE_AUTO, false,
		STEPS + 1}, &done);

	ASSERT_EQ(want.size(), STEPS);
	for (const Values &v : want)
		for (uint64_t i = 0; i < v.id.size(); i++)
			ASSERT_EQ(v.x[i * DIM], (float)(v.id[i] * DIM));
	for (uint64_t bytes : {UINT64_C(1) << 30, UINT64_C(0)})
		for (gnn_gather_wish gather : {GNN_WISH_AUTO, GNN_WISH_STAGED, GNN_WISH_ZERO_COPY,
			GNN_WISH_DEVICE})
			for (gnn_sample_wish sample : {GNN_SAMPLE_AUTO, GNN_SAMPLE_HOST,
				GNN_SAMPLE_DEVICE})
				for (bool pipeline : {false, true}) {
					room = bytes;
					const auto got = carry(device.backend, source, {gather,
						sample, pipeline, STEPS + 1}, &done);
					ASSERT_EQ(got, want) << gather << sample << pipeline;
					ASSERT_EQ(done.samples, sample == GNN_SAMPLE_DEVICE ||
						(sample == GNN_SAMPLE_AUTO && bytes > 0));
					ASSERT_EQ(done.gather, gather == GNN_WISH_STAGED ||
						(gather == GNN_WISH_AUTO && bytes == 0)
						? GNN_GATHER_STAGED
						: gather == GNN_WISH_ZERO_COPY || bytes == 0
						? GNN_GATHER_ZERO_COPY : GNN_GATHER_RESIDENT);
				}
	gnn_backend_destroy(cpu);
}

/* Rows of both tables come, whoever samples; nobody but the CPU gathers. */
TEST(Carrier, AggregatesInThePlaceOfFeatures)
{
	Device device;
	Source source;
	gnn_backend *cpu = cpu_backend(1);
	gnn_table done;

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
				ASSERT_EQ(done.gather, GNN_GATHER_STAGED);
			}
	gnn_backend_destroy(cpu);
}

/* The CPU aggregates for what it or the device drew; workers change nothing. */
TEST(Carrier, AggregatesOfTheBatch)
{
	Device device;
	Source source;
	gnn_backend *cpu = cpu_backend(1);
	gnn_table done;
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

TEST(Carrier, StopsInTheMiddle)
{
	Device device;
	Source source;
	gnn_table done;

	room = 1 << 30;
	for (uint64_t steps : {UINT64_C(0), UINT64_C(1), UINT64_C(4)})
		for (gnn_sample_wish sample : {GNN_SAMPLE_HOST, GNN_SAMPLE_DEVICE})
			EXPECT_EQ(carry(device.backend, source, {GNN_WISH_STAGED, sample, true,
				steps}, &done).size(), steps);
}

} // namespace
