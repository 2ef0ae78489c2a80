// Reference cases computed by PyG: every model whose "needs" list is empty is understood, and
// where graph and features lie beside it, its layers give the expected output.
#include "base/json.h"
#include "check/model_file.h"

#include <cJSON.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

namespace {

namespace fs = std::filesystem;

fs::path cases_folder()
{
	const char *told = std::getenv("GNN_SHARED");
	const fs::path beside = GNN_SOURCE_DIR "/../shared";

	return (told != nullptr && *told != '\0' ? fs::path(told) : beside) / "cases";
}

std::string slurp(const fs::path &path)
{
	std::ifstream in(path, std::ios::binary);
	return {std::istreambuf_iterator<char>(in), {}};
}

struct Case {
	fs::path folder;
	std::set<std::string> needs;
	bool graph_inside;
	double limit;
};

std::vector<Case> all_cases()
{
	std::vector<Case> cases;

	for (const auto &entry : fs::directory_iterator(cases_folder())) {
		if (!fs::exists(entry.path() / "case.json"))
			continue;
		cJSON *json = cJSON_Parse(slurp(entry.path() / "case.json").c_str());
		Case c{entry.path(), {}, cJSON_IsNull(cJSON_GetObjectItem(json, "graph")) != 0,
			cJSON_GetObjectItem(json, "pyg_f32_rel_err")->valuedouble};
		const cJSON *need;
		cJSON_ArrayForEach(need, cJSON_GetObjectItem(json, "needs"))
			c.needs.insert(need->valuestring);
		cJSON_Delete(json);
		cases.push_back(c);
	}
	return cases;
}

// A C-order npy of float32 or int64; what else there is in the cases is not read here.
template <typename T>
std::vector<T> read_npy(const fs::path &path, const char *type)
{
	const std::string text = slurp(path);
	const size_t data = 10 + static_cast<unsigned char>(text[8]) +
		256u * static_cast<unsigned char>(text[9]);
	EXPECT_NE(text.substr(0, data).find(type), std::string::npos) << path;
	std::vector<T> values((text.size() - data) / sizeof(T));
	if (!values.empty())
		memcpy(values.data(), text.data() + data, values.size() * sizeof(T));
	return values;
}

check::Matrix read_matrix(const fs::path &path, uint64_t rows)
{
	const std::vector<float> values = read_npy<float>(path, "<f4");
	check::Matrix m(rows, values.size() / rows);

	std::copy(values.begin(), values.end(), m.data.begin());
	return m;
}

struct ModelCases : ::testing::Test {
	void SetUp() override
	{
		gnn_json_use_budget();
		if (!fs::is_directory(cases_folder()))
			GTEST_SKIP() << "no reference cases at " << cases_folder();
	}
};

TEST_F(ModelCases, EveryCaseWithoutNeedsIsUnderstood)
{
	int seen = 0;

	for (const Case &c : all_cases()) {
		const std::string path = c.folder / "model.safetensors";
		if (!c.needs.empty())
			continue;
		EXPECT_EQ(check::load_status(path.c_str()), GNN_OK) << gnn_err_text();
		seen++;
	}
	EXPECT_GE(seen, 9);
}

// A need that is not met is refused, never answered with something else.
TEST_F(ModelCases, CasesWithNeedsAreUnderstoodOrRefused)
{
	const std::set<std::string> met = {"aggregator", "dgl", "gatv2", "graphconv",
		"jk", "norm", "weights"};

	for (const Case &c : all_cases()) {
		const std::string path = c.folder / "model.safetensors";
		const int rc = check::load_status(path.c_str());
		bool all_met = true;
		for (const std::string &need : c.needs)
			all_met &= met.count(need) > 0;
		EXPECT_EQ(rc, all_met ? GNN_OK : GNN_ECONFIG) << path << ": " << gnn_err_text();
	}
}

TEST_F(ModelCases, LayersGiveTheExpectedOutput)
{
	int seen = 0;

	for (const Case &c : all_cases()) {
		if (!c.graph_inside || c.needs.count("weights") > 0)
			continue;
		SCOPED_TRACE(c.folder.string());
		const std::string path = c.folder / "model.safetensors";
		const check::Model m = check::load_model(path.c_str());
		const auto edges = read_npy<int64_t>(c.folder / "edges.npy", "<i8");
		const uint64_t dim_in = gnn_model_conv(m.get(), 0)->dim_in;
		const uint64_t vertices =
			read_npy<float>(c.folder / "feat.npy", "<f4").size() / dim_in;
		check::Graph g{vertices, {}, {}};
		g.src.assign(edges.begin(), edges.begin() + static_cast<long>(edges.size() / 2));
		g.dst.assign(edges.begin() + static_cast<long>(edges.size() / 2), edges.end());
		const check::Matrix got = check::run_model(m.get(), g,
			read_matrix(c.folder / "feat.npy", vertices));
		const check::Matrix want = read_matrix(c.folder / "expected.npy", vertices);
		EXPECT_LT(check::difference(got, want), std::max(4 * c.limit, 1e-6));
		seen++;
	}
	EXPECT_GE(seen, 6);
}

} // namespace
