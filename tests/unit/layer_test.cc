// Lowered layers give PyG's numbers (conv-semantics 4.7) and those of an own float64 forward.
#include "check/model_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace {

using check::Graph;
using check::Layer;
using check::Matrix;
using check::Metadata;
using check::Tensor;

// Flat place t of a golden tensor: (((t a + b) mod m) - o) / 10.
Tensor pattern(std::vector<uint64_t> shape, uint64_t a, uint64_t b, uint64_t m, int o)
{
	Tensor t{std::move(shape), {}};
	uint64_t count = 1;

	for (const uint64_t side : t.shape)
		count *= side;
	for (uint64_t i = 0; i < count; i++)
		t.data.push_back(static_cast<float>(static_cast<int>((i * a + b) % m) - o) / 10.0f);
	return t;
}

struct Key {
	const char *name;
	std::vector<uint64_t> shape;
};

// The k-th parameter, sorted by name.
Layer parameters(const std::vector<Key> &keys)
{
	Layer w;
	for (size_t k = 0; k < keys.size(); k++)
		w[keys[k].name] = pattern(keys[k].shape, 7, 3 + k, 11, 5);
	return w;
}

// A duplicate 0>1, a loop 2>2, vertex 4 without in-edges, vertex 5 without any edge.
const Graph golden_graph{6, {0, 0, 1, 2, 3, 4, 2, 1}, {1, 1, 2, 2, 0, 3, 3, 3}};

Matrix golden_features()
{
	const Tensor t = pattern({6, 3}, 5, 2, 13, 6);
	Matrix m(6, 3);
	std::copy(t.data.begin(), t.data.end(), m.data.begin());
	return m;
}

Matrix rows(uint64_t cols, const std::vector<double> &values)
{
	Matrix m(values.size() / cols, cols);
	m.data = values;
	return m;
}

struct Case {
	std::string name;
	Layer layer;
	check::Metadata metadata;
	Matrix want;
	bool can_transform, can_aggregate;
};

Layer with_eps(Layer w, float eps)
{
	w["eps"] = {{1}, {eps}};
	return w;
}

const std::vector<Key> gat_keys(uint64_t bias)
{
	return {{"att_dst", {1, 2, 2}}, {"att_src", {1, 2, 2}}, {"bias", {bias}},
		{"lin.weight", {4, 3}}};
}

// The weight of DGL is (in, out); bias and weight are the first and second parameter.
Layer dgl_gcn()
{
	return parameters({{"bias", {2}}, {"weight", {3, 2}}});
}

std::vector<Case> golden_cases()
{
	return {
		{"gcn", parameters({{"bias", {2}}, {"lin.weight", {2, 3}}}), {},
			rows(2, {-.053076, .471256, -.186852, .701801, -.448897, .667155, -.220997,
				.395696, -.02, .23, -.1, .31}), true, true},
		{"sage", parameters({{"lin_l.bias", {2}}, {"lin_l.weight", {2, 3}},
			{"lin_r.weight", {2, 3}}}), {},
			rows(2, {.2, .26, -.36, .46, -.76, .37, -.11, .79, -.01, .68, -.03, .6}),
			true, true},
		{"gin", with_eps(parameters({{"nn.0.bias", {4}}, {"nn.0.weight", {4, 3}},
			{"nn.2.bias", {2}}, {"nn.2.weight", {2, 4}}}), .3f), {},
			rows(2, {-.0956, -.3629, -.057, -.2698, -.0478, -.2972, -.0405, -.3595,
				-.0413, -.3689, -.0759, -.3241}), true, true},
		{"gat-concat", parameters(gat_keys(4)), {{"gnnrun.concat", "1"}},
			rows(4, {.165017, -.225119, .488313, -.191926, -.003599, -.408282, .297541,
				.073462, -.28994, -.68003, .030128, .079872, -.0843, -.469983,
				.299573, -.189573, .2, -.21, .48, -.37, .24, -.23, .4, -.29}),
			true, false},
		{"graphconv", parameters({{"lin_rel.bias", {2}}, {"lin_rel.weight", {2, 3}},
			{"lin_root.weight", {2, 3}}}), {},
			rows(2, {.2, .26, -.25, .65, -1.03, .55, -.35, .85, -.01, .68, -.03, .6}),
			true, true},
		{"dgl-both", dgl_gcn(), {{"gnnrun.library", "dgl"}},
			rows(2, {-.39, .51, .16, .74, -.31, .43, -.330229, .379337, -.2, .5, -.2,
				.5}), true, true},
		{"dgl-right", dgl_gcn(), {{"gnnrun.library", "dgl"}, {"gnnrun.norm", "right"}},
			rows(2, {-.39, .51, .16, .74, -.31, .43, -.296667, .416667, -.2, .5, -.2,
				.5}), true, true},
		{"dgl-none", dgl_gcn(), {{"gnnrun.library", "dgl"}, {"gnnrun.norm", "none"}},
			rows(2, {-.39, .51, .52, .98, -.42, .36, -.49, .25, -.2, .5, -.2, .5}),
			true, true},
		{"gatv2", parameters({{"att", {1, 2, 2}}, {"bias", {4}}, {"lin_l.bias", {4}},
			{"lin_l.weight", {4, 3}}, {"lin_r.bias", {4}}, {"lin_r.weight", {4, 3}}}),
			{}, rows(4, {.064981, -.72487, .689741, -.397068, -.095919, -.901723,
				.498997, -.126324, -.390084, -1.179958, .230256, -.120256, -.160504,
				-.945469, .496437, -.386437, .1, -.71, .68, -.57, .14, -.73, .6,
				-.49}), true, false},
		{"gat-mean", parameters(gat_keys(2)), {},
			rows(2, {.176665, -.358523, -.003029, -.31741, -.279906, -.450079,
				-.042363, -.479778, .19, -.44, .17, -.41}), true, false},
	};
}

TEST(Layer, GoldenVectorsOfPyg)
{
	const check::TempFile file("golden.safetensors");

	for (const Case &c : golden_cases())
		for (const auto order : {GNN_ORDER_AUTO, GNN_ORDER_TRANSFORM_FIRST,
			     GNN_ORDER_AGGREGATE_FIRST}) {
			SCOPED_TRACE(c.name + " order " + std::to_string(order));
			if ((order == GNN_ORDER_TRANSFORM_FIRST && !c.can_transform) ||
				(order == GNN_ORDER_AGGREGATE_FIRST && !c.can_aggregate))
				continue;
			check::write_tensors(file.path(), check::join_layers({c.layer}),
				c.metadata);
			const check::Model m = check::load_model(file.path(), order);
			const Matrix got =
				check::run_model(m.get(), golden_graph, golden_features());
			ASSERT_EQ(got.data.size(), c.want.data.size());
			for (size_t i = 0; i < got.data.size(); i++)
				EXPECT_NEAR(got.data[i], c.want.data[i], 6e-7) << "value " << i;
		}
}

Layer layer_of(const std::vector<Case> &cases, const std::string &name)
{
	for (const Case &c : cases)
		if (c.name == name)
			return c.layer;
	throw std::logic_error(name);
}

TEST(Layer, TheReferenceItselfGivesTheGoldenVectors)
{
	const std::vector<Case> cases = golden_cases();
	const Matrix h = golden_features();
	const std::map<std::string, Matrix> got = {
		{"gcn", check::gcn(golden_graph, h, layer_of(cases, "gcn"))},
		{"sage", check::sage(golden_graph, h, layer_of(cases, "sage"))},
		{"gin", check::gin(golden_graph, h, layer_of(cases, "gin"))},
		{"gat-concat", check::gat(golden_graph, h, layer_of(cases, "gat-concat"))},
		{"gat-mean", check::gat(golden_graph, h, layer_of(cases, "gat-mean"),
			{.concat = false})},
		{"gatv2", check::gatv2(golden_graph, h, layer_of(cases, "gatv2"))},
	};

	for (const Case &c : cases)
		for (size_t i = 0; got.count(c.name) > 0 && i < c.want.data.size(); i++)
			EXPECT_NEAR(got.at(c.name).data[i], c.want.data[i], 6e-7) << c.name;
}

// Random layers against the reference, every legal order, one graph with all the odd vertices and
// one without edges.
struct Against : ::testing::Test {
	const check::TempFile file{"against.safetensors"};
	const Graph graphs[2] = {check::random_graph(40, 160, 7), Graph{5, {}, {}}};

	template <typename Reference>
	void expect_equal(const Layer &layer, const check::Metadata &metadata,
		const std::vector<gnn_message_order> &orders, Reference reference)
	{
		const uint64_t dim_in = 6;

		check::write_tensors(file.path(), check::join_layers({layer}), metadata);
		for (const auto order : orders)
			for (const Graph &g : graphs) {
				const Matrix h = check::random_matrix(g.vertices, dim_in, 3);
				const check::Model m = check::load_model(file.path(), order);
				EXPECT_LT(check::difference(check::run_model(m.get(), g, h),
						  reference(g, h)), 1e-6)
					<< "order " << order << ", " << g.src.size() << " edges";
			}
	}
	static Tensor tensor(std::vector<uint64_t> shape)
	{
		static uint64_t seed = 100;
		return check::random_tensor(std::move(shape), seed++);
	}
};

const std::vector<gnn_message_order> both_orders = {GNN_ORDER_AUTO, GNN_ORDER_TRANSFORM_FIRST,
	GNN_ORDER_AGGREGATE_FIRST};
const std::vector<gnn_message_order> only_auto = {GNN_ORDER_AUTO};

TEST_F(Against, GcnWithAndWithoutLoopsAndBias)
{
	for (const uint64_t dim_out : {3u, 6u, 9u})
		for (const bool bias : {true, false}) {
			Layer w = {{"lin.weight", tensor({dim_out, 6})}};
			if (bias)
				w["bias"] = tensor({dim_out});
			expect_equal(w, {}, both_orders,
				[&](const Graph &g, const Matrix &h) {
					return check::gcn(g, h, w);
				});
			expect_equal(w, {{"gnnrun.self_loops", "none"}}, both_orders,
				[&](const Graph &g, const Matrix &h) {
					return check::gcn(g, h, w, false);
				});
		}
}

TEST_F(Against, GcnOfPygOneStoresTheWeightTurned)
{
	const Tensor w = tensor({6, 4});
	Tensor turned{{4, 6}, std::vector<float>(24)};

	for (size_t i = 0; i < 6; i++)
		for (size_t o = 0; o < 4; o++)
			turned.data[o * 6 + i] = w.data[i * 4 + o];
	expect_equal({{"weight", w}, {"bias", {{4}, {1, 2, 3, 4}}}}, {{"gnnrun.library", "pyg"}},
		both_orders, [&](const Graph &g, const Matrix &h) {
			return check::gcn(g, h,
				{{"lin.weight", turned}, {"bias", {{4}, {1, 2, 3, 4}}}});
		});
}

TEST_F(Against, SageOfEveryAggregator)
{
	for (const std::string aggregator : {"mean", "sum", "max"})
		for (const uint64_t dim_out : {3u, 8u})
			for (const bool root : {true, false})
				for (const bool bias : {true, false}) {
					Layer w = {{"lin_l.weight", tensor({dim_out, 6})}};
					if (bias)
						w["lin_l.bias"] = tensor({dim_out});
					if (root)
						w["lin_r.weight"] = tensor({dim_out, 6});
					expect_equal(w, {{"gnnrun.aggregator", aggregator}},
						aggregator == "max" ? only_auto : both_orders,
						[&](const Graph &g, const Matrix &h) {
							return check::sage(g, h, w, aggregator);
						});
				}
}

TEST_F(Against, SageNormalizedAndProjected)
{
	Layer w = {{"lin_l.weight", tensor({4, 6})}, {"lin_l.bias", tensor({4})},
		{"lin_r.weight", tensor({4, 6})}};
	expect_equal(w, {{"gnnrun.normalize", "1"}}, both_orders,
		[&](const Graph &g, const Matrix &h) {
			return check::sage(g, h, w, "mean", true);
		});
	w["lin.weight"] = tensor({6, 6});
	w["lin.bias"] = tensor({6});
	for (const std::string aggregator : {"mean", "sum", "max"})
		expect_equal(w, {{"gnnrun.aggregator", aggregator}}, only_auto,
			[&](const Graph &g, const Matrix &h) {
				return check::sage(g, h, w, aggregator);
			});
}

TEST_F(Against, GinOfAnyDepthWithBatchNorms)
{
	// Linear 0, BatchNorm 1, relu 2, Linear 3, relu 4, BatchNorm 5, Linear 6.
	Layer w = {{"eps", {{1}, {-.25f}}}, {"nn.0.weight", tensor({5, 6})},
		{"nn.0.bias", tensor({5})}, {"nn.1.weight", tensor({5})},
		{"nn.1.bias", tensor({5})},
		{"nn.1.running_mean", tensor({5})}, {"nn.1.running_var", {{5}, {1, 2, .5, .1, 3}}},
		{"nn.3.weight", tensor({8, 5})}};
	const auto reference = [&](const Graph &g, const Matrix &h) { return check::gin(g, h, w); };

	expect_equal(w, {}, both_orders, reference);
	w.erase("nn.0.bias");
	w.erase("nn.1.weight");
	w.erase("nn.1.bias");
	expect_equal(w, {}, both_orders, reference);
	w["nn.6.weight"] = tensor({3, 8});
	w["nn.6.bias"] = tensor({3});
	expect_equal(w, {}, both_orders, reference);
}

TEST_F(Against, GinWithANormBehindAnActivation)
{
	// Linear 0, relu 1, BatchNorm 2, Linear 3 without an activation between.
	const Layer w = {{"eps", {{1}, {0}}}, {"nn.0.weight", tensor({4, 6})},
		{"nn.2.running_mean", tensor({4})}, {"nn.2.running_var", {{4}, {1, 2, .5, .1f}}},
		{"nn.3.weight", tensor({2, 4})}};
	expect_equal(w, {}, both_orders, [&](const Graph &g, const Matrix &h) {
		Matrix x = check::gin(g, h, {{"eps", w.at("eps")}, {"nn.0.weight",
			w.at("nn.0.weight")}});
		check::relu(x);
		const Layer rest = {{"eps", w.at("eps")},
			{"nn.0.running_mean", w.at("nn.2.running_mean")},
			{"nn.0.running_var", w.at("nn.2.running_var")},
			{"nn.1.weight", w.at("nn.3.weight")}};
		return check::gin(Graph{g.vertices, {}, {}}, x, rest);
	});
}

TEST_F(Against, GinOfThePygZoo)
{
	const Layer w = {{"eps", {{1}, {.5f}}}, {"nn.lins.0.weight", tensor({4, 6})},
		{"nn.lins.0.bias", tensor({4})}, {"nn.lins.1.weight", tensor({3, 4})},
		{"nn.lins.1.bias", tensor({3})}, {"nn.norms.0.module.weight", tensor({4})},
		{"nn.norms.0.module.bias", tensor({4})},
		{"nn.norms.0.module.running_mean", tensor({4})},
		{"nn.norms.0.module.running_var", {{4}, {1, 2, .5, .1f}}}};
	Layer plain = {{"eps", w.at("eps")}};
	for (const char *key : {"weight", "bias"}) {
		const std::string k = key;
		plain["nn.0." + k] = w.at("nn.lins.0." + k);
		plain["nn.1." + k] = w.at("nn.norms.0.module." + k);
		plain["nn.3." + k] = w.at("nn.lins.1." + k);
	}
	plain["nn.1.running_mean"] = w.at("nn.norms.0.module.running_mean");
	plain["nn.1.running_var"] = w.at("nn.norms.0.module.running_var");
	expect_equal(w, {}, both_orders,
		[&](const Graph &g, const Matrix &h) { return check::gin(g, h, plain); });
}

TEST_F(Against, GatWithAndWithoutLoopsConcatAndBias)
{
	for (const bool loops : {true, false})
		for (const bool concat : {true, false})
			for (const bool bias : {true, false})
				for (const uint64_t heads : {1u, 3u}) {
					Layer w = {{"lin.weight", tensor({heads * 4, 6})},
						{"att_src", tensor({1, heads, 4})},
						{"att_dst", tensor({1, heads, 4})}};
					if (bias)
						w["bias"] = tensor({concat ? heads * 4 : 4});
					expect_equal(w,
						{{"gnnrun.self_loops", loops ? "replace" : "none"},
							{"gnnrun.concat", concat ? "1" : "0"},
							{"gnnrun.negative_slope", "0.3"}},
						{GNN_ORDER_AUTO, GNN_ORDER_TRANSFORM_FIRST},
						[&](const Graph &g, const Matrix &h) {
							return check::gat(g, h, w,
								{concat, loops, .3});
						});
				}
}

// A slope below 0: scores fall and rise, the maximum is at one end or the other.
TEST_F(Against, GatWithANegativeSlope)
{
	for (const std::string slope : {"-0.4", "-1.5"}) {
		const Layer w = {{"lin.weight", tensor({12, 6})}, {"att_src", tensor({1, 3, 4})},
			{"att_dst", tensor({1, 3, 4})}, {"bias", tensor({12})}};
		expect_equal(w, {{"gnnrun.negative_slope", slope}}, only_auto,
			[&](const Graph &g, const Matrix &h) {
				return check::gat(g, h, w, {.slope = std::stod(slope)});
			});
	}
}

TEST_F(Against, GatAndGatv2WithResiduals)
{
	for (const bool concat : {true, false})
		for (const bool two : {true, false}) {
			const uint64_t width = concat ? 12 : 4;
			Layer w = {{"bias", tensor({width})}, {"res.weight", tensor({width, 6})}};
			if (two) {
				w["att"] = tensor({1, 3, 4});
				w["lin_l.weight"] = tensor({12, 6});
				w["lin_r.weight"] = tensor({12, 6});
			} else {
				w["att_src"] = tensor({1, 3, 4});
				w["att_dst"] = tensor({1, 3, 4});
				w["lin.weight"] = tensor({12, 6});
			}
			expect_equal(w, {{"gnnrun.residual", "1"}}, only_auto,
				[&](const Graph &g, const Matrix &h) {
					const check::GatOptions o = {.concat = concat};
					return two ? check::gatv2(g, h, w, o)
						   : check::gat(g, h, w, o);
				});
		}
}

TEST_F(Against, Gatv2WithAndWithoutLoopsConcatAndBiases)
{
	for (const bool loops : {true, false})
		for (const bool concat : {true, false})
			for (const bool bias : {true, false})
				for (const uint64_t heads : {1u, 3u}) {
					Layer w = {{"lin_l.weight", tensor({heads * 4, 6})},
						{"lin_r.weight", tensor({heads * 4, 6})},
						{"att", tensor({1, heads, 4})}};
					if (bias) {
						w["bias"] = tensor({concat ? heads * 4 : 4});
						w["lin_l.bias"] = tensor({heads * 4});
						w["lin_r.bias"] = tensor({heads * 4});
					}
					expect_equal(w,
						{{"gnnrun.self_loops", loops ? "replace" : "none"},
							{"gnnrun.concat", concat ? "1" : "0"},
							{"gnnrun.negative_slope", "-0.3"}},
						only_auto, [&](const Graph &g, const Matrix &h) {
							return check::gatv2(g, h, w,
								{concat, loops, -.3});
						});
				}
}

// safetensors keeps one of two names of one tensor, or both hold the same.
TEST_F(Against, Gatv2WithSharedWeights)
{
	const Tensor weight = tensor({8, 6}), bias = tensor({8}), att = tensor({1, 2, 4});
	const Layer whole = {{"att", att}, {"lin_l.weight", weight}, {"lin_r.weight", weight},
		{"lin_l.bias", bias}, {"lin_r.bias", bias}};

	for (const auto &left_out : std::vector<std::vector<std::string>>{{},
		     {"lin_l.weight", "lin_l.bias"}, {"lin_r.weight", "lin_r.bias"}}) {
		Layer w = whole;
		for (const std::string &key : left_out)
			w.erase(key);
		expect_equal(w, {{"gnnrun.concat", "1"}}, only_auto,
			[&](const Graph &g, const Matrix &h) { return check::gatv2(g, h, whole); });
	}
}

// DGL never averages inside the layer: the bias is as wide as all heads, whatever the model does.
TEST_F(Against, GatOfDgl)
{
	for (const bool concat : {true, false})
		for (const std::string residual :
			{"none", "linear", "linear with bias", "identity"}) {
			const Metadata told = {{"gnnrun.concat", concat ? "1" : "0"},
				{"gnnrun.residual", residual == "none" ? "0" : "1"}};
			Layer pyg = {{"lin.weight", tensor({6, 6})}, {"att_src", tensor({1, 3, 2})},
				{"att_dst", tensor({1, 3, 2})}, {"bias", tensor({6})}};
			Layer dgl = {{"fc.weight", pyg["lin.weight"]}, {"attn_l", pyg["att_src"]},
				{"attn_r", pyg["att_dst"]}, {"bias", pyg["bias"]}};
			if (residual[0] == 'l')
				dgl["res_fc.weight"] = pyg["res.weight"] = tensor({6, 6});
			if (residual == "linear with bias") { // from 1.1 on in place of "bias"
				dgl["res_fc.bias"] = pyg["res.bias"] = tensor({6});
				dgl.erase("bias");
				pyg.erase("bias");
			}
			expect_equal(dgl, told, only_auto, [&](const Graph &g, const Matrix &h) {
				return check::gat(g, h, pyg, {.concat = concat, .self_loops = false,
					.bias_in_heads = true,
					.identity = residual == "identity"});
			});
		}
}

TEST_F(Against, Gatv2OfDgl)
{
	for (const std::string residual : {"none", "linear", "identity"})
		for (const bool shared : {true, false}) {
			Layer pyg = {{"lin_l.weight", tensor({6, 6})}, {"lin_l.bias", tensor({6})},
				{"att", tensor({1, 3, 2})}};
			pyg["lin_r.weight"] = shared ? pyg["lin_l.weight"] : tensor({6, 6});
			pyg["lin_r.bias"] = shared ? pyg["lin_l.bias"] : tensor({6});
			Layer dgl = {{"fc_src.weight", pyg["lin_l.weight"]},
				{"fc_src.bias", pyg["lin_l.bias"]}, {"attn", pyg["att"]}};
			if (!shared) {
				dgl["fc_dst.weight"] = pyg["lin_r.weight"];
				dgl["fc_dst.bias"] = pyg["lin_r.bias"];
			}
			if (residual == "linear") {
				dgl["res_fc.weight"] = pyg["res.weight"] = tensor({6, 6});
				dgl["res_fc.bias"] = pyg["res.bias"] = tensor({6});
			}
			expect_equal(dgl, {{"gnnrun.concat", "1"},
				{"gnnrun.residual", residual == "none" ? "0" : "1"}}, only_auto,
				[&](const Graph &g, const Matrix &h) {
					return check::gatv2(g, h, pyg, {.self_loops = false,
						.identity = residual == "identity"});
				});
		}
}

// The keys of other versions and of DGL, each against the reference under PyG's current keys.
TEST_F(Against, SageOfDgl)
{
	const Tensor neigh = tensor({4, 6}), self = tensor({4, 6});
	const Tensor a = tensor({4}), b = tensor({4});
	Tensor both = a;
	for (size_t i = 0; i < 4; i++)
		both.data[i] += b.data[i];
	const auto mean = [&](const Tensor &bias) {
		return [&, bias](const Graph &g, const Matrix &h) {
			return check::sage(g, h, {{"lin_l.weight", neigh}, {"lin_r.weight", self},
				{"lin_l.bias", bias}});
		};
	};
	Layer w = {{"fc_neigh.weight", neigh}, {"fc_self.weight", self}, {"fc_self.bias", a}};

	expect_equal(w, {}, both_orders, mean(a));
	w["fc_neigh.bias"] = b;
	expect_equal(w, {{"gnnrun.aggregator", "mean"}}, both_orders, mean(both));
	w.erase("fc_self.bias");
	w.erase("fc_neigh.bias");
	w["bias"] = b;
	expect_equal(w, {}, both_orders, mean(b));

	const Tensor pool = tensor({6, 6}), pool_bias = tensor({6});
	w["fc_pool.weight"] = pool;
	w["fc_pool.bias"] = pool_bias;
	expect_equal(w, {}, only_auto, [&](const Graph &g, const Matrix &h) {
		return check::sage(g, h, {{"lin_l.weight", neigh}, {"lin_r.weight", self},
			{"lin_l.bias", b}, {"lin.weight", pool}, {"lin.bias", pool_bias}}, "max");
	});
	for (const uint64_t dim_out : {4u, 9u}) {
		const Tensor wide = tensor({dim_out, 6}), bias = tensor({dim_out});
		expect_equal({{"fc_neigh.weight", wide}, {"bias", bias}}, {}, both_orders,
			[&](const Graph &g, const Matrix &h) {
				return check::sage(g, h, {{"lin_l.weight", wide},
					{"lin_l.bias", bias}}, "gcn");
			});
	}
}

TEST_F(Against, GinOfDgl)
{
	Layer w = {{"eps", {{1}, {.75f}}}, {"nn.0.weight", tensor({5, 6})},
		{"nn.0.bias", tensor({5})}, {"nn.2.weight", tensor({3, 5})}};
	Layer dgl;
	for (const auto &[key, t] : w)
		dgl[key == "eps" ? key : "apply_func" + key.substr(2)] = t;
	expect_equal(dgl, {}, both_orders,
		[&](const Graph &g, const Matrix &h) { return check::gin(g, h, w); });
	expect_equal({{"eps", w["eps"]}, {"apply_func.weight", w["nn.0.weight"]},
		{"apply_func.bias", w["nn.0.bias"]}}, {{"gnnrun.library", "dgl"}}, both_orders,
		[&](const Graph &g, const Matrix &h) {
			return check::gin(g, h, {{"eps", w["eps"]},
				{"nn.0.weight", w["nn.0.weight"]}, {"nn.0.bias", w["nn.0.bias"]}});
		});
}

TEST_F(Against, GraphConvOfPygAndOfDgl)
{
	const Tensor rel = tensor({4, 6}), root = tensor({4, 6}), bias = tensor({4});

	for (const std::string aggregator : {"sum", "mean", "max"})
		expect_equal({{"lin_rel.weight", rel}, {"lin_rel.bias", bias},
			{"lin_root.weight", root}}, {{"gnnrun.aggregator", aggregator}},
			aggregator == "max" ? only_auto : both_orders,
			[&](const Graph &g, const Matrix &h) {
				return check::sage(g, h, {{"lin_l.weight", rel},
					{"lin_l.bias", bias}, {"lin_r.weight", root}}, aggregator);
			});
	for (const std::string norm : {"both", "right", "left", "none"})
		for (const uint64_t dim_out : {4u, 9u}) {
			const Layer w = {{"weight", tensor({6, dim_out})},
				{"bias", tensor({dim_out})}};
			expect_equal(w, {{"gnnrun.library", "dgl"}, {"gnnrun.norm", norm}},
				both_orders, [&](const Graph &g, const Matrix &h) {
					return check::gcn_dgl(g, h, w, norm);
				});
		}
}

TEST_F(Against, GatOfOlderPyg)
{
	const uint64_t heads = 2, channels = 3;
	const Layer now = {{"lin.weight", tensor({6, 6})}, {"bias", tensor({6})},
		{"att_src", tensor({1, heads, channels})},
		{"att_dst", tensor({1, heads, channels})}};
	const auto reference = [&](const Graph &g, const Matrix &h) {
		return check::gat(g, h, now);
	};
	const std::vector<std::vector<std::string>> names = {{"lin_src", "lin_dst"}, {"lin_src"},
		{"lin_dst"}, {"lin_l", "lin_r"}, {"lin_l"}, {"lin_r"}};
	Tensor turned{{6, 6}, std::vector<float>(36)}, att{{1, heads, 2 * channels}, {}};

	for (const auto &aliases : names) {
		const bool old = aliases[0].size() == 5; // lin_l: the attention is att_l and att_r
		Layer w = {{"bias", now.at("bias")},
			{old ? "att_l" : "att_src", now.at("att_src")},
			{old ? "att_r" : "att_dst", now.at("att_dst")}};
		for (const std::string &alias : aliases)
			w[alias + ".weight"] = now.at("lin.weight");
		expect_equal(w, {{"gnnrun.concat", "1"}}, only_auto, reference);
	}
	for (size_t o = 0; o < 6; o++)
		for (size_t i = 0; i < 6; i++)
			turned.data[i * 6 + o] = now.at("lin.weight").data[o * 6 + i];
	for (uint64_t k = 0; k < heads; k++)
		for (const char *key : {"att_dst", "att_src"}) {
			const float *from = &now.at(key).data[k * channels];
			att.data.insert(att.data.end(), from, from + channels);
		}
	expect_equal({{"weight", turned}, {"att", att}, {"bias", now.at("bias")}}, {}, only_auto,
		reference);
}

TEST_F(Against, TwoLayersWithActivations)
{
	const std::vector<Layer> w = {
		{{"lin.weight", tensor({8, 6})}, {"bias", tensor({8})}},
		{{"lin.weight", tensor({3, 8})}, {"bias", tensor({3})}}};
	const Graph &g = graphs[0];
	const Matrix h = check::random_matrix(g.vertices, 6, 5);

	check::write_tensors(file.path(), check::join_layers(w),
		{{"gnnrun.activation", "elu"}, {"gnnrun.final_activation", "relu"}});
	Matrix want = check::gcn(g, h, w[0]);
	check::elu(want);
	want = check::gcn(g, want, w[1]);
	check::relu(want);
	const check::Model m = check::load_model(file.path());
	EXPECT_LT(check::difference(check::run_model(m.get(), g, h), want), 1e-6);
}

// dgl#2777: a mean over no edges was 0/0 in every output.
TEST_F(Against, B09MeanWithoutEdgesIsTheOwnPartAlone)
{
	const Layer w = {{"lin_l.weight", tensor({2, 3})}, {"lin_l.bias", {{2}, {.5f, -1}}},
		{"lin_r.weight", tensor({2, 3})}};
	const Layer gcn = {{"lin.weight", tensor({2, 3})}, {"bias", {{2}, {.25f, 4}}}};

	for (const Graph &g : {Graph{2, {}, {}}, Graph{3, {0}, {1}}})
		for (const auto order : both_orders) {
			const Matrix h = check::random_matrix(g.vertices, 3, 9);
			check::write_tensors(file.path(), w);
			EXPECT_LT(check::difference(check::run_model(
				check::load_model(file.path(), order).get(), g, h),
				check::sage(g, h, w)), 1e-6);
			check::write_tensors(file.path(), gcn, {{"gnnrun.self_loops", "none"}});
			const Matrix got = check::run_model(
				check::load_model(file.path(), order).get(), g, h);
			// No edge has deg > 0 at both ends: the bias is left.
			for (uint64_t v = 0; v < g.vertices; v++) {
				EXPECT_EQ(got.row(v)[0], .25);
				EXPECT_EQ(got.row(v)[1], 4);
			}
		}
}

// pyg#1129: the maximum over no edges was whatever lay in memory.
TEST_F(Against, B10MaximumWithoutEdgesIsZero)
{
	const Graph g{1, {}, {}};
	const Layer w = {{"lin_l.weight", tensor({2, 3})}, {"lin_l.bias", {{2}, {.5f, -1}}}};

	check::write_tensors(file.path(), w, {{"gnnrun.aggregator", "max"}});
	const Matrix got = check::run_model(check::load_model(file.path()).get(), g,
		check::random_matrix(1, 3, 9));
	EXPECT_EQ(got.row(0)[0], .5);
	EXPECT_EQ(got.row(0)[1], -1);
}

// pyg#2288: self-loops in the data were counted beside those that the layer adds.
TEST_F(Against, B11ListedSelfLoopsAreReplacedNotAdded)
{
	const Layer w = {{"lin.weight", {{1, 1}, {1}}}};
	const Matrix h = rows(1, {1, 10, 100});
	// deg with one loop each: 1, 2, 2.
	const double s = std::sqrt(.5);
	const Matrix want = rows(1, {1, s * 1 + 5, 5 + 50});

	check::write_tensors(file.path(), w);
	for (const Graph &g : {Graph{3, {0, 0, 1}, {0, 1, 2}}, Graph{3, {0, 0, 1, 0}, {0, 1, 2, 0}},
		     Graph{3, {0, 1}, {1, 2}}})
		EXPECT_LT(check::difference(check::run_model(
			check::load_model(file.path()).get(), g, h), want), 1e-6);
	check::write_tensors(file.path(), {{"weight", {{1, 1}, {1}}}},
		{{"gnnrun.library", "dgl"}, {"gnnrun.norm", "none"}});
	const Matrix listed = check::run_model(check::load_model(file.path()).get(),
		Graph{3, {0, 0, 1, 0}, {0, 1, 2, 0}}, h);
	EXPECT_EQ(listed.data, (std::vector<double>{2, 1, 10}));
}

} // namespace
