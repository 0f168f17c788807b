// The row functions of the instruction set in use, for callers that are compiled once: plain rows,
// tests and benchmarks. The fused kernels include rows/resolve-inl.h instead.
#pragma once

#include <cstddef>
#include <span>

#include "attention/rows/row.h"

namespace sharpmax {

// What ScoreRow::lanes must be a multiple of: floats in a vector.
std::size_t vector_lanes();

// As ResolveRow and BackwardRow in row.h.
void resolve_row(const RowTask& task, const RowWishes& wishes, const ScoreRow& row, RowWorkspace& workspace,
                 RowOutcome& outcome);
void backward_row(const RowTask& task, const ScoreRow& scores, const ScoreRow& d_weights,
                  RowWorkspace& workspace, std::span<double> d_parameters);

// exp(beta x) and ln(x) of every element, in place, as the rows compute them. Sizes are whole vectors.
void vector_exponential(std::span<float> values, double beta);
void vector_logarithm(std::span<float> values);
// c tanh(x / c) of every element, in place, and its slope.
void vector_soft_cap(std::span<float> values, std::span<float> slopes, double cap);

}  // namespace sharpmax
