// One head as two affine maps of unit-size inputs: what a bound over all inputs needs to know of it.
//
// A norm gives g * u (+ shift) with |u| <= sqrt(width), whatever the input. Its weights fold into the
// projections: query = Q u + q0, key = K v + k0; the score of a key at offset t is
//   scale (Q u + q0) . R_t (K v + k0),
// where R_t turns each rotation pair by its angle, and leaves the features past the pairs alone.
#pragma once

#include <cstdint>
#include <vector>

#include "model/transformer/model.h"

namespace sharpmax::audit {

inline constexpr double kFloat = 0x1p-24, kHalf = 0x1p-11;  // one rounding to float32, to float16

struct FoldedSide {
  std::vector<double> matrix;  // [feature, width]
  std::vector<double> offset;  // [feature]
  // [feature]: how far what the forward pass computes in float may be from Q u + q0, at most, for any input.
  std::vector<double> rounding;
  double storage_error = 0.0;  // what a cache in float16 may add to that, relative to the feature itself
};

struct FoldedHead {
  std::int64_t width = 0, features = 0;
  std::int64_t pairs = 0;  // features 2 p and 2 p + 1 are turned together, p < pairs; the rest are not
  double radius = 0.0;     // |u| <= radius
  double scale = 0.0;      // not negative
  double cap = 0.0;        // scores become cap tanh(score / cap); 0: none
  double dot_error = 0.0;  // of q . k in float, relative to the sum of |q_i k_i|
  FoldedSide query, key;
};

// Of a model whose queries and keys are not normalized. Error{bad_file} where the head's weights hold NaN or
// infinities.
FoldedHead fold_head(const model::Model& model, std::int64_t layer, std::int64_t head);

}  // namespace sharpmax::audit
