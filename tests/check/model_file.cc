// Model files for tests; see model_file.h.
#include "check/model_file.h"

#include "io/safetensors.h"

#include <cstdlib>
#include <stdexcept>
#include <unistd.h>

namespace check {

TempFile::TempFile(const std::string &name)
{
	const char *folder = std::getenv("TMPDIR");

	path_ = std::string(folder != nullptr ? folder : "/tmp") + "/gnn_" +
		std::to_string(getpid()) + "_" + name;
}

TempFile::~TempFile()
{
	unlink(path_.c_str());
}

void write_tensors(const char *path, const Layer &tensors, const Metadata &metadata)
{
	std::vector<gnn_tensor_out> out;
	std::vector<gnn_tensor_text> texts;

	for (const auto &[name, tensor] : tensors) {
		gnn_tensor_out t = {};
		t.name = name.c_str();
		t.dtype = GNN_F32;
		t.rank = static_cast<uint32_t>(tensor.shape.size());
		for (uint32_t d = 0; d < t.rank; d++)
			t.shape[d] = tensor.shape[d];
		t.data = tensor.data.data();
		out.push_back(t);
	}
	for (const auto &[key, value] : metadata)
		texts.push_back({key.c_str(), value.c_str()});
	const gnn_tensors_out content = {out.data(), static_cast<uint32_t>(out.size()),
		texts.data(), static_cast<uint32_t>(texts.size())};
	if (gnn_safetensors_write(path, &content) != GNN_OK)
		throw std::runtime_error(gnn_err_text());
}

Layer join_layers(const std::vector<Layer> &layers)
{
	Layer all;

	for (size_t l = 0; l < layers.size(); l++)
		for (const auto &[ending, tensor] : layers[l])
			all["convs." + std::to_string(l) + "." + ending] = tensor;
	return all;
}

static int load(gnn_model **m, const char *path, const std::vector<const char *> &set,
	gnn_message_order order)
{
	const gnn_model_opts o = {path, set.data(), static_cast<uint32_t>(set.size()), order,
		false};

	return gnn_model_load(m, &o);
}

Model load_model(const char *path, gnn_message_order order, const std::vector<const char *> &set)
{
	gnn_model *m = nullptr;

	if (load(&m, path, set, order) != GNN_OK)
		throw std::runtime_error(gnn_err_text());
	return Model(m);
}

int load_status(const char *path, const std::vector<const char *> &set, gnn_message_order order)
{
	gnn_model *m = nullptr;
	const int rc = load(&m, path, set, order);

	gnn_model_destroy(m);
	return rc;
}

Matrix run_model(const gnn_model *m, const Graph &g, const Matrix &h)
{
	const gnn_jump *jump = gnn_model_jump(m);
	Matrix x = h, all;

	for (uint32_t l = 0; l < gnn_model_layers(m); l++) {
		x = run_conv(*gnn_model_conv(m, l), g, x);
		if (jump != nullptr)
			join_jump(*jump, *gnn_model_conv(m, l), x, all);
	}
	const std::vector<double> no_vec[GNN_ROW_VECTORS];
	return jump != nullptr ? run_program(jump->finish, all, no_vec) : x;
}

} // namespace check
