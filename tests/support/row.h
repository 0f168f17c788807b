// Rows of scores, their weights, and what long double says of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "normalizer/definition.h"
#include "sharpmax/survey.h"
#include "support/random.h"

namespace sharpmax::test {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kEps = std::numeric_limits<double>::epsilon();

struct Weighed {
  Row weights;
  RowFacts facts;
};

inline Weighed weigh(const AnyNormalizer& normalizer, const Row& scores) {
  Weighed result{.weights = Row(scores.size()), .facts = {}};
  result.facts = weigh_row(normalizer, 0, scores, result.weights);
  return result;
}

// By halves, so that rounding grows with the logarithm of the length.
inline Survey survey(std::span<const double> row) {
  if (row.empty()) return {};
  if (row.size() == 1) return survey_of(row[0]);
  const std::size_t half = row.size() / 2;
  return merge(survey(row.first(half)), survey(row.subspan(half)));
}

inline double relative_error(double found, double wanted) {
  return found == wanted ? 0.0 : std::abs(found - wanted) / std::abs(wanted);
}

inline double largest(const Row& row) { return *std::max_element(row.begin(), row.end()); }

namespace oracle {

inline double sum(const Row& row) {
  long double total = 0.0L;
  for (const double x : row) total += x;
  return static_cast<double>(total);
}

// Sum of exp(beta (e - max)) over all keys but one of the largest.
inline double tail(const Row& row, double beta = 1.0) {
  const long double top = largest(row);
  long double total = 0.0L;
  bool first = true;
  for (const double e : row) {
    if (first && e == top) {
      first = false;
    } else {
      total += std::exp(beta * (e - top));
    }
  }
  return static_cast<double>(total);
}

// Of softmax(beta e), nats.
inline double entropy(const Row& row, double beta = 1.0) {
  const long double top = largest(row);
  const long double rest = tail(row, beta);
  long double moment = 0.0L;
  for (const double e : row) {
    const long double d = beta * (e - top);
    if (d > -11000.0L) moment += std::exp(d) * d;
  }
  return static_cast<double>(std::log1p(rest) - moment / (1.0L + rest));
}

// Of a row of weights, over its sum.
inline double entropy_of_weights(const Row& weights) {
  const long double total = sum(weights);
  long double result = 0.0L;
  for (const double w : weights) {
    if (w > 0.0) result -= w / total * std::log(w / total);
  }
  return static_cast<double>(result);
}

}  // namespace oracle
}  // namespace sharpmax::test
