// Models: keys under any prefix, settings and their sources, and everything that is refused.
#include "base/fault.h"
#include "base/mem.h"
#include "check/model_file.h"
#include "io/safetensors.h"

#include <gtest/gtest.h>

#include <fstream>

namespace {

using check::Layer;
using check::Metadata;
using check::Tensor;
using Set = std::vector<const char *>;

Tensor zeros(std::vector<uint64_t> shape)
{
	return check::random_tensor(std::move(shape), 1);
}

Layer gcn(uint64_t dim_in, uint64_t dim_out)
{
	return {{"lin.weight", zeros({dim_out, dim_in})}, {"bias", zeros({dim_out})}};
}

Layer sage(uint64_t dim_in, uint64_t dim_out)
{
	return {{"lin_l.weight", zeros({dim_out, dim_in})}, {"lin_l.bias", zeros({dim_out})},
		{"lin_r.weight", zeros({dim_out, dim_in})}};
}

Layer gat(uint64_t dim_in, uint64_t heads, uint64_t channels, uint64_t bias)
{
	return {{"lin.weight", zeros({heads * channels, dim_in})}, {"bias", zeros({bias})},
		{"att_src", zeros({1, heads, channels})}, {"att_dst", zeros({1, heads, channels})}};
}

Layer gin(uint64_t dim_in, uint64_t dim_out)
{
	return {{"eps", zeros({1})}, {"nn.0.weight", zeros({dim_out, dim_in})},
		{"nn.0.bias", zeros({dim_out})}, {"nn.2.weight", zeros({dim_out, dim_out})}};
}

Layer with(Layer w, const std::string &key, std::vector<uint64_t> shape)
{
	w[key] = zeros(std::move(shape));
	return w;
}

Layer without(Layer w, const std::string &key)
{
	EXPECT_EQ(w.erase(key), 1u) << key;
	return w;
}

Layer under(const std::string &prefix, const Layer &layer, Layer more = {})
{
	for (const auto &[key, tensor] : layer)
		more[prefix + key] = tensor;
	return more;
}

struct ModelTest : ::testing::Test {
	const check::TempFile file{"model.safetensors"};

	void TearDown() override
	{
		gnn_fault_clear();
	}
	check::Model load(const Layer &w, const Metadata &metadata = {}, const Set &set = {},
		gnn_message_order order = GNN_ORDER_AUTO)
	{
		check::write_tensors(file.path(), w, metadata);
		return check::load_model(file.path(), order, set);
	}
	void expect_refused(const std::string &why, const Layer &w, const Metadata &metadata = {},
		const Set &set = {}, gnn_message_order order = GNN_ORDER_AUTO,
		int status = GNN_ECONFIG)
	{
		check::write_tensors(file.path(), w, metadata);
		EXPECT_EQ(check::load_status(file.path(), set, order), status) << why;
		const std::string text = gnn_err_text();
		EXPECT_NE(text.find(why), std::string::npos) << "not: " << why << "\nbut: " << text;
	}
	std::vector<uint32_t> widths(const Layer &w)
	{
		const check::Model m = load(w);
		std::vector<uint32_t> dims = {gnn_model_conv(m.get(), 0)->dim_in};
		for (uint32_t l = 0; l < gnn_model_layers(m.get()); l++)
			dims.push_back(gnn_model_conv(m.get(), l)->dim_out);
		return dims;
	}
};

const Layer two_gcn = check::join_layers({gcn(6, 4), gcn(4, 3)});
const Layer two_gat = check::join_layers({gat(6, 2, 4, 8), gat(8, 3, 5, 5)});

TEST_F(ModelTest, AnyPrefixWithALayerNumber)
{
	const std::vector<uint32_t> want = {6, 4, 3};

	for (const std::string prefix : {"convs.#.", "conv#.", "layers.#.", "gnn.layers.#.conv.",
		     "module.net2.conv#.", "module_#.", "#."}) {
		Layer w;
		for (const int number : {0, 1}) {
			std::string p = prefix;
			p.replace(p.find('#'), 1, std::to_string(number));
			w = under(p, number == 0 ? gcn(6, 4) : gcn(4, 3), w);
		}
		EXPECT_EQ(widths(w), want) << prefix;
	}
	EXPECT_EQ(widths(gcn(6, 4)), (std::vector<uint32_t>{6, 4}));
	EXPECT_EQ(widths(under("encoder.conv.", gcn(6, 4))), (std::vector<uint32_t>{6, 4}));
}

TEST_F(ModelTest, NumbersOrderTheLayersWithGaps)
{
	EXPECT_EQ(widths(under("conv10.", gcn(4, 3), under("conv2.", gcn(6, 4)))),
		(std::vector<uint32_t>{6, 4, 3}));
	EXPECT_EQ(widths(under("m.3.", gcn(4, 3), under("m.0.", gcn(6, 4), under("m.7.",
			  gcn(3, 2))))), (std::vector<uint32_t>{6, 4, 3, 2}));
	// The numbers inside an MLP order no layers.
	EXPECT_EQ(widths(check::join_layers({gin(6, 4), gin(4, 5), gin(5, 3)})),
		(std::vector<uint32_t>{6, 4, 5, 3}));
}

TEST_F(ModelTest, ArchitecturesAreSeenInTheKeys)
{
	for (const auto &[layer, arch] : std::vector<std::pair<Layer, std::string>>{
		     {gcn(6, 4), "gcn"}, {sage(6, 4), "sage"}, {gin(6, 4), "gin"},
		     {gat(6, 2, 4, 8), "gat"}, {without(gcn(6, 4), "bias"), "gcn"},
		     {{{"lin_l.weight", zeros({4, 6})}}, "sage"}}) {
		EXPECT_EQ(gnn_model_conv(load(check::join_layers({layer})).get(), 0)->arch, arch);
		load(check::join_layers({layer}), {{"gnnrun.arch", arch}, {"format", "pt"}});
		expect_refused("the keys are those of", check::join_layers({layer}),
			{{"gnnrun.arch", arch == "gcn" ? "gat" : "gcn"}});
		expect_refused("the keys are those of", check::join_layers({layer}),
			{{"gnnrun.library", "dgl"}});
	}
}

TEST_F(ModelTest, APlainWeightAndBiasNeedsTheLibrary)
{
	const Layer plain = {{"layers.0.weight", zeros({6, 4})}, {"layers.0.bias", zeros({4})}};

	expect_refused("must be told, in __metadata__ or by --model-set: gnnrun.library=pyg|dgl",
		plain);
	expect_refused("must be told", plain, {{"gnnrun.arch", "gcn"}});
	EXPECT_EQ(gnn_model_conv(load(plain, {}, {"library=pyg"}).get(), 0)->dim_in, 6u);
}

TEST_F(ModelTest, NormsOfDgl)
{
	const Layer plain = {{"layers.0.weight", zeros({6, 4})}, {"layers.0.bias", zeros({4})}};

	for (const char *norm : {"both", "right", "left", "none"}) {
		const check::Model m = load(plain, {{"gnnrun.library", "dgl"},
			{"gnnrun.norm", norm}});
		const gnn_conv *c = gnn_model_conv(m.get(), 0);
		EXPECT_FALSE(c->own_counts);
		EXPECT_EQ(gnn_conv_needs_out_degrees(c), norm[0] == 'b' || norm[0] == 'l');
	}
	EXPECT_TRUE(gnn_model_conv(load(plain, {{"gnnrun.library", "dgl"}},
		{"norm=right", "self_loops=replace"}).get(), 0)->own_counts);
	expect_refused("gnnrun.norm=both (__metadata__) is not supported for gcn of pyg", plain,
		{{"gnnrun.library", "pyg"}, {"gnnrun.norm", "both"}});
}

TEST_F(ModelTest, AggregatorsOfDglAreInTheKeys)
{
	const Layer mean = {{"layers.0.fc_neigh.weight", zeros({4, 6})},
		{"layers.0.fc_self.weight", zeros({4, 6})}};
	const Layer pool = with(mean, "layers.0.fc_pool.weight", {6, 6});
	const Layer gcn_kind = without(mean, "layers.0.fc_self.weight");

	load(mean, {}, {"aggregator=mean"});
	load(pool, {}, {"aggregator=pool"});
	load(gcn_kind, {}, {"aggregator=gcn"});
	for (const char *told : {"aggregator=sum", "aggregator=max"})
		for (const Layer &w : {mean, pool, gcn_kind})
			expect_refused("but the keys are those of SAGEConv of DGL", w, {}, {told});
	expect_refused("is not supported for sage of dgl", mean, {}, {"normalize=1"});
	expect_refused("has a bias of a projection but no weight",
		with(sage(6, 4), "lin.bias", {6}));
	const Layer apply = {{"layers.0.eps", zeros({1})},
		{"layers.0.apply_func.0.weight", zeros({4, 6})}};
	load(apply, {}, {"aggregator=sum"});
	expect_refused("is not supported for gin of dgl", apply, {}, {"aggregator=max"});
	expect_refused("the keys are those of GINConv of DGL", apply, {{"gnnrun.library", "pyg"}});
	expect_refused("which is no known convolution",
		with(with({}, "layers.0.lin_rel.weight", {4, 6}), "layers.0.eps", {1}));
}

TEST_F(ModelTest, GatOfOlderVersionsIsCheckedForItsTwins)
{
	Layer w = without(gat(6, 2, 4, 8), "lin.weight");

	w["lin_src.weight"] = check::random_tensor({8, 6}, 1);
	w["lin_dst.weight"] = check::random_tensor({8, 6}, 1);
	load(w);
	w["lin_dst.weight"] = check::random_tensor({8, 6}, 2);
	expect_refused("lin_src.weight and lin_dst.weight differ: bipartite GAT", w);
	w["lin_dst.weight"] = check::random_tensor({8, 5}, 1);
	expect_refused("tensor lin_dst.weight is [8, 5], wanted [8, 6]", w);
	const Layer old = {{"weight", zeros({6, 8})}, {"att", zeros({1, 2, 8})}};
	load(old);
	expect_refused("att: wanted (1, heads, channels), together 16",
		with(old, "att", {1, 2, 4}));
	expect_refused("tensor att has 16 heads for 8 columns", with(old, "att", {1, 16, 1}));
}

TEST_F(ModelTest, WhatIsNotComputedHereIsRefusedByName)
{
	const struct {
		const char *why;
		Layer w;
	} cases[] = {
		{"the norm of layer 0 has norms.0.module.running_mean alone",
			with(two_gcn, "norms.0.module.running_mean", {4})},
		{"GraphNorm (norms.0.mean_scale)", with(two_gcn, "norms.0.mean_scale", {4})},
		{"MessageNorm (norms.0.scale)", with(two_gcn, "norms.0.scale", {1})},
		{"jumping knowledge by LSTM (jk.lstm.weight_ih_l0)",
			with(two_gcn, "jk.lstm.weight_ih_l0", {4})},
		{"edge features (convs.0.lin_edge.weight)",
			with(two_gat, "convs.0.lin_edge.weight", {8, 2})},
		{"edge features (convs.1.att_edge)", with(two_gat, "convs.1.att_edge", {1, 3, 5})},
		{"LSTM aggregation (convs.0.lstm.weight_hh_l0)",
			with({}, "convs.0.lstm.weight_hh_l0", {4, 6})},
		{"norms in an MLP other than BatchNorm (convs.0.nn.norms.0.weight)",
			with({}, "convs.0.nn.norms.0.weight", {4})},
	};

	for (const auto &c : cases)
		expect_refused(c.why, c.w);
}

TEST_F(ModelTest, EveryTensorMustBeUnderstood)
{
	expect_refused("tensors that are not understood: convs.0.gate, embedding",
		with(with(two_gcn, "embedding", {9}), "convs.0.gate", {4}));
	expect_refused("tensors that belong to no layer: other.lin.weight",
		with(two_gcn, "other.lin.weight", {2, 3}));
	expect_refused("tensors that belong to no layer: head.0.weight",
		with(two_gcn, "head.0.weight", {2, 3}));
	expect_refused("differ in more than one number",
		under("a1.c2.", gcn(4, 3), under("a0.c1.", gcn(6, 4))));
	expect_refused("are the same thing twice",
		under("conv01.", gcn(6, 4), under("conv1.", gcn(6, 4))));
	expect_refused("no layer number can be read",
		under("conv1234567.", gcn(6, 4), under("conv1.", gcn(6, 4))));
	expect_refused("there are no tensors", {});
	expect_refused("layer 1 has bias, lin.weight, lin.bias, which is no known convolution",
		with(two_gcn, "convs.1.lin.bias", {3}));
	expect_refused("different convolutions",
		under("c.1.", sage(4, 3), under("c.0.", gcn(6, 4))));
	Layer many;
	for (int i = 0; i < 200; i++)
		many["odd.tensor." + std::to_string(i) + ".name"] = zeros({1});
	expect_refused(" more", many);
}

// A norm has the number of its layer, or stands behind it in one numbering.
TEST_F(ModelTest, NormsFindTheirLayers)
{
	const auto counts = [&](const Layer &w, const Set &set) {
		const check::Model m = load(w, {}, set);
		return std::vector<uint32_t>{gnn_model_conv(m.get(), 0)->finish.count,
			gnn_model_conv(m.get(), 1)->finish.count};
	};
	const std::vector<uint32_t> plain = counts(two_gcn, {});
	const std::vector<uint32_t> behind_first = {plain[0] + 2, plain[1]};
	const Layer sequence = under("m.0.", gcn(6, 4), under("m.3.", gcn(4, 3)));

	for (const std::string stem : {"norms.0.", "bn0.", "convs.0.norm."})
		EXPECT_EQ(counts(with(with(two_gcn, stem + "weight", {4}), stem + "bias", {4}),
			{"layer_norm_mode=node"}), behind_first) << stem;
	EXPECT_EQ(counts(with(with(sequence, "m.1.weight", {4}), "m.1.bias", {4}),
		{"layer_norm_mode=node"}), behind_first);
	expect_refused("tensors that belong to no layer: norms.2.weight",
		with(two_gcn, "norms.2.weight", {4}));
	expect_refused("norms.0.weight is [3], wanted [4]", with(two_gcn, "norms.0.weight", {3}),
		{}, {"layer_norm_mode=node"});
	expect_refused("must be told, in __metadata__ or by --model-set: "
		"gnnrun.layer_norm_mode=node|graph", with(two_gcn, "norms.0.weight", {4}));
	// A wrapped model keeps its layers.
	EXPECT_EQ(gnn_model_conv(load({{"module.weight", zeros({6, 4})},
		{"module.bias", zeros({4})}}, {}, {"library=pyg"}).get(), 0)->dim_in, 6u);
}

TEST_F(ModelTest, TheHeadAndWhatItTakes)
{
	const Layer equal = check::join_layers({gcn(6, 4), gcn(4, 4)});
	const auto width = [&](const Layer &w, const Set &set) {
		const check::Model m = load(w, {}, set);
		return gnn_model_width(m.get(), gnn_model_layers(m.get()) - 1);
	};

	EXPECT_EQ(width(with(with(equal, "lin.weight", {5, 8}), "lin.bias", {5}), {}), 5u);
	EXPECT_EQ(width(equal, {"jk=cat"}), 8u);
	EXPECT_EQ(width(equal, {"jk=max"}), 4u);
	EXPECT_EQ(width(equal, {"jk=last"}), 4u);
	for (const char *told : {"jk=last", "jk=max"})
		EXPECT_EQ(width(with(equal, "lin.weight", {5, 4}), {told}), 5u) << told;
	expect_refused("must be told, in __metadata__ or by --model-set: gnnrun.jk=last|max",
		with(equal, "lin.weight", {5, 4}));
	expect_refused("tensor lin.weight is [5, 4], wanted [5, 8]",
		with(equal, "lin.weight", {5, 4}), {}, {"jk=cat"});
	expect_refused("gnnrun.jk=max: layer 1 gives 3 columns", two_gcn, {}, {"jk=max"});
	expect_refused("there is lin.bias but not its weight", with(equal, "lin.bias", {5}), {},
		{"jk=last"});
}

TEST_F(ModelTest, MissingTensorsAreNamed)
{
	expect_refused("layer 1 has bias, lin.weight, att_src but not att_dst, which GATConv",
		without(two_gat, "convs.1.att_dst"));
	expect_refused("layer 0 has bias but not", without(two_gcn, "convs.0.lin.weight"));
	expect_refused("but not eps, which GINConv", without(check::join_layers({gin(6, 4)}),
		"convs.0.eps"));
}

TEST_F(ModelTest, ShapesThatDoNotMeetAreRefused)
{
	expect_refused("layer 1 takes 5 columns, layer 0 gives 4",
		check::join_layers({gcn(6, 4), gcn(5, 3)}));
	expect_refused("tensor convs.0.bias is [3], wanted [4]",
		check::join_layers({with(gcn(6, 4), "bias", {3})}));
	expect_refused("tensor convs.0.bias is [4, 1], wanted [4]",
		check::join_layers({with(gcn(6, 4), "bias", {4, 1})}));
	expect_refused("tensor convs.0.lin.weight is [24], wanted a matrix",
		check::join_layers({with(gcn(6, 4), "lin.weight", {24})}));
	expect_refused("is [4, 0], wanted a matrix",
		check::join_layers({with(gcn(6, 4), "lin.weight", {4, 0})}));
	expect_refused("is [0, 0], wanted a matrix",
		check::join_layers({with(gcn(6, 4), "lin.weight", {0, 0})}));
	expect_refused("tensor convs.0.lin_r.weight is [4, 5], wanted [4, 6]",
		check::join_layers({with(sage(6, 4), "lin_r.weight", {4, 5})}));
	expect_refused("tensor convs.0.lin_l.weight is [4, 6], wanted [4, 7]",
		check::join_layers({with(sage(6, 4), "lin.weight", {7, 6})}));
	expect_refused("tensor convs.0.nn.2.weight is [4, 5], wanted [4, 4]",
		check::join_layers({with(gin(6, 4), "nn.2.weight", {4, 5})}));
	expect_refused("eps: wanted one number",
		check::join_layers({with(gin(6, 4), "eps", {2})}));
	for (const std::vector<uint64_t> &shape : std::vector<std::vector<uint64_t>>{{2, 4},
		     {2, 2, 4}, {1, 2, 5}, {1, 0, 4}, {1, 9, 1}, {1, 4294967297, 0}})
		expect_refused("att_src: wanted (1, heads, channels), together 8",
			check::join_layers({with(gat(6, 2, 4, 8), "att_src", shape)}));
	expect_refused("have 2 and 4 heads",
		check::join_layers({with(gat(6, 2, 4, 8), "att_dst", {1, 4, 2})}));
}

TEST_F(ModelTest, MlpsThatCannotBeReadAreRefused)
{
	const Layer one = check::join_layers({gin(6, 4)});

	expect_refused("must begin with a linear at 0",
		with(without(without(one, "convs.0.nn.0.weight"), "convs.0.nn.0.bias"),
			"convs.0.nn.1.weight", {4, 6}));
	expect_refused("must begin with a linear", with(one, "convs.0.nn.0.weight", {6}));
	expect_refused("norm 1 of the MLP has no running mean",
		with(one, "convs.0.nn.1.weight", {4}));
	expect_refused("nn.1.running_var is [3], wanted [4]",
		with(with(one, "convs.0.nn.1.running_mean", {4}), "convs.0.nn.1.running_var", {3}));
	Layer deep = {{"convs.0.eps", zeros({1})}};
	for (int i = 0; i < 20; i++)
		deep["convs.0.nn." + std::to_string(2 * i) + ".weight"] = zeros({2, 2});
	expect_refused("an MLP of more than 30 steps", deep);
}

TEST_F(ModelTest, SettingsAreCheckedByNameAndValue)
{
	expect_refused("model setting gnnrun.activtion is unknown, the nearest is "
		"gnnrun.activation", two_gcn, {{"gnnrun.activtion", "relu"}});
	expect_refused("model setting gnnrun.head is unknown, the nearest is gnnrun.heads", two_gcn,
		{}, {"head=1"});
	expect_refused("is unknown", two_gcn, {{"gnnrun." + std::string(300, 'x'), "1"}});
	expect_refused("wanted key=value", two_gcn, {}, {"heads"}, GNN_ORDER_AUTO, GNN_EUSAGE);
	expect_refused("gnnrun.activation (--model-set) is \"gelu\", wanted none|relu|elu|",
		two_gcn, {}, {"gnnrun.activation=gelu"});
	expect_refused("gnnrun.activation (__metadata__) is \"\"", two_gcn,
		{{"gnnrun.activation", ""}});
	for (const char *bad : {"layers=0", "layers=x", "layers=-2", "layers=2 ", "layers=2,2",
		     "heads=0,1", "heads=8,", "heads=,8", "heads=8 1", "concat=1,2", "concat=",
		     "negative_slope=x", "negative_slope=inf", "negative_slope=nan", "normalize=2"})
		expect_refused("wanted", two_gat, {}, {bad});
	load(two_gcn, {{"other.key", "x"}, {"format", "pt"}, {"gnnrun.layers", "2"}});
	expect_refused("gnnrun.layers is 3, the tensors make 2 layers", two_gcn,
		{{"gnnrun.layers", "3"}});
	load(two_gcn, {{"gnnrun.layers", "3"}}, {"layers=2"});
}

TEST_F(ModelTest, WhatDoesNotApplyIsRefusedUnlessItSaysWhatIsSo)
{
	for (const char *told : {"layer_norm_mode=node", "act_first=0"})
		expect_refused("but there are no norms", two_gcn, {}, {told});
	for (const char *told : {"heads=1,1", "norm=both", "norm=right", "aggregator=mean",
		     "normalize=1", "negative_slope=.2", "mlp_activation=relu", "concat=1,0"})
		expect_refused("is not supported for gcn of pyg", two_gcn, {}, {told});
	load(two_gcn, {}, {"normalize=0", "self_loops=none", "aggregator=sum"});
	load(check::join_layers({sage(6, 4)}), {}, {"self_loops=none", "normalize=0"});
	expect_refused("is not supported for sage", check::join_layers({sage(6, 4)}), {},
		{"self_loops=replace"});
	for (const char *told : {"aggregator=gcn", "aggregator=pool"})
		expect_refused("is DGL's", check::join_layers({sage(6, 4)}), {}, {told});
}

TEST_F(ModelTest, HeadsAndConcatAreCheckedAgainstTheTensors)
{
	load(two_gat, {{"gnnrun.heads", "2,3"}, {"gnnrun.concat", "1,0"}});
	expect_refused("gnnrun.heads is 4 for layer 1, its tensors have 3", two_gat,
		{{"gnnrun.heads", "2,4"}});
	expect_refused("gnnrun.heads=2: wanted one for each of 2 layers", two_gat,
		{{"gnnrun.heads", "2"}});
	expect_refused("gnnrun.concat=1,0,1: wanted one for each", two_gat,
		{{"gnnrun.concat", "1,0,1"}});
	expect_refused("tensor convs.1.bias is [5], wanted [15]", two_gat,
		{{"gnnrun.concat", "1,1"}});
	expect_refused("tensor convs.0.bias is [7], wanted [4]",
		check::join_layers({with(gat(6, 2, 4, 8), "bias", {7})}));
	// Without a bias the default holds: side by side on all but the last layer.
	const Layer bare = without(without(two_gat, "convs.0.bias"), "convs.1.bias");
	EXPECT_EQ(gnn_model_conv(load(bare).get(), 1)->dim_out, 5u);
	EXPECT_EQ(gnn_model_conv(load(bare, {}, {"concat=1,1"}).get(), 1)->dim_out, 15u);
	expect_refused("layer 1 takes 8 columns, layer 0 gives 4", bare, {}, {"concat=0,1"});
}

TEST_F(ModelTest, ResidualsMustFitWhatIsTold)
{
	const Layer with_weight = with(two_gat, "convs.0.res.weight", {8, 6});
	const Layer dgl = {{"layers.0.fc.weight", zeros({8, 6})},
		{"layers.0.attn_l", zeros({1, 2, 4})}, {"layers.0.attn_r", zeros({1, 2, 4})}};

	load(with_weight, {}, {"residual=1,0"});
	expect_refused("gnnrun.residual is 0 for layer 0, which has convs.0.res.weight",
		with_weight, {}, {"residual=0,0"});
	expect_refused("gnnrun.residual is 1 for layer 1, which has no weight of one", with_weight,
		{}, {"residual=1,1"});
	expect_refused("tensor convs.0.res.weight is [4, 6], wanted [8, 6]",
		with(two_gat, "convs.0.res.weight", {4, 6}));
	expect_refused("gnnrun.residual=1: wanted one for each of 2 layers", two_gat, {},
		{"residual=1"});
	load(dgl, {}, {"residual=0"});
	expect_refused("which has no weight of one and changes the width", dgl, {},
		{"residual=1"});
	expect_refused("layer 0 has layers.0.res_fc.bias but not its weight",
		with(dgl, "layers.0.res_fc.bias", {8}));
	expect_refused("is not supported for gcn of pyg", two_gcn, {}, {"residual=0,0"});
}

TEST_F(ModelTest, SlopesOfAttention)
{
	EXPECT_EQ(gnn_model_conv(load(two_gat, {}, {"negative_slope=-0.5"}).get(), 0)->slope,
		-0.5f);
	EXPECT_EQ(gnn_model_conv(load(two_gat, {}, {"negative_slope=0"}).get(), 0)->slope, 0.0f);
	EXPECT_EQ(gnn_model_conv(load(two_gat).get(), 0)->slope, 0.2f);
}

TEST_F(ModelTest, TheMlpClassUnderAnotherActivationMustBeTold)
{
	Layer w = {{"convs.0.eps", zeros({1})}, {"convs.0.nn.lins.0.weight", zeros({4, 6})},
		{"convs.0.nn.lins.1.weight", zeros({4, 4})}};

	load(w);
	load(w, {{"gnnrun.activation", "relu"}});
	expect_refused("must be told, in __metadata__ or by --model-set: gnnrun.mlp_activation=", w,
		{{"gnnrun.activation", "elu"}});
	load(w, {{"gnnrun.activation", "elu"}}, {"mlp_activation=elu"});
	load(check::join_layers({gin(6, 4)}), {{"gnnrun.activation", "elu"}});
}

TEST_F(ModelTest, MessageOrderFollowsTheDimsOrIsForced)
{
	const auto first = [&](const Layer &w, gnn_message_order order) {
		return gnn_model_conv(load(check::join_layers({w}), {}, {}, order).get(), 0)
			->transform_first;
	};

	for (const auto &make : {gcn, sage, gin}) {
		EXPECT_TRUE(first(make(6, 4), GNN_ORDER_AUTO));
		EXPECT_FALSE(first(make(6, 6), GNN_ORDER_AUTO));
		EXPECT_FALSE(first(make(4, 6), GNN_ORDER_AUTO));
		EXPECT_TRUE(first(make(4, 6), GNN_ORDER_TRANSFORM_FIRST));
		EXPECT_FALSE(first(make(6, 4), GNN_ORDER_AGGREGATE_FIRST));
	}
	EXPECT_TRUE(first(gat(4, 2, 8, 16), GNN_ORDER_AUTO));
	expect_refused("--message-order aggregate-first: layer 0 (gat) can only go transform-first",
		two_gat, {}, {}, GNN_ORDER_AGGREGATE_FIRST);
	expect_refused("layer 0 (sage) can only go aggregate-first",
		check::join_layers({sage(6, 4)}), {{"gnnrun.aggregator", "max"}}, {},
		GNN_ORDER_TRANSFORM_FIRST);
}

// An integer weight is bad data; an integer counter is not needed.
TEST_F(ModelTest, TypesOfTensors)
{
	const float w[8] = {}, ones[2] = {1, 1};
	const int64_t whole[2] = {};
	gnn_tensor_out t[] = {
		{"convs.0.eps", GNN_F32, 1, {1}, w},
		{"convs.0.nn.0.weight", GNN_F32, 2, {2, 3}, w},
		{"convs.0.nn.1.running_mean", GNN_F32, 1, {2}, w},
		{"convs.0.nn.1.running_var", GNN_F32, 1, {2}, ones},
		{"convs.0.nn.1.num_batches_tracked", GNN_I64, 0, {}, whole},
		{"convs.0.nn.1.weight", GNN_F32, 1, {2}, ones},
	};
	const gnn_tensors_out content = {t, 6, nullptr, 0};

	ASSERT_EQ(gnn_safetensors_write(file.path(), &content), GNN_OK);
	EXPECT_EQ(check::load_status(file.path()), GNN_OK) << gnn_err_text();
	t[5].dtype = GNN_I64;
	t[5].data = whole;
	ASSERT_EQ(gnn_safetensors_write(file.path(), &content), GNN_OK);
	EXPECT_EQ(check::load_status(file.path()), GNN_EDATA);
	std::ofstream(file.path()) << "not a model";
	EXPECT_EQ(check::load_status(file.path()), GNN_EDATA);
	EXPECT_EQ(check::load_status("/nonexistent/model.safetensors"), GNN_ENOENT);
}

TEST_F(ModelTest, FailingAllocationsAndReadsLeakNothing)
{
	for (const auto &[w, metadata] : std::vector<std::pair<Layer, Metadata>>{
		     {two_gcn, {}}, {two_gat, {}},
		     {check::join_layers({sage(6, 4), sage(4, 5)}), {}},
		     {check::join_layers({with(with(gin(6, 4), "nn.1.running_mean", {4}),
			     "nn.1.running_var", {4})}), {}}}) {
		check::write_tensors(file.path(), w, metadata);
		for (const std::string what : {"alloc:fail@", "read:eio@"}) {
			bool failed = true;
			for (int n = 1; failed && n < 500; n++) {
				struct gnn_mem_stats before, after;
				gnn_mem_stats(&before);
				ASSERT_EQ(gnn_fault_parse((what + std::to_string(n)).c_str()),
					GNN_OK);
				const int rc = check::load_status(file.path());
				gnn_fault_clear();
				gnn_mem_stats(&after);
				EXPECT_TRUE(rc == GNN_OK || rc == GNN_EOS || rc == GNN_EIO)
					<< rc << " " << gnn_err_text();
				EXPECT_EQ(before.block_count, after.block_count) << n;
				failed = rc != GNN_OK;
			}
			EXPECT_FALSE(failed);
		}
	}
}

} // namespace
