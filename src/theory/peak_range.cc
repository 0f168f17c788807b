#include "theory/peak_range.h"

#include <algorithm>
#include <cmath>

#include "normalizer/definition.h"
#include "theory/arguments.h"
#include "theory/dispersion.h"
#include "theory/peak_parts.h"
#include "theory/search.h"

namespace sharpmax::theory {
namespace {

PeakRange of_closed_form(Range peak, double untied_low) {
  return {.share = peak, .weight = peak, .untied_low = untied_low, .ceiling = peak.high};
}
PeakRange of_closed_form(Range peak) { return of_closed_form(peak, peak.low); }

double softmax_peak(double spread, double n) { return dispersion_range(spread, n).high; }

// Sparse maps: p_max falls as any other score rises, so one winner above n - 1 equal keys is best. With
// a = alpha - 1 and L = -ln p_max the others have exp(-L + log1p(-u) / a), u = a gap exp(a L).
double threshold_peak(double alpha, double gap, double n) {
  const double a = alpha - 1.0;
  if (a == 0.0) return softmax_peak(gap, n);
  if (a * gap >= 1.0) return 1.0;
  return std::exp(-falling_root(0.0, std::log(n), [&](double minus_log_peak) {
    const double u = a * gap * std::exp(a * minus_log_peak);
    const double other = u < 1.0 ? std::exp(std::log1p(-u) / a) : 0.0;
    return std::log1p((n - 1.0) * other) - minus_log_peak;
  }));
}

// The least beta >= 1 with H <= nats. Rows that are sharp enough at beta = 1 are softmax's; all others end at
// H = nats. Untied, near ties come as close to the least peak of that entropy as one likes.
PeakRange entropy_target_range(double nats, double n, double spread) {
  if (spread == 0.0) return of_closed_form({1.0 / n, 1.0 / n});
  const double sharpened = nats < std::log(n) ? largest_peak_at_entropy(nats, n) : 0.0;
  return of_closed_form({1.0 / n, std::max(softmax_peak(spread, n), sharpened)},
                        least_peak_at_entropy(nats, n));
}

PeakRange peak_target_range(double weight, double n, double spread) {
  if (spread == 0.0) return of_closed_form({1.0 / n, 1.0 / n});
  return of_closed_form({1.0 / n, std::max(softmax_peak(spread, n), weight)}, std::max(weight, 1.0 / n));
}

PeakRange of_rule(const Rule& rule, const HeadParameters& parameters, double n, const ScoreInterval& scores) {
  // A negative beta mirrors the row, whose interval is as wide as before.
  const double spread = scores.spread(), gap = std::abs(rule.beta) * spread;
  switch (rule.kind) {
    case RuleKind::exponential:
      return rule.sink > 0.0 ? sink_range(rule.sink, n, scores)
                             : of_closed_form({1.0 / n, softmax_peak(gap, n)});
    case RuleKind::surveyed:
      return surveyed_range(rule, parameters, n, spread);
    case RuleKind::entropy_target:
      return entropy_target_range(rule.target, n, spread);
    case RuleKind::peak_target:
      return peak_target_range(rule.target, n, spread);
    case RuleKind::top_k: {
      const double kept = std::min(rule.target, n);
      return of_closed_form({1.0 / kept, softmax_peak(gap, kept)});
    }
    case RuleKind::hard:
      return of_closed_form({1.0, 1.0});
    case RuleKind::threshold:
      return of_closed_form({1.0 / n, threshold_peak(rule.alpha, gap, n)});
    case RuleKind::sigmoid:
      return sigmoid_range(rule.offset, n, scores);
    case RuleKind::relu:
      return relu_range(n, scores);
    case RuleKind::softpick:
      return softpick_range(n, scores);
    case RuleKind::self_adjust:
      return rule.target == 1.0 ? plain_self_adjust_range(n, scores) : scaled_self_adjust_range(n, scores);
    case RuleKind::stick_breaking:
      return stick_breaking_range(n, scores);
    case RuleKind::specification:
    case RuleKind::proportional:
      break;
  }
  return {};
}

}  // namespace

ScoreInterval centred(double spread) {
  require("spread", spread, kNotNegative);
  return {-0.5 * spread, 0.5 * spread};
}

PeakRange peak_range(const AnyNormalizer& normalizer, double n, const ScoreInterval& scores,
                     std::size_t head) {
  require("n", n, kAtLeastOne);
  require("the lowest score", scores.bottom, kAnyNumber);
  require("the highest score", scores.top, kAnyNumber);
  require("spread", scores.spread(), kNotNegative);
  if (normalizer.definition().needs_queries_and_keys)
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: its weights do not depend on scores alone, so a spread does not bound them",
                            normalizer.name()));
  const HeadParameters parameters(normalizer.parameters(), head);
  const Rule rule = shape_of(normalizer, parameters, n);
  if (rule.kind == RuleKind::specification) return searched_range(normalizer, n, scores, head);
  return of_rule(rule, parameters, n, scores);
}

namespace {

constexpr double kEveryNumberUpTo = 16.0;

// The least n in (from, ...) at which holds(n), found on a grid and then by bisection; nothing: nowhere.
template <class Holds>
std::optional<double> first_at(double from, double factor, const Holds& holds) {
  double before = from;
  for (double n = from + 1.0; n <= kMostKeys;) {
    if (holds(n)) {
      double low = before, high = n;
      while (high - low > 1.0) {
        const double middle = std::floor(low + 0.5 * (high - low));
        if (!(middle > low && middle < high)) break;
        (holds(middle) ? high : low) = middle;
      }
      return high;
    }
    before = n;
    n = n < kEveryNumberUpTo ? n + 1.0 : std::floor(n * factor);
  }
  return std::nullopt;
}

}  // namespace

PeakLoss peak_loss(const AnyNormalizer& normalizer, double peak, const ScoreInterval& scores,
                   std::size_t head) {
  require("peak", peak, kShare);
  const bool searched = peak_range(normalizer, 2.0, scores, head).knowledge == Knowledge::search;
  const double factor = searched ? 4.0 : 1.5;
  // A share that no row has (not a number) is below any peak.
  const auto reachable = [&](double n) { return peak_range(normalizer, n, scores, head).share.high >= peak; };
  PeakLoss loss;
  loss.lost = first_at(0.0, factor, [&](double n) { return !reachable(n); });
  if (loss.lost) loss.regained = first_at(*loss.lost, factor, reachable);
  const auto unsure = first_at(
      0.0, factor, [&](double n) { return !(peak_range(normalizer, n, scores, head).untied_low >= peak); });
  if (unsure) loss.sure = *unsure - 1.0;
  return loss;
}

}  // namespace sharpmax::theory
