// Work on every item of a head with MLP encoders, in SIMD: scores in double, features in float.
//
// Rows of features are padded with slope 0 and offset 0, whose feature is 0, to whole vectors of the
// instruction set in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "retrieval/head/folded.h"

namespace sharpmax::retrieval {

// The first layer of the items' encoder, laid out for the kernels.
struct ItemLayer {
  explicit ItemLayer(const FoldedHead& head);  // of an mlp

  std::size_t stride = 0;      // width, padded
  std::vector<double> slope;   // [stride]
  std::vector<double> offset;  // [classes, stride]
};

struct Items {
  std::span<const double> priorities;
  std::span<const std::int32_t> classes;
};

// scores[i] = query . [g_i; 1], g_i the features of item i. query: [stride], padded with 0; its bias apart.
// Errs by rounding in double alone.
void score_items(const ItemLayer& layer, std::span<const double> query, double query_bias, Items items,
                 std::span<double> scores);

// Features of the items whose indices are given: [index, stride]. Arguments of GELU are computed in double,
// GELU in float.
void features_of_items(const ItemLayer& layer, Items items, std::span<const std::int64_t> indices,
                       std::span<float> features);

// out[i] = sum_k coefficients[k] T_k(2 x[i] - 1), by Clenshaw's recurrence. At least one coefficient.
void chebyshev_series(std::span<const double> coefficients, std::span<const double> x, std::span<double> out);

void gelu_in_place(std::span<double> values);  // any length

}  // namespace sharpmax::retrieval
