#include "theory/selection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "theory/arguments.h"

namespace sharpmax::theory {
namespace {

void check_counts(double length, double selected) {
  require("L", length, kAtLeastOne);
  require("N", selected, kAtLeastOne);
  if (!(selected < length))
    throw Error(ErrorCode::bad_argument, fmt::format("N is {}; it must be below L = {}", selected, length));
}

void check_row(const WeightedRow& row) {
  require_counts("vectors", row.vectors.size(), "one vector per weight", row.weights.size() * row.features);
  require_distribution(row.weights);
  for (const double x : row.vectors) require("a vector's entry", x, kAnyNumber);
}

std::span<const double> vector_of(const WeightedRow& row, std::size_t key) {
  return row.vectors.subspan(key * row.features, row.features);
}

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0.0;
  for (std::size_t f = 0; f < a.size(); ++f) sum += a[f] * b[f];
  return sum;
}

// |sum of factor_k x_k - b|
double norm_of_difference(std::span<const double> a, double factor, std::span<const double> b) {
  double sum = 0.0;
  for (std::size_t f = 0; f < a.size(); ++f) sum += (a[f] - factor * b[f]) * (a[f] - factor * b[f]);
  return std::sqrt(sum);
}

std::vector<bool> chosen(const WeightedRow& row, std::span<const std::size_t> selected) {
  check_counts(static_cast<double>(row.weights.size()), static_cast<double>(selected.size()));
  std::vector<bool> in(row.weights.size(), false);
  for (const std::size_t key : selected) {
    if (key >= in.size() || in[key])
      throw Error(ErrorCode::bad_argument,
                  fmt::format("key {} is selected twice or is not below L = {}", key, in.size()));
    in[key] = true;
  }
  return in;
}

std::vector<double> weighted_sum(const WeightedRow& row, const std::vector<bool>& in, bool wanted) {
  std::vector<double> sum(row.features, 0.0);
  for (std::size_t i = 0; i < in.size(); ++i)
    for (std::size_t f = 0; in[i] == wanted && f < row.features; ++f)
      sum[f] += row.weights[i] * vector_of(row, i)[f];
  return sum;
}

}  // namespace

double fixed_selection_bound(const SelectionFacts& facts, DistanceReading reading) {
  check_counts(facts.length, facts.selected);
  require("the selected weights' sum", facts.selected_sum, kPositive);
  require("the largest distance", facts.largest_gap, kNotNegative);
  require("the largest selected norm", facts.selected_norm, kNotNegative);
  require("the largest norm left out", facts.left_norm, kNotNegative);
  const double a = std::min(facts.selected_sum, 1.0);
  if (facts.selected_sum > 1.0 + kSumTolerance)
    throw Error(ErrorCode::bad_argument,
                fmt::format("the selected weights sum to {}; that must be at most 1", facts.selected_sum));
  if (reading == DistanceReading::joint) {
    return a >= 0.5 ? (1.0 - a) * facts.largest_gap + (2.0 * a - 1.0) * facts.selected_norm
                    : a * facts.largest_gap + (1.0 - 2.0 * a) * facts.left_norm;
  }
  // (L - N) weights of at most `a` each make up 1 - a, so the factor is not negative, rounding aside.
  const double factor = std::max(0.0, (facts.length - facts.selected + 1.0) * a - 1.0);
  return (1.0 - a) * facts.largest_gap + factor * facts.selected_norm;
}

double expected_square_distance(const GramSums& sums, double square, double product) {
  const double l = sums.length, n = sums.selected;
  const double others = sums.squares - square;  // sum of |y_j|^2, j != i
  const double pairs = sums.sum_square - 2.0 * product - sums.squares + 2.0 * square;  // of y_j . y_k, j != k
  const double both = n > 1.0 ? n * (n - 1.0) / ((l - 1.0) * (l - 2.0)) : 0.0;
  const double expected = square + n / (l - 1.0) * (others - 2.0 * (product - square)) + both * pairs;
  return std::max(0.0, expected);  // an expectation of squares: below 0 by rounding alone
}

double random_selection_bound(const GramSums& sums, std::span<const double> squares,
                              std::span<const double> products) {
  check_counts(sums.length, sums.selected);
  require("the sum of squares", sums.squares, kNotNegative);
  require("the square of the sum", sums.sum_square, kNotNegative);
  require_counts("squares", squares.size(), "L", static_cast<std::size_t>(sums.length));
  require_counts("products", products.size(), "L", static_cast<std::size_t>(sums.length));
  double sum = 0.0;
  for (std::size_t i = 0; i < squares.size(); ++i)
    sum += std::sqrt(expected_square_distance(sums, squares[i], products[i]));
  return (sums.length - sums.selected) / sums.length * sum;
}

double selection_distance(const WeightedRow& row, std::span<const std::size_t> selected,
                          DistanceReading reading) {
  check_row(row);
  const std::vector<bool> in = chosen(row, selected);
  const std::vector<double> s = weighted_sum(row, in, true);
  if (reading == DistanceReading::joint) return norm_of_difference(s, 1.0, weighted_sum(row, in, false));
  double sum = 0.0;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (!in[i]) sum += norm_of_difference(s, row.weights[i], vector_of(row, i));
  return sum;
}

SelectionFacts selection_facts(const WeightedRow& row, std::span<const std::size_t> selected) {
  check_row(row);
  const std::vector<bool> in = chosen(row, selected);
  SelectionFacts facts{.length = static_cast<double>(in.size()),
                       .selected = static_cast<double>(selected.size())};
  double left_weight = 0.0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const double norm = std::sqrt(dot(vector_of(row, i), vector_of(row, i)));
    if (in[i]) {
      facts.selected_sum += row.weights[i];
      facts.selected_norm = std::max(facts.selected_norm, norm);
      continue;
    }
    left_weight = std::max(left_weight, row.weights[i]);
    facts.left_norm = std::max(facts.left_norm, norm);
    for (const std::size_t j : selected)
      facts.largest_gap =
          std::max(facts.largest_gap, norm_of_difference(vector_of(row, i), 1.0, vector_of(row, j)));
  }
  if (left_weight > facts.selected_sum)
    throw Error(
        ErrorCode::bad_argument,
        fmt::format("a key left out has weight {}, above the selected ones' sum {}; the largest weights "
                    "must be selected",
                    left_weight, facts.selected_sum));
  return facts;
}

double random_selection_bound(const WeightedRow& row, std::size_t selected) {
  check_row(row);
  const std::size_t length = row.weights.size();
  check_counts(static_cast<double>(length), static_cast<double>(selected));
  const std::vector<double> all = weighted_sum(row, std::vector<bool>(length, true), true);
  std::vector<double> squares(length), products(length);
  GramSums sums{.length = static_cast<double>(length), .selected = static_cast<double>(selected)};
  for (std::size_t i = 0; i < length; ++i) {
    const auto x = vector_of(row, i);
    squares[i] = row.weights[i] * row.weights[i] * dot(x, x);
    products[i] = row.weights[i] * dot(x, all);
    sums.squares += squares[i];
  }
  sums.sum_square = dot(all, all);
  return random_selection_bound(sums, squares, products);
}

namespace {

constexpr double kSumRounding = 64.0 * std::numeric_limits<double>::epsilon();

double squares_of(std::span<const double> weights) {
  double sum = 0.0;
  for (const double w : weights) sum += w * w;
  return sum;
}

}  // namespace

std::vector<double> separability_reaches(const SeparabilityFacts& facts) {
  const double m = facts.radius, delta = facts.separation;
  require("the radius", m, kPositive);
  require("the separation", delta, kNotNegative);
  if (facts.weights.empty())
    throw Error(ErrorCode::bad_argument,
                "separability: no weight was given; at least one key must be selected");
  if (delta > 2.0 * m)
    throw Error(ErrorCode::bad_argument,
                fmt::format("the separation is {}; vectors no longer than {} are at most twice that apart",
                            delta, m));
  double sum = 0.0;
  for (const double w : facts.weights) {
    require("a weight", w, kNotNegative);
    sum += w;
  }
  const double squares = squares_of(facts.weights);
  std::vector<double> reaches;
  for (const double w : facts.weights) {
    const double others = squares - w * w, rest = sum - w;
    const double reach = m * m * others + (m * m - 0.5 * delta * delta) * (rest * rest - others);
    // The two parts may cancel to nothing; beyond rounding, below 0 means that the facts contradict each
    // other.
    if (reach < -kSumRounding * m * m * sum * sum)
      throw Error(ErrorCode::bad_argument, fmt::format("no {} vectors of norm at most {} are all {} apart",
                                                       facts.weights.size(), m, delta));
    reaches.push_back(std::sqrt(std::max(0.0, reach)));
  }
  return reaches;
}

double separability_lower_bound(const SeparabilityFacts& facts, double r) {
  require("r", r, kPositive);
  double sum = 0.0;
  for (const double reach : separability_reaches(facts)) sum += reach;
  return 1.0 - sum / (static_cast<double>(facts.weights.size()) * r);
}

double counted_separability_lower_bound(const SeparabilityFacts& facts, double r) {
  require("r", r, kPositive);
  const std::vector<double> reaches = separability_reaches(facts);
  // Keys that all lie at the same distance cannot be separated, and rounding must not separate them.
  const auto within = std::count_if(reaches.begin(), reaches.end(),
                                    [&](double reach) { return reach < r * (1.0 - kSumRounding); });
  return static_cast<double>(within) / static_cast<double>(reaches.size());
}

double separability_reference(const SeparabilityFacts& facts, double r) {
  require("r", r, kPositive);
  const std::vector<double> reaches = separability_reaches(facts);
  const double squares = squares_of(facts.weights), m = facts.radius;
  double sum = 0.0;
  for (std::size_t i = 0; i < reaches.size(); ++i) {
    const double excess = std::max(0.0, reaches[i] - r);
    const double others = squares - facts.weights[i] * facts.weights[i];
    sum += excess > 0.0 ? std::exp(-excess * excess / (2.0 * m * m * others)) : 1.0;
  }
  return sum / static_cast<double>(reaches.size());
}

}  // namespace sharpmax::theory
