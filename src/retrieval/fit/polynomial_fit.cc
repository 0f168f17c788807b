#include "retrieval/fit/temperature_fit.h"

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "sharpmax/error.h"

// LAPACK's, which OpenBLAS brings along without a header; the last argument is the length of `trans`.
extern "C" void dgels_(const char* trans, const blasint* m, const blasint* n, const blasint* columns,
                       double* a, const blasint* lda, double* b, const blasint* ldb, double* work,
                       const blasint* lwork, blasint* info, std::size_t trans_length);

namespace sharpmax::retrieval {
namespace {

// Minimises |a x - b|: a is [rows, columns] with columns contiguous; overwrites both; x is b's beginning.
// False if a has not full rank.
bool solve_least_squares(std::vector<double>& a, std::vector<double>& b, std::size_t columns) {
  const auto rows = static_cast<blasint>(b.size()), wide = static_cast<blasint>(columns), one = blasint{1};
  blasint info = 0, size = -1;
  double wanted = 0.0;
  dgels_("N", &rows, &wide, &one, a.data(), &rows, b.data(), &rows, &wanted, &size, &info, 1);
  std::vector<double> work(static_cast<std::size_t>(wanted));
  size = static_cast<blasint>(wanted);
  dgels_("N", &rows, &wide, &one, a.data(), &rows, b.data(), &rows, work.data(), &size, &info, 1);
  return info == 0;
}

// Chebyshev's T_0 .. T_degree at u in [-1, 1]: well conditioned where powers are not.
std::vector<double> chebyshev(double u, int degree) {
  std::vector<double> t{1.0, u};
  while (static_cast<int>(t.size()) <= degree) t.push_back(2.0 * u * t[t.size() - 1] - t[t.size() - 2]);
  t.resize(static_cast<std::size_t>(degree) + 1);
  return t;
}

using Powers = std::vector<double>;  // coefficients, lowest degree first

Powers times_line(const Powers& p, double slope, double offset) {
  Powers q(p.size() + 1, 0.0);
  for (std::size_t i = 0; i < p.size(); ++i) {
    q[i] += offset * p[i];
    q[i + 1] += slope * p[i];
  }
  return q;
}

void add(Powers& sum, const Powers& p, double factor) {
  sum.resize(std::max(sum.size(), p.size()), 0.0);
  for (std::size_t i = 0; i < p.size(); ++i) sum[i] += factor * p[i];
}

// sum_k c_k T_k(slope H + offset), in powers of H, highest first.
std::vector<double> in_powers(std::span<const double> c, double slope, double offset) {
  Powers sum(c.size(), 0.0), before{1.0}, now = times_line({1.0}, slope, offset);
  add(sum, before, c[0]);
  for (std::size_t k = 1; k < c.size(); ++k) {
    add(sum, now, c[k]);
    Powers next = times_line(now, 2.0 * slope, 2.0 * offset);
    add(next, before, -1.0);
    before = std::move(now);
    now = std::move(next);
  }
  sum.resize(c.size());
  return {sum.rbegin(), sum.rend()};
}

// The decimal of fewest digits that differs from `value` by at most `most`.
double shortest_within(double value, double most) {
  constexpr int kAllDigits = 17;
  for (int digits = 1; digits < kAllDigits; ++digits) {
    const double rounded = std::stod(fmt::format("{:.{}g}", value, digits));
    if (std::abs(rounded - value) <= most) return rounded;
  }
  return value;
}

// Every coefficient may move the value at `largest`, where it weighs most, by its part of `rounding`.
void round_coefficients(std::vector<double>& polynomial, double largest, double rounding) {
  double power = 1.0;
  const double part = rounding / static_cast<double>(polynomial.size());
  for (auto c = polynomial.rbegin(); c != polynomial.rend(); ++c, power *= largest)
    if (part > 0.0) *c = shortest_within(*c, part / power);
}

Interval entropies_of(std::span<const FitPoint> points) {
  const auto [least, most] =
      std::minmax_element(points.begin(), points.end(),
                          [](const FitPoint& a, const FitPoint& b) { return a.entropy < b.entropy; });
  return {least->entropy, most->entropy};
}

void check(std::span<const FitPoint> points, int degree, int bins) {
  if (degree < 0 || degree > kLargestFitDegree)
    throw Error(ErrorCode::bad_argument,
                fmt::format("degree is {}; it must be from 0 to {}", degree, kLargestFitDegree));
  if (bins < 1)
    throw Error(ErrorCode::bad_argument,
                fmt::format("the number of bins is {}; it must be at least 1", bins));
  std::vector<double> entropies;
  for (const FitPoint& point : points) {
    if (!std::isfinite(point.entropy) || !std::isfinite(point.beta))
      throw Error(ErrorCode::unsupported, "an entropy or a temperature is not a finite number");
    entropies.push_back(point.entropy);
  }
  std::sort(entropies.begin(), entropies.end());
  const auto distinct = std::unique(entropies.begin(), entropies.end()) - entropies.begin();
  if (distinct <= degree)
    throw Error(
        ErrorCode::unsupported,
        fmt::format("{} different entropies were found; a polynomial of degree {} needs at least {}",
                    distinct, degree, degree + 1));
}

void describe_residuals(std::span<const FitPoint> points, int bins, PolynomialFit& fit) {
  const double width = (fit.entropy.high - fit.entropy.low) / bins;
  fit.bins.resize(static_cast<std::size_t>(bins));
  for (std::size_t i = 0; i < fit.bins.size(); ++i)
    fit.bins[i].entropy = {fit.entropy.low + width * static_cast<double>(i),
                           fit.entropy.low + width * static_cast<double>(i + 1)};
  double squares = 0.0;
  for (const FitPoint& point : points) {
    const double residual = point.beta - value_of(fit.polynomial, point.entropy);
    squares += residual * residual;
    const double place = width > 0.0 ? (point.entropy - fit.entropy.low) / width : 0.0;
    ResidualBin& bin = fit.bins[std::min(static_cast<std::size_t>(place), fit.bins.size() - 1)];
    bin.points += 1;
    bin.mean_beta += point.beta;
    bin.mean_residual += residual;
    bin.rms_residual += residual * residual;
  }
  for (ResidualBin& bin : fit.bins) {  // 0 / 0 is what an empty bin has to say
    bin.mean_beta /= static_cast<double>(bin.points);
    bin.mean_residual /= static_cast<double>(bin.points);
    bin.rms_residual = std::sqrt(bin.rms_residual / static_cast<double>(bin.points));
  }
  fit.rms_residual = std::sqrt(squares / static_cast<double>(points.size()));
}

double crossing(std::span<const double> polynomial, double low, double high) {
  const bool above = value_of(polynomial, low) > 1.0;
  while (true) {
    const double middle = 0.5 * (low + high);
    if (!(middle > low && middle < high)) return high;
    ((value_of(polynomial, middle) > 1.0) == above ? low : high) = middle;
  }
}

}  // namespace

double value_of(std::span<const double> polynomial, double x) {
  double value = 0.0;
  for (const double coefficient : polynomial) value = value * x + coefficient;
  return value;
}

PolynomialFit fit_polynomial(std::span<const FitPoint> points, int degree, int bins, double rounding) {
  check(points, degree, bins);
  PolynomialFit fit{.entropy = entropies_of(points)};
  const double half = 0.5 * (fit.entropy.high - fit.entropy.low);
  const double slope = half > 0.0 ? 1.0 / half : 0.0;
  const double offset = -slope * 0.5 * (fit.entropy.high + fit.entropy.low);
  const std::size_t columns = static_cast<std::size_t>(degree) + 1;
  std::vector<double> a(points.size() * columns), b;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto t = chebyshev(slope * points[i].entropy + offset, degree);
    for (std::size_t k = 0; k < columns; ++k) a[k * points.size() + i] = t[k];
    b.push_back(points[i].beta);
  }
  if (!solve_least_squares(a, b, columns))
    throw Error(ErrorCode::unsupported,
                fmt::format("entropies lie too close together for a polynomial of degree {}", degree));
  fit.polynomial = in_powers(std::span(b).first(columns), slope, offset);
  round_coefficients(fit.polynomial, fit.entropy.high, rounding);
  describe_residuals(points, bins, fit);
  return fit;
}

std::vector<Interval> where_above_one(std::span<const double> polynomial, Interval range) {
  constexpr int kCells = 4096;
  std::vector<Interval> above;
  const auto at = [&](int i) { return range.low + (range.high - range.low) * i / kCells; };
  bool inside = value_of(polynomial, range.low) > 1.0;
  if (inside) above.push_back({range.low, range.high});
  for (int i = 0; i < kCells; ++i) {
    if ((value_of(polynomial, at(i + 1)) > 1.0) == inside) continue;
    const double root = crossing(polynomial, at(i), at(i + 1));
    inside ? static_cast<void>(above.back().high = root) : above.push_back({root, range.high});
    inside = !inside;
  }
  return above;
}

}  // namespace sharpmax::retrieval
