// Runs a lowered convolution over a whole graph in float64, by what conv.h and rowprog.h say and
// nothing else: shows whether a lowering means what it should, apart from any backend.
#ifndef GNN_CHECK_INTERPRET_H
#define GNN_CHECK_INTERPRET_H

#include "check/naive.h"
#include "layer/conv.h"

namespace check {

Matrix run_program(const gnn_rowprog &p, const Matrix &x,
	const std::vector<double> (&vec)[GNN_ROW_VECTORS]);
Matrix run_conv(const gnn_conv &c, const Graph &g, const Matrix &h);
// `all` becomes what the rows of a layer make of it; `first` layers find it empty.
void join_jump(const gnn_jump &j, const gnn_conv &c, const Matrix &h, Matrix &all);

} // namespace check

#endif
