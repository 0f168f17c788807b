#include "theory/peak_parts.h"

#include <algorithm>
#include <cmath>

namespace sharpmax::theory {

Rule shape_of(const AnyNormalizer& normalizer, const HeadParameters& parameters, double n) {
  Rule rule = normalizer.definition().rule(parameters, n);
  const std::string_view name = normalizer.name();
  if (rule.kind != RuleKind::specification) return rule;
  if (name == "entmax" || name == "asentmax") rule.kind = RuleKind::threshold;
  if (name == "softmax" || name == "ssmax" || name == "log_length") rule.kind = RuleKind::exponential;
  if (name == "top_k") {
    rule.kind = RuleKind::top_k;
    rule.target = parameters[0];
  }
  if (rule.kind == RuleKind::threshold && rule.alpha == 1.0) rule.kind = RuleKind::exponential;
  return rule;
}

namespace {

double logistic(double x) noexcept {
  const double small = std::exp(-std::abs(x));
  return (x < 0.0 ? small : 1.0) / (1.0 + small);
}

PeakRange of_level(Range share, Range weight) {
  return {.share = share,
          .weight = weight,
          .untied_low = share.low,
          .ceiling = share.high,
          .sums_to_one = false,
          .moves_with_level = true};
}

// Of weights in proportion to a function that rises with the score: one key at the top, the others at the
// bottom. `ratio` is F(bottom) / F(top).
double winner_share(double ratio, double n) noexcept { return 1.0 / (1.0 + (n - 1.0) * ratio); }

constexpr Range kNoShare{kNoValue, kNoValue};

// ln(1 - logistic(x)): what a key of stick-breaking leaves, as a logarithm. Finite for finite x.
double log_rest(double x) noexcept { return -std::max(x, 0.0) - std::log1p(std::exp(-std::abs(x))); }

// Stick-breaking: the largest mass of n keys none of which takes more than the lowest score breaks off. From
// the newest key on each takes that much while it may, then the largest fraction there is of what is left.
double largest_even_mass(double n, const ScoreInterval& scores) noexcept {
  const double most = logistic(scores.bottom), steepest = logistic(scores.top);
  // Key j breaks most / (1 - j most) of the rest: at most `steepest` while j <= (1 - most / steepest) / most.
  const double full = std::min(n, std::floor((1.0 - most / steepest) / most) + 1.0);
  const double left = std::max(0.0, 1.0 - full * most);
  return full * most - left * std::expm1((n - full) * log_rest(scores.top));
}

}  // namespace

PeakRange sink_range(double c, double n, const ScoreInterval& scores) {
  const auto weight = [&](double top, double others) { return 1.0 / (1.0 + others + c * std::exp(-top)); };
  const double others = (n - 1.0) * std::exp(-scores.spread());
  PeakRange range =
      of_level({1.0 / n, 1.0 / (1.0 + others)}, {weight(scores.bottom, n - 1.0), weight(scores.top, others)});
  range.sums_to_one = c == 0.0;
  return range;
}

PeakRange sigmoid_range(double offset, double n, const ScoreInterval& scores) {
  const Range weight{logistic(scores.bottom + offset), logistic(scores.top + offset)};
  // Of logarithms: both may be too small for a double.
  const auto log_logistic = [](double x) { return std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x))); };
  const double ratio = std::exp(log_logistic(scores.bottom + offset) - log_logistic(scores.top + offset));
  return of_level({1.0 / n, winner_share(ratio, n)}, weight);
}

PeakRange relu_range(double n, const ScoreInterval& scores) {
  const Range weight{std::max(scores.bottom, 0.0) / n, std::max(scores.top, 0.0) / n};
  if (!(scores.top > 0.0)) return of_level(kNoShare, weight);
  return of_level({1.0 / n, winner_share(std::max(scores.bottom, 0.0) / scores.top, n)}, weight);
}

PeakRange softpick_range(double n, const ScoreInterval& scores) {
  if (!(scores.top > 0.0)) return of_level(kNoShare, {0.0, 0.0});
  // A score of exactly 0 costs nothing, and a negative one costs but gets nothing.
  if (!(scores.bottom > 0.0)) return of_level({1.0 / n, 1.0}, {0.0, 1.0});
  const double ratio = std::exp(-scores.spread()) * (std::expm1(-scores.bottom) / std::expm1(-scores.top));
  const Range both{1.0 / n, winner_share(ratio, n)};
  PeakRange range = of_level(both, both);
  range.sums_to_one = true;  // no score is negative
  return range;
}

PeakRange scaled_self_adjust_range(double n, const ScoreInterval& scores) {
  const double bottom = scores.bottom, top = scores.top;
  const double softmax = winner_share(std::exp(-scores.spread()), n);
  if (bottom > 0.0) {  // heights are e_j / e_max
    const double ratio = bottom / top * std::exp(-scores.spread());
    return of_level({1.0 / n, winner_share(ratio, n)}, {1.0 / n, softmax});
  }
  // The lowest key stands at height 0, unless 0 itself is the bottom of the row's range.
  if (top > 0.0) return of_level({1.0 / n, 1.0}, {0.0, softmax});
  if (n == 1.0 || !(scores.spread() > 0.0)) return of_level(kNoShare, {0.0, 0.0});
  // No score is above 0, where height 1 is: the winner stands at (top - bottom) / (0 - bottom).
  return of_level({1.0 / (n - 1.0), 1.0}, {0.0, scores.spread() / -bottom * softmax});
}

PeakRange plain_self_adjust_range(double n, const ScoreInterval& scores) {
  const double bottom = scores.bottom, top = scores.top;
  const auto lone = [&](double e, double others) { return e / (1.0 + (n - 1.0) * std::exp(others - e)); };
  // Their sum is the mean score, so one weight is at least bottom / n. Of scores below 0 the largest weight
  // is the one nearest to 0: of equal keys at the top, or of one far below the others.
  const Range weight{bottom / n, top > 0.0 ? lone(top, bottom) : std::max(top / n, lone(bottom, top))};
  if (!(bottom >= 0.0) || !(top > 0.0)) return of_level(kNoShare, weight);  // negative weights have no share
  return of_level({1.0 / n, winner_share(bottom / top * std::exp(-scores.spread()), n)}, weight);
}

PeakRange stick_breaking_range(double n, const ScoreInterval& scores) {
  const Range weight{logistic(scores.bottom), logistic(scores.top)};
  // The newest key cannot get less than weight.low; all others may be kept at that. At best the newest has
  // the top score and the older ones break as little as they can off what it leaves.
  const double older = -std::expm1((n - 1.0) * log_rest(scores.bottom));
  const double best = weight.high / (weight.high + std::exp(log_rest(scores.top)) * older);
  return of_level({weight.low / largest_even_mass(n, scores), best}, weight);
}

}  // namespace sharpmax::theory
