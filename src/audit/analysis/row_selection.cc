#include "audit/analysis/row_selection.h"

#include <algorithm>

namespace sharpmax::audit {

void RowSelection::start(const GramView& gram, const double* c) {
  gram_ = gram;
  c_ = c;
  square_ = 0.0;
  const auto keys = static_cast<std::size_t>(gram.keys);
  own_.resize(keys);
  twice_.resize(keys);
  projection_.assign(keys, 0.0);
  left_.assign(keys, 1.0);
  for (std::size_t i = 0; i < keys; ++i) {
    own_[i] = c[i] * c[i] * gram.square(static_cast<std::int64_t>(i));
    twice_[i] = 2.0 * c[i];
  }
}

// |s|^2 and what is left, before s itself grows.
void RowSelection::count_in(std::int64_t key) {
  const auto at = static_cast<std::size_t>(key);
  square_ += twice_[at] * projection_[at] + own_[at];
  left_[at] = 0.0;
}

void RowSelection::take(std::int64_t key) {
  count_in(key);
  add_key(c_[key], gram_.row(key), gram_.keys, projection_.data());
}

double RowSelection::take_and_sum(std::int64_t key) {
  count_in(key);
  return add_key_and_sum(c_[key], gram_.row(key), parts(), square_, projection_.data());
}

double RowSelection::square_to(std::int64_t key) const {
  const auto at = static_cast<std::size_t>(key);
  const double square = square_ + (own_[at] - twice_[at] * projection_[at]);
  return square < 0 ? 0.0 : square;
}

}  // namespace sharpmax::audit
