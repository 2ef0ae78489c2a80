// Model files for tests: layers written as safetensors, loaded, run by the interpreter.
#ifndef GNN_CHECK_MODEL_FILE_H
#define GNN_CHECK_MODEL_FILE_H

#include "check/interpret.h"
#include "layer/model.h"

#include <memory>

namespace check {

using Metadata = std::map<std::string, std::string>;

// A path in the test's temporary folder, removed at the end.
class TempFile {
public:
	explicit TempFile(const std::string &name);
	~TempFile();
	TempFile(const TempFile &) = delete;
	TempFile &operator=(const TempFile &) = delete;
	const char *path() const { return path_.c_str(); }

private:
	std::string path_;
};

// Whole keys and their tensors as a safetensors file.
void write_tensors(const char *path, const Layer &tensors, const Metadata &metadata = {});
// Layer l under "convs.l.".
Layer join_layers(const std::vector<Layer> &layers);

struct Destroy {
	void operator()(gnn_model *m) const { gnn_model_destroy(m); }
};
using Model = std::unique_ptr<gnn_model, Destroy>;

// Throws with the error text when it does not load.
Model load_model(const char *path, gnn_message_order order = GNN_ORDER_AUTO,
	const std::vector<const char *> &set = {});
// The status of loading, 0 when it loads.
int load_status(const char *path, const std::vector<const char *> &set = {},
	gnn_message_order order = GNN_ORDER_AUTO);
Matrix run_model(const gnn_model *m, const Graph &g, const Matrix &h);

} // namespace check

#endif
