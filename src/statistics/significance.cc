#include "statistics/significance.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "sharpmax/error.h"

namespace sharpmax {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Of the mean; exactly 0 when all values are equal, whatever the mean's rounding.
double standard_error(std::span<const double> values) {
  if (std::all_of(values.begin(), values.end(), [&](double v) { return v == values[0]; })) return 0.0;
  const double mean = mean_of(values), n = static_cast<double>(values.size());
  double squares = 0.0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (n - 1.0) / n);
}

void check(double confidence) {
  if (!(confidence > 0.0 && confidence < 1.0))
    throw Error(ErrorCode::bad_argument,
                fmt::format("retrieve: confidence is {}; it must be in (0, 1)", confidence));
}

bool all_finite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

}  // namespace

Interval median_interval(std::span<const double> values, double confidence) {
  check(confidence);
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const auto count = static_cast<std::int64_t>(sorted.size());
  // The median lies below the (k + 1)th of them when k or fewer fall on its lower side.
  std::int64_t out = 0;  // how many are left out at either end
  if (count > 0) {
    const boost::math::binomial side(static_cast<double>(count), 0.5);
    while (2 * (out + 1) < count &&
           boost::math::cdf(side, static_cast<double>(out)) <= (1.0 - confidence) / 2.0)
      ++out;
  }
  if (out == 0) return {kUnknown, kUnknown};
  return {sorted[static_cast<std::size_t>(out - 1)], sorted[static_cast<std::size_t>(count - out)]};
}

double mean_of(std::span<const double> values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

Interval share_interval(std::int64_t right, std::int64_t sets, double confidence) {
  check(confidence);
  if (sets < 1) return {kUnknown, kUnknown};
  const double z = boost::math::quantile(boost::math::normal(), 0.5 + 0.5 * confidence);
  const double n = static_cast<double>(sets), share = static_cast<double>(right) / n;
  const double centre = share + z * z / (2.0 * n);
  const double half = z * std::sqrt(share * (1.0 - share) / n + z * z / (4.0 * n * n));
  const double scale = 1.0 + z * z / n;
  return {right == 0 ? 0.0 : (centre - half) / scale, right == sets ? 1.0 : (centre + half) / scale};
}

Interval mean_interval(std::span<const double> values, double confidence) {
  check(confidence);
  if (values.size() < 2 || !all_finite(values)) return {kUnknown, kUnknown};
  const boost::math::students_t student(static_cast<double>(values.size() - 1));
  const double half = boost::math::quantile(student, 0.5 + 0.5 * confidence) * standard_error(values);
  const double mean = mean_of(values);
  return {mean - half, mean + half};
}

PairedTest paired_t_test(std::span<const double> first, std::span<const double> second) {
  if (first.size() != second.size())
    throw Error(ErrorCode::bad_argument,
                fmt::format("retrieve: {} values are to be paired with {}; there must be as many of either",
                            first.size(), second.size()));
  std::vector<double> differences;
  for (std::size_t i = 0; i < first.size(); ++i) differences.push_back(second[i] - first[i]);
  PairedTest test{.pairs = static_cast<std::int64_t>(first.size()),
                  .difference = mean_of(differences),
                  .t = kUnknown,
                  .p = kUnknown};
  if (differences.size() < 2 || !all_finite(differences)) return test;
  const double error = standard_error(differences);
  if (error == 0.0) return test;
  test.t = test.difference / error;
  const boost::math::students_t student(static_cast<double>(differences.size() - 1));
  test.p = 2.0 * boost::math::cdf(boost::math::complement(student, std::abs(test.t)));
  return test;
}

double sign_test(std::int64_t up, std::int64_t down) {
  if (up == down) return 1.0;  // none included
  const boost::math::binomial coin(static_cast<double>(up + down), 0.5);
  return std::min(1.0, 2.0 * boost::math::cdf(coin, static_cast<double>(std::min(up, down))));
}

}  // namespace sharpmax
