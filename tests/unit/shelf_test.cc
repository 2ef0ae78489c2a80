/*
 * Embeddings made a super-batch ahead: which, with which weights, and what a net makes of them, by
 * plain loops; and whoever samples and gathers, with a pipeline or without, the same bits.
 */
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <tuple>
#include <vector>

#include "op/edges.h"
#include "train/cache.h"
#include "train/carrier.h"
#include "train/hot.h"
#include "unit/carrier_fixture.h"

namespace {

constexpr uint64_t STEPS = 13, BATCH = 20, WIDTH = 4;
using Row = std::vector<double>;
using Versions = std::map<uint64_t, std::vector<float>>;

struct How {
	gnn_arch arch;
	uint64_t n;        /* of a super-batch */
	bool aggregates;
	double dropout;
	const uint64_t *fanout;
	gnn_sample_wish sample;
	gnn_gather_wish gather;
	bool pipeline;
	std::vector<gnn_decision> log = {}; /* what the CPU leaves to the device */
	std::vector<gnn_decision> late = {};
};

/* A training on a backend: updates are some gradient of |y|^2 / 2, and a swing of their own. */
struct Training {
	Training(gnn_backend *b, Source &source, const How &how)
		: backend(b), source(source), how(how)
	{
		source.s.parts = gnn_net_parts(how.arch);
		gnn_net_opts no{};
		no.backend = b;
		no.dropout = how.dropout;
		no.shape.arch = how.arch;
		no.shape.layers = 2;
		no.shape.dim_in = DIM;
		no.shape.channels[0] = WIDTH;
		no.shape.channels[1] = CLASSES;
		no.shape.heads[0] = no.shape.heads[1] = 1;
		EXPECT_EQ(gnn_net_create(&net, &no), GNN_OK) << gnn_err_text();
		const gnn_table_wish wish{how.gather, how.sample, false, 0};

		EXPECT_EQ(gnn_table_init(&table, b, &source.s, &wish), GNN_OK);
		batches.source = &source.s;
		batches.net = net;
		batches.backend = b;
		batches.batch_size = BATCH;
		batches.last_step = STEPS;
		batches.workers = how.pipeline ? 2 : 0;
		batches.threads = 1;
		batches.sampler.lists = &source.graph.lists;
		batches.sampler.rule = gnn_net_rule(how.arch);
		batches.sampler.dependency = 1;
		batches.sampler.layers = 2;
		batches.sampler.fanout = how.fanout;
		batches.sampler.bare = true;
		const gnn_hot_opts ho{GNN_HOT_DEGREE, 0.3, &batches, nullptr};
		EXPECT_EQ(gnn_hot_choose(&hot, &ho), GNN_OK);
		if (!how.log.empty())
			open_hybrid();
		start(no);
	}
	~Training()
	{
		gnn_carrier_stop(carrier);
		gnn_shelves_destroy(shelves);
		gnn_hybrid_destroy(hybrid);
		gnn_late_destroy(late);
		gnn_cache_close(cache);
		gnn_hot_free(hot);
		gnn_table_fini(&table);
		gnn_net_destroy(net);
	}
	void open_hybrid()
	{
		gnn_cache_opts co{};

		EXPECT_EQ(gnn_hybrid_create(&hybrid, hot->count, how.log.data(), how.log.size(),
			true), GNN_OK);
		co.device = backend;
		co.worklist = hot;
		co.batches = &batches;
		if (backend->ops->unified || table.gather == GNN_GATHER_RESIDENT)
			return;
		EXPECT_EQ(gnn_cache_open(&cache, &co), GNN_OK) << gnn_err_text();
		EXPECT_EQ(gnn_cache_room(cache), hot->count);
		table.cache = cache;
	}
	void start(const gnn_net_opts &no)
	{
		gnn_shelves_opts so{};
		const gnn_history none{};

		so.plans.place = hot->place;
		so.plans.id = hot->id;
		so.plans.hot_count = hot->count;
		so.plans.super_batch = how.n;
		so.plans.hybrid = hybrid;
		so.batches = batches;
		const gnn_late_opts lo{how.late.empty() ? GNN_LATE_WAIT : GNN_LATE_REPLAY, how.n,
			0, how.late.data(), how.late.size()};

		EXPECT_EQ(gnn_late_create(&late, &lo), GNN_OK);
		so.late = late;
		so.net = net;
		so.last_step = STEPS;
		so.ahead = how.pipeline;
		so.embed.source = &source.s;
		so.embed.device = backend;
		so.embed.shape = no.shape;
		so.embed.dropout = no.dropout;
		so.embed.sampler = batches.sampler;
		so.embed.threads = 1;
		so.embed.aggregates = how.aggregates;
		EXPECT_EQ(gnn_shelves_start(&shelves, &so, &none), GNN_OK) << gnn_err_text();
		gnn_carrier_opts co{};
		co.batches = batches;
		co.table = &table;
		co.shelves = shelves;
		co.pipeline = how.pipeline;
		co.threads = 1;
		EXPECT_EQ(gnn_carrier_start(&carrier, &co), GNN_OK) << gnn_err_text();
	}
	uint64_t floats() const { return gnn_net_params(net)->learned; }
	std::vector<float> weights() const
	{
		return {gnn_net_weights(net), gnn_net_weights(net) + floats()};
	}
	/* One step; the batch stays until `go_on`. */
	void step()
	{
		ASSERT_EQ(gnn_carrier_next(carrier, &t), GNN_OK) << gnn_err_text();
		const gnn_net_input in = gnn_there_input(t);
		ASSERT_EQ(gnn_net_forward(net, &in, &y), GNN_OK);
		scores.assign(y, y + t->seed_count * CLASSES);
		ASSERT_EQ(gnn_net_backward(net, &in, y), GNN_OK);
	}
	void go_on()
	{
		const float *g = gnn_net_gradient(net);
		const uint64_t next = t->step + 1;
		double most = 0;

		for (uint64_t i = 0; i < floats(); i++)
			most = std::max(most, std::abs((double)g[i]));
		for (uint64_t i = 0; i < floats() && most > 0; i++)
			gnn_net_weights(net)[i] -= (float)(0.01 * g[i] / most +
				0.05 * std::sin((double)(i + 7 * next)));
		hits += t->cache_hits;
		if (cache != nullptr)
			gnn_cache_want(cache, hot->count - gnn_hybrid_cpu(hybrid,
				t->step / how.n + GNN_HYBRID_DELAY));
		gnn_carrier_put(carrier, t);
		ASSERT_EQ(gnn_shelves_publish(shelves, next), GNN_OK) << gnn_err_text();
	}
	gnn_backend *backend;
	Source &source;
	How how;
	gnn_net *net = nullptr;
	gnn_table table{};
	gnn_batches_opts batches{};
	gnn_hot *hot = nullptr;
	gnn_shelves *shelves = nullptr;
	gnn_carrier *carrier = nullptr;
	gnn_there *t = nullptr;
	gnn_hybrid *hybrid = nullptr;
	gnn_late *late = nullptr;
	gnn_cache *cache = nullptr;
	uint64_t hits = 0;
	float *y = nullptr;
	std::vector<float> scores;
};

/* y (rows) = x W^T + b of a layer of some weights. */
Row linear(const Training &r, const std::vector<float> &w, uint32_t layer, const Row &x, Row own)
{
	const gnn_params *p = gnn_net_params(r.net);
	const uint64_t out = layer == 0 ? WIDTH : CLASSES, in = x.size();
	Row y(out);

	for (uint64_t i = 0; i < out; i++) {
		y[i] = w[p->at[layer][GNN_PARAM_BIAS] + i];
		for (uint64_t j = 0; j < in; j++) {
			y[i] += w[p->at[layer][GNN_PARAM_W] + i * in + j] * x[j];
			if (r.how.arch == GNN_ARCH_SAGE)
				y[i] += w[p->at[layer][GNN_PARAM_W_OWN] + i * in + j] * own[j];
		}
	}
	return y;
}

Row features(gnn_vid v)
{
	Row x;

	for (uint32_t j = 0; j < DIM; j++)
		x.push_back((double)(v * DIM + j));
	return x;
}

/* What the first layer aggregates of all in-edges. */
Row aggregate(const Training &r, gnn_vid v)
{
	const Graph &g = r.source.graph;
	const gnn_edge_rule rule = gnn_net_rule(r.how.arch);
	Row sum(DIM);
	double count = 0;

	for (uint64_t e = g.first[v]; e < g.first[v + 1]; e++) {
		const gnn_vid u = g.neighbor[e];
		const double norms = (double)gnn_rule_norm(&rule, &g.lists, u) *
			gnn_rule_norm(&rule, &g.lists, v);
		const double c = r.how.arch != GNN_ARCH_GCN ? 1.0 : u != v ? norms : 0.0;
		for (uint32_t j = 0; j < DIM; j++)
			sum[j] += c * (double)(u * DIM + j);
		count++;
	}
	for (uint32_t j = 0; j < DIM; j++)
		if (r.how.arch == GNN_ARCH_SAGE)
			sum[j] /= std::max(count, 1.0);
		else
			sum[j] += std::pow(gnn_rule_norm(&rule, &g.lists, v), 2) *
				(double)(v * DIM + j);
	return sum;
}

Row relu(Row y)
{
	for (double &x : y)
		x = std::max(x, 0.0);
	return y;
}

void expect_near(double got, double want, double scale, const char *what)
{
	EXPECT_NEAR(got, want, 2e-5 * scale + 1e-6) << what;
}

/* The rows of one batch by plain loops; their versions by the paper. */
struct Naive {
	Naive(const Training &r, const Versions &w) : r(r), now(w.at(r.t->step))
	{
		const gnn_mix &m = *r.t->sample.mix;
		const uint64_t k = r.t->step / r.how.n;

		rows.resize(m.cold + m.hot);
		hot.assign(rows.size(), false);
		for (uint64_t i = 0; i < rows.size(); i++) {
			const gnn_vid v = r.t->sample.id[i];
			rows[i] = relu(linear(r, now, 0, aggregate(r, v), features(v)));
		}
		for (uint64_t i = 0; i < m.hot; i++) {
			const uint64_t at = m.row[m.cold + i], q = m.kept_row[i];
			const gnn_vid v = r.t->sample.id[at];
			uint64_t j = 0;

			while (m.kept_count * (j + 1) / r.how.n <= q)
				j++;
			rows[at] = relu(linear(r, w.at((k - 1) * r.how.n + j), 0, aggregate(r, v),
				features(v)));
			hot[at] = true;
			for (uint64_t c = 0; c < WIDTH; c++) {
				expect_near(m.kept[q * WIDTH + c], rows[at][c], 1e3, "kept");
				alive += rows[at][c] > 0;
			}
		}
	}
	Row sum(uint64_t d, const std::vector<Row> &x) const
	{
		const gnn_block &b = r.t->sample.block[1];
		Row to(WIDTH);

		for (uint64_t e = b.first[d]; e < b.first[d + 1]; e++)
			for (uint64_t c = 0; c < WIDTH; c++)
				to[c] += b.weight[e] * x[b.src[e]][c];
		return to;
	}
	/* dW of the first layer from dy = y. */
	std::vector<double> gradient() const
	{
		const gnn_params *p = gnn_net_params(r.net);
		const gnn_block &b = r.t->sample.block[1];
		std::vector<Row> dx(rows.size(), Row(WIDTH));
		std::vector<double> dw(WIDTH * DIM);

		for (uint64_t d = 0; d < r.t->seed_count; d++)
			for (uint64_t i = 0; i < CLASSES; i++)
				for (uint64_t c = 0; c < WIDTH; c++) {
					const double dy = r.scores[d * CLASSES + i];
					for (uint64_t e = b.first[d]; e < b.first[d + 1]; e++)
						dx[b.src[e]][c] += dy * b.weight[e] *
							now[p->at[1][GNN_PARAM_W] + i * WIDTH + c];
					if (r.how.arch == GNN_ARCH_SAGE)
						dx[d][c] += dy * now[p->at[1][GNN_PARAM_W_OWN] +
							i * WIDTH + c];
				}
		for (uint64_t i = 0; i < rows.size(); i++) {
			const Row a = aggregate(r, r.t->sample.id[i]);
			for (uint64_t c = 0; c < WIDTH && (!hot[i] || r.how.aggregates); c++)
				for (uint64_t j = 0; j < DIM; j++)
					dw[c * DIM + j] += rows[i][c] > 0 ? dx[i][c] * a[j] : 0;
		}
		return dw;
	}
	const Training &r;
	const std::vector<float> &now;
	std::vector<Row> rows;
	std::vector<bool> hot;
	uint64_t alive = 0; /* of the hot rows' cells, those past the activation */
};

/* Rows are kept in order of hotness. */
void check_order(const Training &r)
{
	const gnn_mix &m = *r.t->sample.mix;

	for (uint64_t i = m.cold + 1; i < m.cold + m.hot; i++) {
		const uint32_t a = r.hot->place[r.t->sample.id[m.row[i - 1]]];
		const uint32_t b = r.hot->place[r.t->sample.id[m.row[i]]];

		EXPECT_EQ(m.kept_row[i - 1 - m.cold] < m.kept_row[i - m.cold], a < b);
	}
}

uint64_t check_step(const Training &r, const Versions &w)
{
	const Naive naive(r, w);
	const std::vector<double> dw = naive.gradient();
	const float *got = gnn_net_gradient(r.net) + gnn_net_params(r.net)->at[0][GNN_PARAM_W];
	double most = 0;

	for (uint64_t d = 0; d < r.t->seed_count; d++) {
		const Row y = linear(r, naive.now, 1, naive.sum(d, naive.rows), naive.rows[d]);
		for (uint64_t c = 0; c < CLASSES; c++)
			expect_near(r.scores[d * CLASSES + c], y[c], 3e3, "y");
	}
	for (double x : dw)
		most = std::max(most, std::abs(x));
	for (uint64_t i = 0; i < dw.size(); i++)
		expect_near(got[i], dw[i], most, "dw");
	check_order(r);
	return naive.alive;
}

class ShelfOf : public testing::TestWithParam<std::tuple<gnn_arch, bool, uint64_t>> {};

TEST_P(ShelfOf, RowsAndGradientsAreThoseOfPlainLoops)
{
	const auto [arch, aggregates, n] = GetParam();
	const uint64_t fanout[] = {4, GNN_FANOUT_ALL};
	gnn_backend *cpu = cpu_backend(2);
	Source source;
	Versions w;
	uint64_t alive = 0;
	{
		Training r(cpu, source, {arch, n, aggregates, 0, fanout, GNN_SAMPLE_AUTO,
			GNN_WISH_AUTO, false});

		for (uint64_t s = 0; s < STEPS; s++) {
			w[s] = r.weights();
			r.step();
			alive += check_step(r, w);
			EXPECT_EQ(r.t->sample.mix->hot > 0, s >= n);
			EXPECT_LE(r.t->staleness.most, 2 * n - 1);
			r.go_on();
		}
	}
	EXPECT_GT(alive, 100u);
	gnn_backend_destroy(cpu);
}

INSTANTIATE_TEST_SUITE_P(Nets, ShelfOf, testing::Combine(
	testing::Values(GNN_ARCH_GCN, GNN_ARCH_SAGE), testing::Bool(), testing::Values(1, 3, 4)));

std::vector<float> outcome(gnn_backend *b, Source &source, const How &how)
{
	Training r(b, source, how);
	std::vector<float> all;

	for (uint64_t s = 0; s < STEPS; s++) {
		r.step();
		if (how.log.size() > 0 && s >= how.log[0].at * how.n) {
			const gnn_mix &m = *r.t->sample.mix;
			for (uint64_t i = 0; i < m.hot; i++) /* no other than the CPU's */
				EXPECT_LT(r.hot->place[r.t->sample.id[m.row[m.cold + i]]],
					gnn_hybrid_cpu(r.hybrid, s / how.n));
		}
		all.insert(all.end(), r.scores.begin(), r.scores.end());
		r.go_on();
	}
	const std::vector<float> w = r.weights();
	all.insert(all.end(), w.begin(), w.end());
	EXPECT_EQ(r.hits > 0, r.cache != nullptr);
	return all;
}

/* Whoever samples and gathers, with a pipeline or without: what `how` gives on cores. */
static std::vector<float> same_outcome(gnn_backend *cpu, Source &source, How how)
{
	const gnn_gather_wish gathers[] = {GNN_WISH_STAGED, GNN_WISH_ZERO_COPY, GNN_WISH_DEVICE};
	const std::vector<float> want = outcome(cpu, source, how);
	Device device;

	how.pipeline = true;
	EXPECT_EQ(outcome(cpu, source, how), want);
	for (int i = 0; i < 12; i++) {
		how.pipeline = i % 2 == 1;
		how.sample = i / 2 % 2 == 1 ? GNN_SAMPLE_DEVICE : GNN_SAMPLE_HOST;
		how.gather = gathers[i / 4];
		room = how.gather == GNN_WISH_DEVICE ? 1 << 30 : 0;
		EXPECT_EQ(outcome(device.backend, source, how), want) << i;
	}
	return want;
}

class Whoever : public testing::TestWithParam<std::tuple<gnn_arch, uint64_t>> {};

TEST_P(Whoever, SamplesAndGathersTheBitsAreTheSame)
{
	const auto [arch, n] = GetParam();
	const uint64_t fanout[] = {4, 6};
	Source source;
	gnn_backend *cpu = cpu_backend(1);
	const How how{arch, n, arch < GNN_ARCH_GIN, 0.3, fanout, GNN_SAMPLE_AUTO, GNN_WISH_AUTO,
		false};

	same_outcome(cpu, source, how);
	gnn_backend_destroy(cpu);
}

/* Hot vertices go to the device by a log; their features stay there. */
TEST(Hybrid, ReplayedTheBitsAreTheSame)
{
	const uint64_t fanout[] = {4, 6};
	Device device;
	Source source;
	gnn_backend *cpu = cpu_backend(1);
	How how{GNN_ARCH_SAGE, 1, true, 0.3, fanout, GNN_SAMPLE_AUTO, GNN_WISH_AUTO, false,
		{{4, 100}, {9, 30}}};
	const std::vector<float> want = outcome(cpu, source, how);

	for (int i = 0; i < 8; i++) {
		how.pipeline = i % 2 == 1;
		how.sample = i / 2 % 2 == 1 ? GNN_SAMPLE_DEVICE : GNN_SAMPLE_HOST;
		how.gather = i / 4 == 1 ? GNN_WISH_STAGED : GNN_WISH_ZERO_COPY;
		room = 1 << 14; /* bytes: not for the table, but for a cache of all hot */
		EXPECT_EQ(outcome(device.backend, source, how), want) << i;
	}
	how.log = {{4, 0}};
	EXPECT_NE(outcome(cpu, source, how), want);
	gnn_backend_destroy(cpu);
}

TEST(Hybrid, DecidesByWhatWasWaitedForAndByRoom)
{
	gnn_hybrid *h = nullptr;
	uint64_t count;
	const gnn_hybrid_seen idle{1, 0.5, 1.0, 1000}, busy{1, 0.005, 1.0, 1000};

	ASSERT_EQ(gnn_hybrid_create(&h, 80, nullptr, 0, false), GNN_OK);
	EXPECT_EQ(gnn_hybrid_cpu(h, 1000), 80u);
	gnn_hybrid_decide(h, &busy);
	gnn_hybrid_log(h, &count);
	EXPECT_EQ(count, 0u);
	gnn_hybrid_decide(h, &idle);
	EXPECT_EQ(gnn_hybrid_cpu(h, 4), 80u);
	EXPECT_EQ(gnn_hybrid_cpu(h, 5), 70u);
	for (uint64_t k : {2, 5}) { /* the first does not hold yet, or was not seen yet */
		const gnn_hybrid_seen early{k, 0.5, 1.0, 1000};
		gnn_hybrid_decide(h, &early);
		EXPECT_EQ(gnn_hybrid_cpu(h, 1000), 70u);
	}
	const gnn_hybrid_seen little{6, 0.5, 1.0, 3}, full{20, 0.5, 1.0, 0};
	gnn_hybrid_decide(h, &little);
	EXPECT_EQ(gnn_hybrid_cpu(h, 10), 67u);
	gnn_hybrid_decide(h, &full);
	EXPECT_EQ(gnn_hybrid_cpu(h, 1000), 67u);
	for (uint64_t k = 30; k < 200; k += 10) {
		const gnn_hybrid_seen more{k, 0.5, 1.0, UINT64_MAX};
		gnn_hybrid_decide(h, &more);
	}
	EXPECT_EQ(gnn_hybrid_cpu(h, 1000), 0u);
	gnn_hybrid_destroy(h);
}

/* Slices that came late by a log: the newest weights make their vertices, with the cold ones. */
TEST(Late, RowsAndGradientsAreThoseOfPlainLoops)
{
	const uint64_t fanout[] = {4, GNN_FANOUT_ALL}, n = 4;
	const uint64_t slices[] = {0, 2, 4, 0}; /* of the super-batches */
	gnn_backend *cpu = cpu_backend(2);
	Source source;

	for (gnn_arch arch : {GNN_ARCH_GCN, GNN_ARCH_SAGE})
		for (bool pipeline : {false, true}) {
			Training r(cpu, source, {arch, n, true, 0, fanout, GNN_SAMPLE_AUTO,
				GNN_WISH_AUTO, pipeline, {}, {{1, 2}, {3, 0}}});
			Versions w;
			uint64_t late = 0, hot = 0;

			for (uint64_t s = 0; s < STEPS; s++) {
				w[s] = r.weights();
				r.step();
				check_step(r, w);
				const gnn_mix &m = *r.t->sample.mix;
				for (uint64_t i = 0; i < m.hot; i++)
					EXPECT_LT(m.kept_row[i], m.kept_count * slices[s / n] / n);
				EXPECT_EQ(r.t->staleness.late > 0, s / n == 1 || s / n == 3);
				late += r.t->staleness.late;
				hot += m.hot;
				r.go_on();
			}
			EXPECT_GT(late, 50u);
			EXPECT_GT(hot, 50u);
		}
	gnn_backend_destroy(cpu);
}

class LateOf : public testing::TestWithParam<gnn_arch> {};

TEST_P(LateOf, WhoeverSamplesAndGathersTheBitsAreTheSame)
{
	const uint64_t fanout[] = {4, 6};
	Source source;
	gnn_backend *cpu = cpu_backend(1);
	How how{GetParam(), 3, GetParam() < GNN_ARCH_GIN, 0.3, fanout, GNN_SAMPLE_AUTO,
		GNN_WISH_AUTO, false, {}, {{1, 1}, {2, 0}, {4, 2}}};
	const std::vector<float> want = same_outcome(cpu, source, how);

	how.late = {};
	EXPECT_NE(outcome(cpu, source, how), want);
	gnn_backend_destroy(cpu);
}

INSTANTIATE_TEST_SUITE_P(Nets, LateOf, testing::Values(GNN_ARCH_GCN, GNN_ARCH_SAGE, GNN_ARCH_GIN,
	GNN_ARCH_GAT));

/* Slices count that are there when the trainer asks; what is missing then is not made any more. */
TEST(Late, DecidesWhenAStepIsDue)
{
	const gnn_late_opts o{GNN_LATE_COLD, 4, 0, nullptr, 0};
	gnn_late *l = nullptr;
	gnn_onehop_counts counts{}, got;
	gnn_decision *log = nullptr;
	uint64_t slices, count;

	ASSERT_EQ(gnn_late_create(&l, &o), GNN_OK);
	ASSERT_EQ(gnn_late_settle(l, 0, &slices, &got), GNN_OK); /* without a wait */
	EXPECT_EQ(slices, 4u);
	counts.gathered = 7;
	gnn_late_made(l, 1, 3, &counts);
	EXPECT_FALSE(gnn_late_is_over(l, 1, 3));
	EXPECT_FALSE(gnn_late_is_settled(l, 1));
	gnn_late_due(l, 4);
	ASSERT_EQ(gnn_late_settle(l, 1, &slices, &got), GNN_OK);
	EXPECT_EQ(slices, 3u);
	EXPECT_EQ(got.gathered, 7u);
	EXPECT_TRUE(gnn_late_is_over(l, 1, 3));
	counts.gathered = 9;
	gnn_late_made(l, 1, 4, &counts); /* too late */
	ASSERT_EQ(gnn_late_settle(l, 1, &slices, &got), GNN_OK);
	EXPECT_EQ(slices, 3u);
	EXPECT_EQ(got.gathered, 7u);
	gnn_late_made(l, 2, 4, &counts);
	ASSERT_EQ(gnn_late_settle(l, 2, &slices, &got), GNN_OK);
	EXPECT_EQ(slices, 4u);
	gnn_late_due(l, 12);
	ASSERT_EQ(gnn_late_settle(l, 3, &slices, &got), GNN_OK);
	EXPECT_EQ(slices, 0u);
	ASSERT_EQ(gnn_late_log(l, &log, &count), GNN_OK);
	ASSERT_EQ(count, 2u);
	EXPECT_TRUE(log[0].at == 1 && log[0].value == 3 && log[1].at == 3 && log[1].value == 0);
	gnn_late_cancel(l);
	EXPECT_EQ(gnn_late_settle(l, 4, &slices, &got), GNN_ESTOP);
	gnn_late_destroy(l);

	/* Within super-batch 3: it is as the log says, and none is made that is not taken. */
	const gnn_late_opts resumed{GNN_LATE_COLD, 4, 13, log, count};
	ASSERT_EQ(gnn_late_create(&l, &resumed), GNN_OK);
	gnn_late_due(l, 13);
	EXPECT_TRUE(gnn_late_is_over(l, 3, 0));
	ASSERT_EQ(gnn_late_settle(l, 3, &slices, &got), GNN_OK);
	EXPECT_EQ(slices, 0u);
	EXPECT_FALSE(gnn_late_is_over(l, 4, 0));
	gnn_late_destroy(l);
	gnn_mem_free(log);
}

INSTANTIATE_TEST_SUITE_P(Nets, Whoever, testing::Combine(testing::Values(GNN_ARCH_GCN,
	GNN_ARCH_SAGE, GNN_ARCH_GIN, GNN_ARCH_GAT), testing::Values(1, 4)));

} // namespace
