#include "audit/measure/forecast.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "audit/measure/findings.h"
#include "base/numbers.h"

namespace sharpmax::audit {
namespace {

constexpr int kDampings = 21;

// Least squares of y against x over the points where both are finite; NaN for fewer than two.
template <class X, class Y>
double slope_of(std::size_t count, const X& x, const Y& y) {
  double n = 0, sum_x = 0, sum_y = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::isfinite(y(i))) continue;
    ++n;
    sum_x += x(i);
    sum_y += y(i);
  }
  double xx = 0, xy = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::isfinite(y(i))) continue;
    xx += (x(i) - sum_x / n) * (x(i) - sum_x / n);
    xy += (x(i) - sum_x / n) * (y(i) - sum_y / n);
  }
  return n < 2 || xx == 0 ? kNaN : xy / xx;
}

Curve first_of(std::span<const double> lengths, const std::vector<double>& values, std::size_t count) {
  return {lengths.first(count), std::span(values).first(count)};
}

// ln forecast - ln measured, of every head that has values there.
std::vector<double> misses(std::span<const double> lengths, std::span<const std::vector<double>> values,
                           std::size_t from, std::size_t to, double damping) {
  std::vector<double> off;
  for (const auto& head : values) {
    if (!(head[from] > 0) || !(head[to] > 0)) continue;
    off.push_back(std::abs(std::log(forecast(first_of(lengths, head, from + 1), lengths[to], damping)) -
                           std::log(head[to])));
  }
  return off;
}

}  // namespace

double power_slope(const Curve& curve) {
  const double slope = slope_of(
      curve.lengths.size(), [&](std::size_t i) { return std::log(curve.lengths[i]); },
      [&](std::size_t i) { return curve.values[i] > 0 ? std::log(curve.values[i]) : kNaN; });
  return std::isnan(slope) ? 0.0 : slope;
}

double log_slope(const Curve& curve) {
  return slope_of(
      curve.lengths.size(), [&](std::size_t i) { return std::log(curve.lengths[i]); },
      [&](std::size_t i) { return curve.values[i]; });
}

double forecast(const Curve& curve, double length, double damping) {
  for (std::size_t i = curve.lengths.size(); i-- > 0;) {
    if (!(curve.values[i] > 0)) continue;
    const double change = damping * power_slope(curve) * (std::log(length) - std::log(curve.lengths[i]));
    return std::min(1.0, curve.values[i] * std::exp(change));  // of weights: no more than all
  }
  return kNaN;
}

double choose_damping(std::span<const double> lengths, std::span<const std::vector<double>> values) {
  double best = 0, least = std::numeric_limits<double>::infinity();
  for (int step = 0; step < kDampings; ++step) {
    const double damping = static_cast<double>(step) / (kDampings - 1);
    double sum = 0;
    bool any = false;
    for (std::size_t from = 1; from + 1 < lengths.size(); ++from) {  // a slope takes two lengths
      for (std::size_t to = from + 1; to < lengths.size(); ++to) {
        if (lengths[to] < 2 * lengths[from]) continue;
        std::vector<double> off = misses(lengths, values, from, to, damping);
        if (off.empty()) continue;
        any = true;
        sum += quantile(off, 0.5);
      }
    }
    if (any && sum < least) {
      least = sum;
      best = damping;
    }
  }
  return best;
}

ForecastErrors check_forecast(std::span<const double> lengths, std::span<const std::vector<double>> values,
                              std::size_t from, std::size_t to) {
  ForecastErrors errors{.from = static_cast<std::int64_t>(lengths[from]),
                        .to = static_cast<std::int64_t>(lengths[to])};
  std::vector<std::vector<double>> known;
  for (const auto& head : values)
    known.emplace_back(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(from + 1));
  errors.damping = choose_damping(lengths.first(from + 1), known);
  const auto fill = [&](double damping, double& median, double& high) {
    std::vector<double> off = misses(lengths, values, from, to, damping);
    errors.heads = static_cast<std::int64_t>(off.size());
    median = std::exp(quantile(off, 0.5));
    high = std::exp(quantile(off, 0.9));
  };
  fill(errors.damping, errors.ours, errors.ours_90);
  fill(0.0, errors.no_change, errors.no_change_90);
  fill(1.0, errors.power_law, errors.power_law_90);
  return errors;
}

}  // namespace sharpmax::audit
