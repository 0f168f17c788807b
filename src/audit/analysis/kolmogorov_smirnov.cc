#include "audit/analysis/kolmogorov_smirnov.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "sharpmax/error.h"

namespace sharpmax::audit {

// Gnedenko and Korolyuk, by reflection of lattice paths: for samples of one size n, P(D >= k / n) =
// 2 sum over j >= 1 of (-1)^(j-1) C(2n, n - j k) / C(2n, n). Quotients of neighbours, so that nothing
// overflows.
double kolmogorov_smirnov_p(std::int64_t steps, std::int64_t size) {
  if (steps <= 0) return 1.0;
  double sum = 0.0, sign = 1.0, quotient = 1.0;
  std::int64_t done = 0;  // quotient is C(2n, n - done) / C(2n, n)
  for (std::int64_t away = steps; away <= size; away += steps, sign = -sign) {
    for (; done < away; ++done)
      quotient *= static_cast<double>(size - done) / static_cast<double>(size + done + 1);
    sum += sign * quotient;
  }
  return std::clamp(2.0 * sum, 0.0, 1.0);
}

KolmogorovSmirnov kolmogorov_smirnov(std::span<const double> first, std::span<const double> second) {
  if (first.empty() || first.size() != second.size())
    throw Error(
        ErrorCode::bad_argument,
        fmt::format("Kolmogorov-Smirnov test: samples of {} and {} values; both must have the same number, at "
                    "least one",
                    first.size(), second.size()));
  std::vector<double> a(first.begin(), first.end()), b(second.begin(), second.end());
  const auto is_nan = [](double x) { return std::isnan(x); };
  if (std::any_of(a.begin(), a.end(), is_nan) || std::any_of(b.begin(), b.end(), is_nan)) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, nan};
  }
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  std::int64_t steps = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const double value = std::min(a[i], b[j]);
    while (i < a.size() && a[i] == value) ++i;
    while (j < b.size() && b[j] == value) ++j;
    steps = std::max(steps, std::abs(static_cast<std::int64_t>(i) - static_cast<std::int64_t>(j)));
  }
  const auto size = static_cast<std::int64_t>(a.size());
  return {static_cast<double>(steps) / static_cast<double>(size), kolmogorov_smirnov_p(steps, size)};
}

}  // namespace sharpmax::audit
