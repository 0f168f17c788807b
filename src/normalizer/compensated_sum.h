// A sum whose rounding error does not grow with the number of terms (Neumaier's form of Kahan's).
//
// The specification is what the kernels are measured against, so over 10^6 keys it must not itself
// be wrong by 10^6 eps. Error: 2 eps relative to the sum, for terms of one sign.
#pragma once

#include <cmath>

namespace sharpmax {

class CompensatedSum {
 public:
  void add(double term) noexcept {
    const double next = sum_ + term;
    lost_ += std::abs(sum_) >= std::abs(term) ? (sum_ - next) + term : (term - next) + sum_;
    sum_ = next;
  }
  double value() const noexcept { return sum_ + lost_; }

 private:
  double sum_ = 0.0;
  double lost_ = 0.0;
};

}  // namespace sharpmax
