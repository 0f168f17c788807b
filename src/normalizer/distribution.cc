#include "normalizer/distribution.h"

#include <cmath>

namespace sharpmax {

Distribution distribution_of(std::span<const double> scores, std::span<const double> weights) {
  constexpr double kMasked = -std::numeric_limits<double>::infinity();
  Distribution d;
  bool any = false;
  for (const double w : weights) {
    d.mass += w;
    any |= w != 0.0;
  }
  if (!any) return d;
  if (std::isnan(d.mass)) {
    d.entropy = d.peak_weight = d.effective_support = d.mass;
    return d;
  }
  for (std::size_t j = 0; j < weights.size(); ++j) {
    const double p = weights[j] / d.mass;
    d.support += p > 0.0;
    if (scores[j] != kMasked && (d.peak == kNoKey || p > weights[d.peak] / d.mass)) d.peak = j;
  }
  const double top = weights[d.peak];
  double rest = 0.0;  // beside the peak: kept apart so that a sharp row keeps its digits
  for (std::size_t j = 0; j < weights.size(); ++j) {
    if (j == d.peak || weights[j] == 0.0) continue;
    const double p = weights[j] / d.mass;
    d.entropy -= p * std::log(p);
    rest += weights[j];
  }
  d.peak_weight = top / d.mass;
  d.entropy += d.peak_weight * std::log1p(rest / top);
  d.effective_support = std::exp(d.entropy);
  return d;
}

}  // namespace sharpmax
