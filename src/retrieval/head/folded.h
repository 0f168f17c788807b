// A head with its linear maps multiplied out, in double: what testing and certificates work with.
//
//   t(y) = T [h(y); 1]           [item_features + 1]: score = t . [g; 1], scale included
//   hidden = GELU(R [z; m] + b)  z = sum_i w_i g_i, m = sum_i w_i
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "retrieval/head/head.h"

namespace sharpmax::retrieval {

struct FoldedHead {
  explicit FoldedHead(const Head& head);

  Encoder encoder;
  std::int64_t width = 0;
  std::int64_t classes = 0;
  std::int64_t item_features = 0;   // mlp: width; linear: 1 + classes
  std::int64_t query_features = 0;  // mlp: width; linear: 1

  // mlp only. Feature j of an item of class c: GELU(item_slope[j] rho + item_offset[c, j]).
  std::vector<double> item_slope;    // [width]
  std::vector<double> item_offset;   // [classes, width]
  std::vector<double> query_slope;   // [width]
  std::vector<double> query_offset;  // [width]

  std::vector<double> score;        // T: [item_features + 1, query_features + 1]
  std::vector<double> hidden;       // R: [width, item_features + 1]
  std::vector<double> hidden_bias;  // [width]
  std::vector<double> out;          // [classes, width]
  std::vector<double> out_bias;     // [classes]

  std::vector<double> query_vector(double y) const;  // t(y)
  // Logits of z and m.
  void read_out(std::span<const double> pooled /*[item_features + 1]*/, std::span<double> logits) const;
};

double gelu(double x) noexcept;        // the tanh form
double gelu_slope(double x) noexcept;  // its derivative

}  // namespace sharpmax::retrieval
