/* Gradients of every layer against finite differences; bits over thread counts. */
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "op/grad.h"
#include "train/net.h"
#include "unit/train_fixture.h"

namespace {

struct Shape {
	gnn_arch arch;
	uint32_t dim_in, hidden, classes, heads;
	double dropout;
	bool many; /* binary cross-entropy over many labels */
};

class Net {
public:
	/* bare: the bottom block is without entries, its rows are the aggregates of the other's. */
	Net(const Shape &setup, const Graph &graph, uint32_t threads, bool bare = false)
		: setup_(setup), graph_(graph)
	{
		backend_ = cpu_backend(threads);
		gnn_net_opts no{};
		no.backend = backend_;
		no.dropout = setup.dropout;
		no.seed = 5;
		no.shape.arch = setup.arch;
		no.shape.layers = 2;
		no.shape.dim_in = setup.dim_in;
		no.shape.channels[0] = setup.hidden;
		no.shape.channels[1] = setup.classes;
		no.shape.heads[0] = no.shape.heads[1] = setup.heads;
		EXPECT_EQ(gnn_net_create(&net_, &no), 0);
		gnn_sampler_opts so{};
		const uint64_t fanout[] = {4, 3};
		so.lists = &graph.lists;
		so.rule = gnn_net_rule(setup.arch);
		so.dependency = 1;
		so.layers = 2;
		so.fanout = fanout;
		so.seed = 5;
		so.backend = backend_;
		EXPECT_EQ(gnn_sampler_create(&sampler_, &so), 0);
		std::vector<gnn_vid> seeds;
		for (gnn_vid v = 0; v < graph.lists.vertices; v += 2)
			seeds.push_back(v);
		EXPECT_EQ(gnn_sampler_draw(sampler_, seeds.data(), seeds.size(), 7, &sample_), 0);
		for (uint32_t l = 0; l < 2; l++)
			EXPECT_EQ(gnn_block_turn(&sample_.block[l], backend_), 0);
		for (uint64_t i = 0; i < sample_.id_count; i++)
			for (uint32_t j = 0; j < setup.dim_in; j++)
				x_.push_back((float)gnn_rng_unit(
					gnn_rng_u64(3, sample_.id[i], j)) - 0.3f);
		if (bare)
			aggregate();
		for (gnn_vid v : seeds) {
			label_.push_back(v % 7 == 6 ? -1 : (int64_t)(v % setup.classes));
			for (uint32_t j = 0; j < setup.classes; j++)
				labels_.push_back((v + j) % 3 == 0);
		}
	}
	~Net()
	{
		gnn_sample_fini(&sample_);
		gnn_sampler_destroy(sampler_);
		gnn_net_destroy(net_);
		gnn_backend_destroy(backend_);
	}
	double loss(std::vector<float> *dy)
	{
		gnn_loss_args a{};
		float *y = nullptr;

		const gnn_net_input in{&sample_, x_.data(), 7, false};
		EXPECT_EQ(gnn_net_forward(net_, &in, &y), 0);
		a.rows = label_.size();
		a.width = setup_.classes;
		dy->assign(a.rows * a.width, 0);
		a.y = y;
		a.dy = dy->data();
		a.label = setup_.many ? nullptr : label_.data();
		a.labels = setup_.many ? labels_.data() : nullptr;
		EXPECT_EQ(backend_->ops->grad->loss(backend_, &a), 0);
		return a.loss / (double)a.counted;
	}
	std::vector<float> gradient()
	{
		std::vector<float> dy;

		loss(&dy);
		const gnn_net_input in{&sample_, x_.data(), 7, false};
		EXPECT_EQ(gnn_net_backward(net_, &in, dy.data()), 0);
		return {gnn_net_gradient(net_),
			gnn_net_gradient(net_) + gnn_net_params(net_)->learned};
	}
	gnn_net *net() { return net_; }
	const gnn_sample &sample() const { return sample_; }

private:
	/* Rows of the bottom layer aggregated, own rows behind them; its block is bare. */
	void aggregate()
	{
		const gnn_block &b = sample_.block[0];
		const uint64_t dim = setup_.dim_in, rows = b.dst_count;
		std::vector<float> to(rows * dim * gnn_net_parts(setup_.arch), 0.0f);

		for (uint64_t i = 0; i < rows; i++)
			for (uint64_t e = b.first[i]; e < b.first[i + 1]; e++)
				for (uint64_t j = 0; j < dim; j++)
					to[i * dim + j] += b.weight[e] * x_[b.src[e] * dim + j];
		if (gnn_net_parts(setup_.arch) == 2)
			std::copy(x_.begin(), x_.begin() + (int64_t)(rows * dim),
				to.begin() + (int64_t)(rows * dim));
		x_ = to;
		sample_.id_count = rows;
		gnn_block_bare(&sample_.block[0], rows);
	}

	Shape setup_;
	const Graph &graph_;
	gnn_backend *backend_ = nullptr;
	gnn_net *net_ = nullptr;
	gnn_sampler *sampler_ = nullptr;
	gnn_sample sample_{};
	std::vector<float> x_;
	std::vector<int64_t> label_;
	std::vector<uint8_t> labels_;
};

/* Over a bare block: the ordinary gradient within rounding. */
void check_bare(const Shape &setup)
{
	Graph graph(120, 9);
	Net whole(setup, graph, 1), bare(setup, graph, 1, true);
	const std::vector<float> a = whole.gradient(), b = bare.gradient();
	std::vector<float> dy;
	double most = 0;

	EXPECT_FALSE(gnn_net_turns(bare.net(), 0, &bare.sample().block[0]));
	EXPECT_NEAR(whole.loss(&dy), bare.loss(&dy), 1e-6);
	for (float g : a)
		most = std::max(most, (double)std::fabs(g));
	for (size_t k = 0; k < a.size(); k++)
		ASSERT_NEAR(a[k], b[k], 2e-5 * most) << k;
}

TEST(TrainNet, BareBottom)
{
	for (gnn_arch arch : {GNN_ARCH_GCN, GNN_ARCH_SAGE, GNN_ARCH_GIN}) {
		check_bare({arch, 40, 5, 4, 1, 0.0, false});
		check_bare({arch, 6, 48, 4, 1, 0.0, true});
	}
}

/* For each tensor: the slope of the loss along its gradient is the gradient's own length. */
void check_slopes(const Shape &setup, bool bare = false, bool weighted = false)
{
	Graph graph(120, 9);
	if (weighted)
		graph.weigh();
	Net net(setup, graph, 1, bare);
	const gnn_params *p = gnn_net_params(net.net());
	float *w = gnn_net_weights(net.net());
	const std::vector<float> g = net.gradient(), kept(w, w + p->floats);
	std::vector<float> dy;

	for (uint32_t i = 0; i < p->count && p->param[i].first < p->learned; i++) {
		const gnn_param &t = p->param[i];
		double length = 0;

		for (uint64_t k = t.first; k < t.first + t.count; k++)
			length += (double)g[k] * g[k];
		length = std::sqrt(length);
		/* A bias in front of a batch norm does nothing: its gradient is rounding. */
		if (t.role == GNN_PARAM_BIAS && setup.arch == GNN_ARCH_GIN) {
			EXPECT_LT(length, 1e-5) << t.name;
			continue;
		}
		ASSERT_GT(length, 1e-6) << t.name;
		double slope = 0;
		const double step = 1e-3;
		for (int side : {-1, 1}) {
			for (uint64_t k = t.first; k < t.first + t.count; k++)
				w[k] = kept[k] + (float)(side * step * g[k] / length);
			slope += side * net.loss(&dy) / (2 * step);
		}
		for (uint64_t k = 0; k < p->floats; k++)
			w[k] = kept[k];
		EXPECT_NEAR(slope, length, 4e-3 * length + 2e-5) << t.name;
	}
}

TEST(TrainNet, GcnNarrowsFirst) { check_slopes({GNN_ARCH_GCN, 40, 5, 4, 1, 0.0, false}); }
TEST(TrainNet, GcnWidens) { check_slopes({GNN_ARCH_GCN, 6, 48, 4, 1, 0.4, false}); }
TEST(TrainNet, GcnWeightedEdges)
{
	check_slopes({GNN_ARCH_GCN, 40, 5, 4, 1, 0.0, false}, false, true);
	check_slopes({GNN_ARCH_GCN, 6, 48, 4, 1, 0.4, true}, false, true);
	check_slopes({GNN_ARCH_GCN, 6, 48, 4, 1, 0.4, false}, true, true);
}
TEST(TrainNet, SageNarrowsFirst) { check_slopes({GNN_ARCH_SAGE, 200, 5, 4, 1, 0.0, false}); }
TEST(TrainNet, SageWidens) { check_slopes({GNN_ARCH_SAGE, 6, 48, 4, 1, 0.3, false}); }
TEST(TrainNet, SageManyLabels) { check_slopes({GNN_ARCH_SAGE, 11, 8, 5, 1, 0.0, true}); }
TEST(TrainNet, Gin) { check_slopes({GNN_ARCH_GIN, 9, 16, 4, 1, 0.0, false}); }
TEST(TrainNet, GinDropout) { check_slopes({GNN_ARCH_GIN, 33, 6, 4, 1, 0.3, true}); }
TEST(TrainNet, BareGcn) { check_slopes({GNN_ARCH_GCN, 6, 48, 4, 1, 0.4, false}, true); }
TEST(TrainNet, BareSage) { check_slopes({GNN_ARCH_SAGE, 11, 8, 5, 1, 0.3, true}, true); }
TEST(TrainNet, BareGin) { check_slopes({GNN_ARCH_GIN, 33, 6, 4, 1, 0.3, true}, true); }
TEST(TrainNet, GatOneHead) { check_slopes({GNN_ARCH_GAT, 9, 12, 4, 1, 0.0, false}); }
TEST(TrainNet, GatHeads) { check_slopes({GNN_ARCH_GAT, 9, 5, 4, 3, 0.0, false}); }
TEST(TrainNet, GatDropout) { check_slopes({GNN_ARCH_GAT, 9, 5, 4, 3, 0.4, false}); }

TEST(TrainNet, BothOrdersOfProductAndSumAreTaken)
{
	Graph graph(120, 9);
	Net narrow({GNN_ARCH_GCN, 40, 5, 4, 1, 0.0, false}, graph, 1);
	Net wide({GNN_ARCH_GCN, 6, 48, 4, 1, 0.0, false}, graph, 1);

	EXPECT_TRUE(gnn_net_turns(narrow.net(), 0, &narrow.sample().block[0]));
	EXPECT_FALSE(gnn_net_turns(wide.net(), 0, &wide.sample().block[0]));
}

TEST(TrainNet, BitsAreThoseOfOneThread)
{
	Graph graph(3000, 30);

	for (gnn_arch arch : {GNN_ARCH_GCN, GNN_ARCH_SAGE, GNN_ARCH_GIN, GNN_ARCH_GAT}) {
		const Shape setup{arch, 19, 24, 5, arch == GNN_ARCH_GAT ? 2u : 1u, 0.3, false};
		Net one(setup, graph, 1), five(setup, graph, 5);
		const std::vector<float> a = one.gradient(), b = five.gradient(),
			again = five.gradient();

		EXPECT_EQ(memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0) << arch;
		EXPECT_EQ(memcmp(a.data(), again.data(), a.size() * sizeof(float)), 0) << arch;
	}
}

} // namespace
