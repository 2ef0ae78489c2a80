// Slow float64 forwards of the four convolutions; see naive.h.
#include "check/naive.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace check {

namespace {

const Tensor *find(const Layer &w, const std::string &key)
{
	const auto at = w.find(key);
	return at == w.end() ? nullptr : &at->second;
}

// x W^T (+ b), W (out, in).
Matrix linear(const Matrix &x, const Tensor &w, const Tensor *bias)
{
	Matrix y(x.rows, w.shape[0]);

	for (uint64_t r = 0; r < x.rows; r++)
		for (uint64_t o = 0; o < y.cols; o++) {
			double sum = bias != nullptr ? bias->data[o] : 0.0;
			for (uint64_t i = 0; i < x.cols; i++)
				sum += x.row(r)[i] * w.data[o * x.cols + i];
			y.row(r)[o] = sum;
		}
	return y;
}

void add_bias(Matrix &y, const Tensor *bias)
{
	for (uint64_t r = 0; bias != nullptr && r < y.rows; r++)
		for (uint64_t c = 0; c < y.cols; c++)
			y.row(r)[c] += bias->data[c];
}

// PyG's rule: listed self-loops go, every vertex gets one.
Graph with_loops(const Graph &g)
{
	Graph out;

	out.vertices = g.vertices;
	for (size_t e = 0; e < g.src.size(); e++)
		if (g.src[e] != g.dst[e]) {
			out.src.push_back(g.src[e]);
			out.dst.push_back(g.dst[e]);
		}
	for (uint64_t v = 0; v < g.vertices; v++) {
		out.src.push_back(v);
		out.dst.push_back(v);
	}
	return out;
}

std::vector<double> in_degrees(const Graph &g)
{
	std::vector<double> degree(g.vertices);

	for (const uint64_t v : g.dst)
		degree[v] += 1;
	return degree;
}

} // namespace

Matrix gcn(const Graph &listed, const Matrix &h, const Layer &w, bool self_loops)
{
	const Graph g = self_loops ? with_loops(listed) : listed;
	const std::vector<double> degree = in_degrees(g);
	const Matrix z = linear(h, w.at("lin.weight"), nullptr);
	Matrix y(z.rows, z.cols);

	for (size_t e = 0; e < g.src.size(); e++) {
		const double product = degree[g.src[e]] * degree[g.dst[e]];
		for (uint64_t c = 0; product > 0 && c < y.cols; c++)
			y.row(g.dst[e])[c] += z.row(g.src[e])[c] / std::sqrt(product);
	}
	add_bias(y, find(w, "bias"));
	return y;
}

Matrix gcn_dgl(const Graph &g, const Matrix &h, const Layer &w, const std::string &norm)
{
	const Tensor &weight = w.at("weight");
	const std::vector<double> in = in_degrees(g), out = in_degrees({g.vertices, g.dst, g.src});
	Matrix y(h.rows, weight.shape[1]);

	for (size_t e = 0; e < g.src.size(); e++) {
		const double at_src = out[g.src[e]], at_dst = in[g.dst[e]];
		const double by = norm == "both" ? std::sqrt(at_src * at_dst) :
			norm == "right" ? at_dst : norm == "left" ? at_src : 1.0;
		for (uint64_t i = 0; i < h.cols; i++)
			for (uint64_t o = 0; o < y.cols; o++)
				y.row(g.dst[e])[o] +=
					h.row(g.src[e])[i] * weight.data[i * y.cols + o] / by;
	}
	add_bias(y, find(w, "bias"));
	return y;
}

Matrix sage(const Graph &g, const Matrix &h, const Layer &w, const std::string &aggregator,
	bool normalize)
{
	const std::vector<double> degree = in_degrees(g);
	Matrix x = h;
	const auto divisor = [&](double in) {
		return aggregator == "mean" ? in : aggregator == "gcn" ? in + 1 : 1.0;
	};

	if (find(w, "lin.weight") != nullptr) {
		x = linear(h, w.at("lin.weight"), find(w, "lin.bias"));
		relu(x);
	}
	Matrix sum(x.rows, x.cols);
	std::vector<bool> seen(x.rows);
	for (uint64_t v = 0; aggregator == "gcn" && v < g.vertices; v++)
		for (uint64_t c = 0; c < x.cols; c++)
			sum.row(v)[c] = x.row(v)[c] / (degree[v] + 1);
	for (size_t e = 0; e < g.src.size(); e++) {
		const double *from = x.row(g.src[e]);
		double *to = sum.row(g.dst[e]);
		for (uint64_t c = 0; c < x.cols; c++)
			if (aggregator == "max")
				to[c] = seen[g.dst[e]] ? std::max(to[c], from[c]) : from[c];
			else
				to[c] += from[c] / divisor(degree[g.dst[e]]);
		seen[g.dst[e]] = true;
	}
	Matrix y = linear(sum, w.at("lin_l.weight"), find(w, "lin_l.bias"));
	if (find(w, "lin_r.weight") != nullptr) {
		const Matrix own = linear(h, w.at("lin_r.weight"), nullptr);
		for (size_t i = 0; i < y.data.size(); i++)
			y.data[i] += own.data[i];
	}
	for (uint64_t r = 0; normalize && r < y.rows; r++) {
		double norm = 0;
		for (uint64_t c = 0; c < y.cols; c++)
			norm += y.row(r)[c] * y.row(r)[c];
		norm = std::max(std::sqrt(norm), 1e-12);
		for (uint64_t c = 0; c < y.cols; c++)
			y.row(r)[c] /= norm;
	}
	return y;
}

Matrix gin(const Graph &g, const Matrix &h, const Layer &w)
{
	Matrix x = h;
	bool first = true;

	for (double &value : x.data)
		value *= 1.0 + w.at("eps").data[0];
	for (size_t e = 0; e < g.src.size(); e++)
		for (uint64_t c = 0; c < x.cols; c++)
			x.row(g.dst[e])[c] += h.row(g.src[e])[c];
	for (int place = 0; place < 32; place++) {
		const std::string at = "nn." + std::to_string(place) + ".";
		const Tensor *weight = find(w, at + "weight"), *mean = find(w, at + "running_mean");
		const Tensor *bias = find(w, at + "bias");
		if (mean != nullptr) {
			const Tensor &var = w.at(at + "running_var");
			for (uint64_t r = 0; r < x.rows; r++)
				for (uint64_t c = 0; c < x.cols; c++)
					x.row(r)[c] = (x.row(r)[c] - mean->data[c]) /
						std::sqrt(var.data[c] + 1e-5) *
						(weight != nullptr ? weight->data[c] : 1.0) +
						(bias != nullptr ? bias->data[c] : 0.0);
		} else if (weight != nullptr) {
			if (!first)
				relu(x);
			x = linear(x, *weight, bias);
			first = false;
		}
	}
	return x;
}

namespace {

// Per head the sums of z weighted by the softmax of score(u, v, head) over in-edges, then what
// stands behind it.
template <typename Score>
Matrix attend(const Graph &listed, const Matrix &h, const Matrix &z, uint64_t heads, const Layer &w,
	const GatOptions &o, Score score_of)
{
	const Graph g = o.self_loops ? with_loops(listed) : listed;
	const uint64_t channels = z.cols / heads;
	const Matrix residual = o.identity ? h : find(w, "res.weight") != nullptr ?
		linear(h, w.at("res.weight"), find(w, "res.bias")) : Matrix();
	Matrix sum(z.rows, z.cols);

	for (uint64_t k = 0; k < heads; k++) {
		std::vector<double> score(g.src.size()), most(g.vertices, -INFINITY);
		std::vector<double> total(g.vertices);
		for (size_t e = 0; e < g.src.size(); e++) {
			score[e] = score_of(g.src[e], g.dst[e], k);
			most[g.dst[e]] = std::max(most[g.dst[e]], score[e]);
		}
		for (size_t e = 0; e < g.src.size(); e++)
			total[g.dst[e]] += std::exp(score[e] - most[g.dst[e]]);
		for (size_t e = 0; e < g.src.size(); e++)
			for (uint64_t c = k * channels; c < (k + 1) * channels; c++)
				sum.row(g.dst[e])[c] += z.row(g.src[e])[c] *
					std::exp(score[e] - most[g.dst[e]]) / total[g.dst[e]];
	}
	const auto add_rest = [&](Matrix &y) {
		for (size_t i = 0; i < residual.data.size(); i++)
			y.data[i] += residual.data[i];
		add_bias(y, find(w, "bias"));
	};
	if (o.concat || o.bias_in_heads)
		add_rest(sum);
	if (o.concat)
		return sum;
	Matrix y(z.rows, channels);
	for (uint64_t r = 0; r < y.rows; r++)
		for (uint64_t c = 0; c < z.cols; c++)
			y.row(r)[c % channels] += sum.row(r)[c] / double(heads);
	if (!o.bias_in_heads)
		add_rest(y);
	return y;
}

} // namespace

Matrix gat(const Graph &g, const Matrix &h, const Layer &w, const GatOptions &o)
{
	const Tensor &src = w.at("att_src"), &dst = w.at("att_dst");
	const uint64_t heads = src.shape[1], channels = src.shape[2];
	const Matrix z = linear(h, w.at("lin.weight"), nullptr);

	return attend(g, h, z, heads, w, o, [&](uint64_t u, uint64_t v, uint64_t k) {
		double score = 0;
		for (uint64_t c = k * channels; c < (k + 1) * channels; c++)
			score += z.row(u)[c] * src.data[c] + z.row(v)[c] * dst.data[c];
		return score < 0 ? score * o.slope : score;
	});
}

Matrix gatv2(const Graph &g, const Matrix &h, const Layer &w, const GatOptions &o)
{
	const Tensor &att = w.at("att");
	const uint64_t heads = att.shape[1], channels = att.shape[2];
	const Matrix left = linear(h, w.at("lin_l.weight"), find(w, "lin_l.bias"));
	const Matrix right = linear(h, w.at("lin_r.weight"), find(w, "lin_r.bias"));

	return attend(g, h, left, heads, w, o, [&](uint64_t u, uint64_t v, uint64_t k) {
		double score = 0;
		for (uint64_t c = k * channels; c < (k + 1) * channels; c++) {
			const double x = left.row(u)[c] + right.row(v)[c];
			score += att.data[c] * (x < 0 ? x * o.slope : x);
		}
		return score;
	});
}

void relu(Matrix &h)
{
	for (double &value : h.data)
		value = std::max(value, 0.0);
}

void elu(Matrix &h)
{
	for (double &value : h.data)
		value = value > 0 ? value : std::expm1(value);
}

double difference(const Matrix &got, const Matrix &want)
{
	double most = 0, scale = 0;

	if (got.rows != want.rows || got.cols != want.cols)
		return INFINITY;
	for (size_t i = 0; i < want.data.size(); i++) {
		const double d = std::fabs(got.data[i] - want.data[i]);
		most = std::isnan(d) ? INFINITY : std::max(most, d);
		scale = std::max(scale, std::fabs(want.data[i]));
	}
	return scale > 0 ? most / scale : most;
}

Graph random_graph(uint64_t vertices, uint64_t edges, uint64_t seed)
{
	std::mt19937_64 random(seed);
	Graph g;

	g.vertices = vertices;
	for (uint64_t e = 0; e < edges; e++) {
		const uint64_t v = random() % vertices;
		g.src.push_back(e % 9 == 0 ? v : random() % vertices);
		g.dst.push_back(v % 5 == 4 ? v / 2 : v);
	}
	for (uint64_t e = 0; e < edges / 10; e++) { // some edges a second time
		const size_t again = random() % edges;
		g.src.push_back(g.src[again]);
		g.dst.push_back(g.dst[again]);
	}
	return g;
}

Tensor random_tensor(std::vector<uint64_t> shape, uint64_t seed)
{
	std::mt19937_64 random(seed);
	Tensor t{std::move(shape), {}};
	uint64_t count = 1;

	for (const uint64_t side : t.shape)
		count *= side;
	for (uint64_t i = 0; i < count; i++)
		t.data.push_back(static_cast<float>(
			static_cast<double>(random() >> 40) * 0x1p-23 - 1.0));
	return t;
}

Matrix random_matrix(uint64_t rows, uint64_t cols, uint64_t seed)
{
	const Tensor t = random_tensor({rows, cols}, seed);
	Matrix m(rows, cols);

	std::copy(t.data.begin(), t.data.end(), m.data.begin());
	return m;
}

} // namespace check
