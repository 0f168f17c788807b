// What the bounds take and what they refuse: every check has one wording.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <string_view>

#include "sharpmax/error.h"

namespace sharpmax::theory {

// What a number must be, in words and as a predicate of a finite number.
struct Domain {
  std::string_view words;
  bool (*contains)(double);
};

inline constexpr Domain kAnyNumber{"finite", [](double) { return true; }};
inline constexpr Domain kNotNegative{"0 or more, and finite", [](double x) { return x >= 0.0; }};
inline constexpr Domain kPositive{"above 0, and finite", [](double x) { return x > 0.0; }};
inline constexpr Domain kAtLeastOne{"1 or more, and finite", [](double x) { return x >= 1.0; }};
inline constexpr Domain kShare{"above 0 and below 1", [](double x) { return x > 0.0 && x < 1.0; }};

// Throws Error{bad_argument} unless the value is finite and in the domain; NaN never is.
inline void require(std::string_view name, double value, const Domain& domain) {
  if (!std::isfinite(value) || !domain.contains(value))
    throw Error(ErrorCode::bad_argument, fmt::format("{} is {}; it must be {}", name, value, domain.words));
}

// Sums to one are checked this loosely, so that weights computed in float pass.
inline constexpr double kSumTolerance = 1e-6;

// None negative, none missing, sum one.
inline void require_distribution(std::span<const double> weights) {
  double sum = 0.0;
  for (const double w : weights) {
    require("a weight", w, kNotNegative);
    sum += w;
  }
  if (!(std::abs(sum - 1.0) <= kSumTolerance))
    throw Error(ErrorCode::bad_argument, fmt::format("the weights sum to {}; they must sum to 1", sum));
}

inline void require_counts(std::string_view what, std::size_t found, std::string_view other,
                           std::size_t wanted) {
  if (found != wanted)
    throw Error(ErrorCode::bad_argument,
                fmt::format("{} has {} entries; {} asks for {}", what, found, other, wanted));
}

}  // namespace sharpmax::theory
