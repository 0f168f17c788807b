// A growing selection of the keys of one row: s = sum of y_i over the keys taken, y_i = c_i x_i, held only by
// its products with the x, which the Gram matrix gives. Taking a key and every question costs O(keys).
#pragma once

#include <cstdint>
#include <vector>

#include "audit/analysis/row_kernels.h"

namespace sharpmax::audit {

// The vectors x of the keys that a row sees, by their products. gram[i * stride + j] = x_i.x_j
struct GramView {
  const double* data = nullptr;
  std::int64_t keys = 0, stride = 0;

  const double* row(std::int64_t key) const { return data + key * stride; }
  double square(std::int64_t key) const { return data[key * stride + key]; }
};

class RowSelection {
 public:
  // `c`: [gram.keys], both outlive the selection. What was taken before is put back.
  void start(const GramView& gram, const double* c);
  void take(std::int64_t key);            // not taken yet
  double take_and_sum(std::int64_t key);  // distances() after it, in one sweep

  double square() const { return square_ < 0 ? 0.0 : square_; }            // |s|^2
  double distances() const { return sum_of_distances(parts(), square_); }  // sum over keys left of |s - y_i|
  double least_square_left() const { return least_square(parts(), square_); }  // least |s - y_i|^2 of them
  double square_to(std::int64_t key) const;                                    // |s - y_i|^2
  double own(std::int64_t key) const { return own_[static_cast<std::size_t>(key)]; }  // |y_i|^2
  const double* own() const { return own_.data(); }
  const double* left() const { return left_.data(); }

 private:
  void count_in(std::int64_t key);
  RowParts parts() const {
    return {gram_.keys, own_.data(), twice_.data(), projection_.data(), left_.data()};
  }

  GramView gram_;
  const double* c_ = nullptr;
  double square_ = 0.0;
  std::vector<double> own_, twice_, projection_, left_;
};

}  // namespace sharpmax::audit
