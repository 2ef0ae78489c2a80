// Runs lowered convolutions in float64; see interpret.h.
#include "check/interpret.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace check {

namespace {

double activate(double x, const gnn_rowop &op)
{
	switch (op.act) {
	case GNN_ACT_RELU: return std::max(x, 0.0);
	case GNN_ACT_ELU: return x > 0 ? x : std::expm1(x);
	case GNN_ACT_LEAKY_RELU: return x > 0 ? x : x * op.slope;
	case GNN_ACT_TANH: return std::tanh(x);
	case GNN_ACT_NONE: return x;
	}
	throw std::logic_error("activation");
}

double dot(const float *a, const double *b, uint64_t count)
{
	double sum = 0;
	for (uint64_t i = 0; i < count; i++)
		sum += a[i] * b[i];
	return sum;
}

// One row through one operation; `factor` is the row's value of the vector that it names.
void step(const gnn_rowop &op, const double *x, double *y, double factor)
{
	const uint32_t in = op.dim_in, out = op.dim_out;
	const uint32_t body = (op.kind == GNN_ROW_DIVIDE ? out : in) - op.tail;
	const uint32_t channels = op.heads > 0 ? body / op.heads : 0;
	double norm = 0, mean = 0;

	for (uint32_t c = 0; c < in; c++) {
		norm += x[c] * x[c];
		mean += x[c] / in;
	}
	for (uint32_t c = 0; c < out; c++) {
		const bool inside = c >= op.first && c - op.first < op.count;
		switch (op.kind) {
		case GNN_ROW_DENSE:
			y[c] = dot(op.weight + uint64_t{c} * in, x, in) +
				(op.bias != nullptr ? op.bias[c] : 0.0);
			break;
		case GNN_ROW_BIAS: y[c] = x[c] + op.bias[c]; break;
		case GNN_ROW_AFFINE: y[c] = x[c] * op.scale[c] + op.shift[c]; break;
		case GNN_ROW_ACT: y[c] = activate(x[c], op); break;
		case GNN_ROW_SCALE: y[c] = inside ? x[c] * factor : x[c]; break;
		case GNN_ROW_EMPTY: y[c] = inside && factor == 0 ? 0.0 : x[c]; break;
		case GNN_ROW_DIVIDE:
			y[c] = c < body ? x[c] / (x[body + c / channels] + op.epsilon)
					: x[c + op.heads];
			break;
		case GNN_ROW_HEAD_MEAN:
			y[c] = c < channels ? 0 : x[c - channels + body];
			for (uint32_t k = 0; c < channels && k < op.heads; k++)
				y[c] += x[k * channels + c] / op.heads;
			break;
		case GNN_ROW_LAYERNORM:
			y[c] = (x[c] - mean) / std::sqrt(norm / in - mean * mean + op.epsilon);
			break;
		case GNN_ROW_STANDARD: y[c] = x[c]; break; // the caller's
		case GNN_ROW_ADD: y[c] = x[c] + x[out + c]; break;
		case GNN_ROW_SCORES: {
			const uint32_t k = c % op.heads;
			const float *att = c < op.heads ? op.weight : op.bias;
			y[c] = dot(att + k * channels, x + k * channels, channels);
			break;
		}
		case GNN_ROW_L2NORM:
			y[c] = x[c] / std::max(std::sqrt(norm), static_cast<double>(op.epsilon));
			break;
		}
	}
}

// The messages of v after the loop rule, own row excluded, in source order.
std::vector<std::vector<uint64_t>> messages_of(const gnn_conv &c, const Graph &g)
{
	std::vector<std::vector<uint64_t>> from(g.vertices);

	for (size_t e = 0; e < g.src.size(); e++)
		if (!c.drop_loops || g.src[e] != g.dst[e])
			from[g.dst[e]].push_back(g.src[e]);
	for (auto &list : from)
		std::sort(list.begin(), list.end());
	return from;
}

void softmax(const gnn_conv &c, const std::vector<uint64_t> &from, uint64_t v, const Matrix &z,
	const Matrix &scores, double *state)
{
	const uint32_t channels = c.width / c.heads;
	const uint64_t target = z.cols > c.width ? c.width : 0;
	const auto leaky = [&](double s) { return s < 0 ? s * c.slope : s; };
	const auto score_of = [&](uint64_t u, uint32_t k) {
		double score = 0;
		if (c.combine == GNN_COMBINE_SOFTMAX)
			return leaky(scores.row(u)[k] + scores.row(v)[c.heads + k]);
		for (uint32_t i = k * channels; i < (k + 1) * channels; i++)
			score += c.att[i] * leaky(z.row(u)[i] + z.row(v)[target + i]);
		return score;
	};

	for (uint32_t k = 0; k < c.heads; k++) {
		double most = -INFINITY;
		for (const uint64_t u : from)
			most = std::max(most, score_of(u, k));
		for (const uint64_t u : from) {
			const double w = std::exp(score_of(u, k) - most);
			state[c.width + k] += w;
			for (uint32_t i = k * channels; i < (k + 1) * channels; i++)
				state[i] += w * z.row(u)[i];
		}
	}
}

void combine(const gnn_conv &c, const std::vector<uint64_t> &from, uint64_t v, const Matrix &m,
	double *state)
{
	for (uint32_t i = 0; i < c.width; i++) {
		double value = c.combine == GNN_COMBINE_MAX ? -INFINITY : 0.0;
		for (const uint64_t u : from)
			value = c.combine == GNN_COMBINE_MAX ? std::max(value, m.row(u)[i])
							     : value + m.row(u)[i];
		if (c.own == GNN_OWN_MESSAGE)
			value += c.own_factor * m.row(v)[i];
		if (c.own == GNN_OWN_ROW)
			value += m.row(v)[c.width + i];
		state[i] = value;
	}
}

} // namespace

Matrix run_program(const gnn_rowprog &p, const Matrix &x,
	const std::vector<double> (&vec)[GNN_ROW_VECTORS])
{
	Matrix from = x;

	if (x.cols != p.dim_in)
		throw std::logic_error("a program of another width");
	for (uint32_t i = 0; i < p.count; i++) {
		const gnn_rowop &op = p.op[i];
		const std::vector<double> &factors = vec[op.vector];
		const bool scaled = op.kind == GNN_ROW_SCALE || op.kind == GNN_ROW_EMPTY;
		Matrix to(from.rows, op.dim_out);
		if (op.dim_in != from.cols || (scaled && factors.empty()))
			throw std::logic_error("an operation that does not fit");
		for (uint64_t r = 0; r < from.rows; r++)
			step(op, from.row(r), to.row(r), scaled ? factors[r] : 1.0);
		from = to;
	}
	if (from.cols != p.dim_out)
		throw std::logic_error("a program that ends in another width");
	return from;
}

Matrix run_conv(const gnn_conv &c, const Graph &g, const Matrix &h)
{
	std::vector<double> message_vec[GNN_ROW_VECTORS], finish_vec[GNN_ROW_VECTORS];
	const std::vector<double> no_vec[GNN_ROW_VECTORS];
	std::vector<uint64_t> in(g.vertices), out(g.vertices), loops(g.vertices);
	const auto factor = [&](gnn_norm norm, uint64_t v) {
		return gnn_norm_of(norm, &c, gnn_norm_is_out(norm) ? out[v] : in[v], loops[v]);
	};
	const auto from = messages_of(c, g);
	Matrix state(g.vertices, c.state_width), scores;

	for (size_t e = 0; e < g.src.size(); e++) {
		in[g.dst[e]]++;
		out[g.src[e]]++;
		loops[g.dst[e]] += g.src[e] == g.dst[e];
	}
	for (int k = 0; k < GNN_ROW_VECTORS; k++)
		for (uint64_t v = 0; v < g.vertices; v++) {
			if (c.message_vec[k] != GNN_NORM_NONE)
				message_vec[k].push_back(factor(c.message_vec[k], v));
			if (c.finish_vec[k] != GNN_NORM_NONE)
				finish_vec[k].push_back(factor(c.finish_vec[k], v));
		}
	const Matrix m = run_program(c.message, h, message_vec);
	if (c.combine == GNN_COMBINE_SOFTMAX)
		scores = run_program(c.scores, m, message_vec);
	const Matrix kept = c.keep.dim_out > 0 ? run_program(c.keep, h, no_vec) : Matrix(h.rows, 0);
	for (uint64_t v = 0; v < g.vertices; v++) {
		std::vector<uint64_t> sources = from[v];
		std::copy(kept.row(v), kept.row(v) + kept.cols,
			state.row(v) + c.state_width - kept.cols);
		if (!gnn_combine_is_softmax(c.combine)) {
			combine(c, sources, v, m, state.row(v));
			continue;
		}
		if (c.own == GNN_OWN_MESSAGE)
			sources.push_back(v);
		softmax(c, sources, v, m, scores, state.row(v));
	}
	const Matrix y = run_program(c.finish, state, finish_vec);
	if (c.after.count == 0)
		return y;
	gnn_rowprog after = c.after;
	double mean = 0, square = 0;
	for (const double x : y.data)
		mean += x / static_cast<double>(y.data.size());
	for (const double x : y.data)
		square += (x - mean) * (x - mean) / static_cast<double>(y.data.size());
	Matrix standard = y;
	for (double &x : standard.data)
		x = (x - mean) / (std::sqrt(square) + static_cast<double>(after.op[0].epsilon));
	return run_program(after, standard, no_vec);
}

void join_jump(const gnn_jump &j, const gnn_conv &c, const Matrix &h, Matrix &all)
{
	const std::vector<double> no_vec[GNN_ROW_VECTORS];
	const Matrix part = run_program(c.jump, h, no_vec);

	if (all.rows == 0) {
		all = Matrix(h.rows, j.width);
		std::fill(all.data.begin(), all.data.end(), j.how == GNN_MERGE_MAX ? -INFINITY : 0);
	}
	for (uint64_t r = 0; r < h.rows; r++)
		for (uint64_t k = 0; k < part.cols; k++) {
			double &to = all.row(r)[c.jump_first + k];
			to = j.how == GNN_MERGE_MAX ? std::max(to, part.row(r)[k])
						    : to + part.row(r)[k];
		}
}

} // namespace check
