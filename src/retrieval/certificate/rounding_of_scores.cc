#include "retrieval/certificate/rounding_of_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "retrieval/head/folded.h"

namespace sharpmax::retrieval {

double rounding_of_scores(const Head& head) {
  // The same head with every weight made positive: its T bounds the sum of what is added up in any order of
  // the products, and |GELU(x)| <= |x| bounds the features.
  Head positive = head;
  for (double& value : positive.parameters) value = std::abs(value);
  const FoldedHead folded(positive);
  const auto largest_feature = [&](std::size_t j, const std::vector<double>& slope,
                                   const std::vector<double>& offset, std::size_t rows) {
    double largest = 0.0;
    for (std::size_t row = 0; row < rows; ++row)
      largest = std::max(largest, slope[j] + offset[row * slope.size() + j]);
    return largest;
  };
  const auto items = static_cast<std::size_t>(folded.item_features) + 1;
  const auto queries = static_cast<std::size_t>(folded.query_features) + 1;
  const bool mlp = folded.encoder == Encoder::mlp;
  double size = 0.0;
  for (std::size_t j = 0; j < items; ++j) {
    const bool feature = mlp && j + 1 < items;
    const double g = feature ? largest_feature(j, folded.item_slope, folded.item_offset,
                                               static_cast<std::size_t>(folded.classes))
                             : 1.0;
    for (std::size_t k = 0; k < queries; ++k) {
      const double h =
          mlp && k + 1 < queries ? largest_feature(k, folded.query_slope, folded.query_offset, 1) : 1.0;
      size += folded.score[j * queries + k] * g * h;
    }
  }
  // On the way to a score lie six products of matrices, each a sum of at most width + classes + 1 terms, and
  // two GELUs. Those err by a few units in the last place of the argument, which comes out multiplied by at
  // most 1 + |x| times 1.6: within 64 roundings for the arguments below 8 that are not yet saturated.
  const double roundings =
      6.0 * static_cast<double>(head.training.width + head.training.classes + 2) + 2.0 * 64.0;
  return roundings * std::numeric_limits<double>::epsilon() * size;
}

}  // namespace sharpmax::retrieval
