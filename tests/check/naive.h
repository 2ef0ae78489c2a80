// Slow float64 forwards of the four convolutions, straight from raw tensors and an edge list.
// They share no code with the product: what the product computes is held against them.
#ifndef GNN_CHECK_NAIVE_H
#define GNN_CHECK_NAIVE_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace check {

struct Graph {
	uint64_t vertices = 0;
	std::vector<uint64_t> src, dst; // in the order of the input
};

struct Matrix {
	uint64_t rows = 0, cols = 0;
	std::vector<double> data;

	Matrix() = default;
	Matrix(uint64_t r, uint64_t c) : rows(r), cols(c), data(r * c) {}
	double *row(uint64_t r) { return data.data() + r * cols; }
	const double *row(uint64_t r) const { return data.data() + r * cols; }
};

struct Tensor {
	std::vector<uint64_t> shape;
	std::vector<float> data;
};

// The tensors of one layer by the endings of PyG's keys: "lin.weight", "att_src".
using Layer = std::map<std::string, Tensor>;

struct GatOptions {
	bool concat = true, self_loops = true;
	double slope = 0.2;
	bool bias_in_heads = false; // DGL: bias and residual belong to the heads that are averaged
	bool identity = false;      // the residual is h itself, without a weight
};

Matrix gcn(const Graph &g, const Matrix &h, const Layer &w, bool self_loops = true);
// DGL's GraphConv, weight (in, out); norm: "both", "right", "left", "none".
Matrix gcn_dgl(const Graph &g, const Matrix &h, const Layer &w, const std::string &norm);
// aggregator: "mean", "sum", "max", and DGL's "gcn": the mean over in-edges and the own row.
Matrix sage(const Graph &g, const Matrix &h, const Layer &w,
	const std::string &aggregator = "mean", bool normalize = false);
// MLP: nn.<even>.weight and bias with relu between, batch norm where nn.<i>.running_mean is.
Matrix gin(const Graph &g, const Matrix &h, const Layer &w);
// res.weight and res.bias: a linear residual.
Matrix gat(const Graph &g, const Matrix &h, const Layer &w, const GatOptions &o = {});
Matrix gatv2(const Graph &g, const Matrix &h, const Layer &w, const GatOptions &o = {});
void relu(Matrix &h);
void elu(Matrix &h);

// The largest absolute difference over the largest absolute value of `want`.
double difference(const Matrix &got, const Matrix &want);

// Edges of a random directed graph with duplicates, self-loops (some twice) and vertices without
// in-edges; features in [-1, 1).
Graph random_graph(uint64_t vertices, uint64_t edges, uint64_t seed);
Matrix random_matrix(uint64_t rows, uint64_t cols, uint64_t seed);
Tensor random_tensor(std::vector<uint64_t> shape, uint64_t seed);

} // namespace check

#endif
