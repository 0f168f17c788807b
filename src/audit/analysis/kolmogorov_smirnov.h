// The two-sample Kolmogorov-Smirnov test, for samples of one size.
#pragma once

#include <cstdint>
#include <span>

namespace sharpmax::audit {

struct KolmogorovSmirnov {
  double statistic = 0.0;  // the largest difference of the two empirical distribution functions
  double p = 1.0;  // two-sided, exact: the chance of at least this statistic if both are of one distribution
};

// As many of either, at least one. Equal values are taken together, which makes p an upper bound. NaN in, NaN
// out.
KolmogorovSmirnov kolmogorov_smirnov(std::span<const double> first, std::span<const double> second);

// p where the statistic is steps / size.
double kolmogorov_smirnov_p(std::int64_t steps, std::int64_t size);

}  // namespace sharpmax::audit
