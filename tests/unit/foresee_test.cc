/* The memory that is foreseen for batches and layers beside what is then taken. */
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <vector>

#include "op/grad.h"
#include "train/carrier.h"
#include "train/foresee.h"
#include "train/prepare.h"
#include "unit/carrier_fixture.h"

namespace {

/* Bytes that the device of host memory has given out, at the most. */
uint64_t held, peak;
std::map<void *, uint64_t> blocks;

int counted_alloc(gnn_backend *b, void **out, uint64_t bytes)
{
	const int rc = gnn_backend_cpu.alloc(b, out, bytes);

	if (rc == GNN_OK) {
		blocks[*out] = bytes;
		held += bytes;
		peak = std::max(peak, held);
	}
	return rc;
}

void counted_free(gnn_backend *b, void *block)
{
	if (block != nullptr)
		held -= blocks[block];
	gnn_backend_cpu.free(b, block);
}

struct Counted : Device {
	Counted()
	{
		device_ops.alloc = counted_alloc;
		device_ops.free = counted_free;
		held = peak = 0;
		blocks.clear();
		room = UINT64_C(1) << 40;
	}
};

struct Case {
	gnn_arch arch;
	uint32_t hidden, heads, layers;
	double   dropout;
	bool     pipeline;
	gnn_sample_wish sample;
	gnn_gather_wish gather = GNN_WISH_STAGED;
};

struct Training {
	Training(gnn_backend *b, Source &source, const Case &s) : backend(b)
	{
		const gnn_table_wish wish{s.gather, s.sample, false, 0};
		gnn_net_opts no{};

		no.backend = b;
		no.shape.arch = s.arch;
		no.shape.layers = s.layers;
		no.shape.dim_in = DIM;
		for (uint32_t l = 0; l < s.layers; l++) {
			no.shape.channels[l] = l + 1 < s.layers ? s.hidden : CLASSES;
			no.shape.heads[l] = s.heads;
		}
		no.dropout = s.dropout;
		EXPECT_EQ(gnn_net_create(&net, &no), GNN_OK) << gnn_err_text();
		EXPECT_EQ(gnn_table_init(&table, b, &source.s, &wish), GNN_OK) << gnn_err_text();
		batches.source = &source.s;
		batches.net = net;
		batches.backend = b;
		batches.batch_size = 40;
		batches.last_step = 4;
		batches.workers = s.pipeline ? 1 : 0;
		batches.threads = 1;
		batches.sampler.lists = &source.graph.lists;
		batches.sampler.rule = gnn_net_rule(s.arch);
		batches.sampler.dependency = 1;
		batches.sampler.layers = s.layers;
		batches.sampler.fanout = fanout;
		foresee.batches = &batches;
		foresee.pipeline = s.pipeline;
		foresee.samples = table.samples;
		foresee.gathers = s.gather != GNN_WISH_STAGED;
	}
	~Training()
	{
		gnn_table_fini(&table);
		gnn_net_destroy(net);
	}
	/* Steps over all batches: what they take of the device, at the most. */
	uint64_t train(bool pipeline)
	{
		const uint64_t before = held;
		gnn_carrier *carrier = nullptr;
		gnn_carrier_opts o{};
		gnn_there *t;

		o.batches = batches;
		o.table = &table;
		o.pipeline = pipeline;
		o.threads = 1;
		peak = held;
		EXPECT_EQ(gnn_carrier_start(&carrier, &o), GNN_OK) << gnn_err_text();
		while (gnn_carrier_next(carrier, &t) == GNN_OK) {
			gnn_loss_args loss{};
			const gnn_net_input in = gnn_there_input(t);
			float *y = nullptr;

			EXPECT_EQ(gnn_net_forward(net, &in, &y), GNN_OK);
			loss.y = y;
			loss.label = t->label;
			loss.dy = t->dy;
			loss.rows = t->seed_count;
			loss.width = CLASSES;
			EXPECT_EQ(backend->ops->grad->loss(backend, &loss), GNN_OK);
			EXPECT_EQ(gnn_net_backward(net, &in, t->dy), GNN_OK)
				<< gnn_err_text();
			gnn_carrier_put(carrier, t);
		}
		gnn_carrier_stop(carrier);
		return peak - before;
	}
	uint64_t fanout[3] = {5, 4, 3};
	gnn_backend *backend;
	gnn_net *net = nullptr;
	gnn_table table{};
	gnn_batches_opts batches{};
	gnn_foresee_opts foresee{};
};

/* The strips of features on their way are a constant that small graphs do not need. */
constexpr uint64_t STRIPS = 8 << 20;

TEST(Foresee, WhatIsTakenIsForeseenAndNotMuchMore)
{
	for (const Case &s : {Case{GNN_ARCH_GCN, 40, 1, 2, 0.0, true, GNN_SAMPLE_HOST},
		Case{GNN_ARCH_GCN, 40, 1, 3, 0.5, false, GNN_SAMPLE_DEVICE},
		Case{GNN_ARCH_GCN, 2, 1, 2, 0.5, true, GNN_SAMPLE_DEVICE},
		Case{GNN_ARCH_SAGE, 64, 1, 3, 0.5, true, GNN_SAMPLE_HOST},
		Case{GNN_ARCH_SAGE, 3, 1, 1, 0.0, false, GNN_SAMPLE_HOST},
		Case{GNN_ARCH_GIN, 32, 1, 2, 0.2, true, GNN_SAMPLE_DEVICE},
		Case{GNN_ARCH_GAT, 8, 3, 2, 0.5, true, GNN_SAMPLE_HOST},
		Case{GNN_ARCH_GAT, 8, 3, 3, 0.0, false, GNN_SAMPLE_DEVICE},
		Case{GNN_ARCH_GCN, 2, 1, 2, 0.5, true, GNN_SAMPLE_DEVICE, GNN_WISH_ZERO_COPY},
		Case{GNN_ARCH_SAGE, 3, 1, 2, 0.5, false, GNN_SAMPLE_HOST, GNN_WISH_DEVICE},
		Case{GNN_ARCH_GAT, 2, 1, 1, 0.5, false, GNN_SAMPLE_DEVICE, GNN_WISH_BOTH}}) {
		SCOPED_TRACE(testing::Message() << "arch " << s.arch << ", layers " << s.layers
			<< ", hidden " << s.hidden << ", sample " << s.sample << ", gather "
			<< s.gather);
		Counted device;
		Source source;
		Training t(device.backend, source, s);
		gnn_foreseen f{};

		ASSERT_EQ(gnn_foresee(&f, &t.foresee, t.batches.batch_size), GNN_OK)
			<< gnn_err_text();
		ASSERT_EQ(f.seeds, 40u);
		const uint64_t foreseen = gnn_foreseen_bytes(&f) - STRIPS;
		const uint64_t taken = t.train(s.pipeline);

		/* Later batches may be a little larger than the first. */
		EXPECT_LT((double)taken, 1.05 * (double)foreseen);
		EXPECT_GT((double)taken, .7 * (double)foreseen);
	}
}

TEST(Foresee, WhatDoesNotFitIsRefusedWithWhatWould)
{
	Counted device;
	Source source;
	Training t(device.backend, source, {GNN_ARCH_SAGE, 512, 1, 3, 0.5, true, GNN_SAMPLE_HOST});
	gnn_foreseen whole{}, half{}, f{};

	ASSERT_EQ(gnn_foresee_check(&whole, &t.foresee), GNN_OK) << gnn_err_text();
	ASSERT_EQ(gnn_foresee(&half, &t.foresee, 20), GNN_OK);
	room = gnn_foreseen_bytes(&half);
	ASSERT_EQ(gnn_foresee_check(&f, &t.foresee), GNN_EOS);
	EXPECT_NE(strstr(gnn_err_text(), "or --batch-size 20"), nullptr) << gnn_err_text();
	EXPECT_NE(strstr(gnn_err_text(), "more of --gpu-memory"), nullptr) << gnn_err_text();
	t.batches.batch_size = 20;
	EXPECT_EQ(gnn_foresee_check(&f, &t.foresee), GNN_OK) << gnn_err_text();
	room = gnn_foreseen_bytes(&half) - 1;
	EXPECT_EQ(gnn_foresee_check(&f, &t.foresee), GNN_EOS);
	room = 1000;
	EXPECT_EQ(gnn_foresee_check(&f, &t.foresee), GNN_EOS);
	EXPECT_EQ(strstr(gnn_err_text(), "--batch-size"), nullptr) << gnn_err_text();
}

/* Rows that a device gathers come behind dropout: there is no copy of them, which none takes. */
TEST(Foresee, RowsThatComeBehindDropoutAreThereOnce)
{
	Counted device;
	Source source;
	Training t(device.backend, source, {GNN_ARCH_GCN, 2, 1, 2, 0.5, false, GNN_SAMPLE_HOST});
	gnn_train_opts o{};
	gnn_foreseen copied{}, once{};

	o.backend = device.backend;
	o.dropout = 0.5;
	ASSERT_EQ(gnn_prepare_memory(&copied, nullptr, &o, &t.batches), GNN_OK) << gnn_err_text();
	for (gnn_gather_wish gather : {GNN_WISH_DEVICE, GNN_WISH_ZERO_COPY, GNN_WISH_BOTH}) {
		o.device.gather = gather;
		ASSERT_EQ(gnn_prepare_memory(&once, nullptr, &o, &t.batches), GNN_OK);
		EXPECT_EQ(copied.layers - once.layers, once.rows * DIM * sizeof(float) * 5 / 4);
	}
	for (gnn_gather_wish gather : {GNN_WISH_AUTO, GNN_WISH_STAGED}) { /* may be staged */
		o.device.gather = gather;
		ASSERT_EQ(gnn_prepare_memory(&once, nullptr, &o, &t.batches), GNN_OK);
		EXPECT_EQ(once.layers, copied.layers);
	}
}

/* Tables and caches leave room for batches. */
TEST(Foresee, TheReserveIsLeft)
{
	Device device;
	Source source;
	gnn_table table{};
	const uint64_t bytes = source.features.bytes;
	const uint64_t lists = (source.graph.lists.vertices + 1) * 8 +
		source.graph.lists.edges * 4 + source.graph.lists.vertices * 8;

	for (uint64_t reserve : {UINT64_C(0), UINT64_C(1) << 30}) {
		const gnn_table_wish wish{GNN_WISH_AUTO, GNN_SAMPLE_AUTO, false, reserve};

		room = 2 * std::max(bytes, lists);
		ASSERT_EQ(gnn_table_init(&table, device.backend, &source.s, &wish), GNN_OK);
		EXPECT_EQ(table.gather == GNN_GATHER_RESIDENT, reserve == 0);
		EXPECT_EQ(table.samples, reserve == 0);
		gnn_table_fini(&table);
	}
	EXPECT_EQ(gnn_table_room(device.backend, 0), room / 2);
	EXPECT_EQ(gnn_table_room(device.backend, room - 5), 5u);
	EXPECT_EQ(gnn_table_room(device.backend, room + 5), 0u);
}

} // namespace
