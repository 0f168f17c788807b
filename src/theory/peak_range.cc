#include "theory/peak_range.h"

#include <algorithm>
#include <cmath>

#include "normalizer/definition.h"
#include "theory/arguments.h"
#include "theory/dispersion.h"

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

namespace {

FormFacts other(std::string because) { return {Form::other, std::move(because)}; }

// Whether the temperature is the same at every length.
bool fixed_temperature(const AnyNormalizer& normalizer, const HeadParameters& parameters) {
  const double beta = shape_of(normalizer, parameters, 1.0).beta;
  for (const double n : {2.0, 1e2, 1e3, 1e4, 1e6, 1e9, kMostKeys})
    if (shape_of(normalizer, parameters, n).beta != beta) return false;
  return true;
}

double log_logistic(double x) noexcept { return std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x))); }

}  // namespace

FormFacts form_of(const AnyNormalizer& normalizer, std::size_t head) {
  const HeadParameters parameters(normalizer.parameters(), head);
  const Rule rule = shape_of(normalizer, parameters, kMostKeys);  // where top_k keeps less than all
  switch (rule.kind) {
    case RuleKind::exponential:
      if (rule.sink > 0.0)
        return {Form::share_proportional, "of shares: F is exp(e), the sink only takes from all alike"};
      if (fixed_temperature(normalizer, parameters)) return {Form::proportional, "F is exp(beta e)"};
      return {Form::changes_with_length, "F is exp(beta e) with a beta that is a function of n"};
    case RuleKind::sigmoid:
      if (std::isnan(parameters[0]))
        return {Form::changes_with_length,
                "of shares: F is 1 / (1 + n exp(-e)), which is another at every n"};
      return {Form::share_proportional, "of shares: F is 1 / (1 + exp(-(e + b)))"};
    case RuleKind::surveyed:
    case RuleKind::entropy_target:
    case RuleKind::peak_target:
      return other("its temperature depends on the whole row, so that F would be another for every row");
    case RuleKind::top_k:
    case RuleKind::hard:
    case RuleKind::threshold:
      return other("it gives some keys no weight at all, and F must be positive");
    case RuleKind::relu:
    case RuleKind::softpick:
      return other("F is 0 for scores of 0 and below, and it must be positive");
    case RuleKind::self_adjust:
      return other("the factor beside exp(e) depends on the row's ends, and is 0 or below at one of them");
    case RuleKind::stick_breaking:
      return other("what a key gets depends on its place in the row");
    case RuleKind::proportional:
      return other("it is phi(q) . phi(k) over its sum: of that form, but no function of the score q . k");
    case RuleKind::specification:
      break;
  }
  return other("no F is known for it");
}

ProportionalConstants proportional_constants(const AnyNormalizer& normalizer, double n,
                                             const ScoreInterval& scores, std::size_t head) {
  require("n", n, kAtLeastOne);
  require("the lowest score", scores.bottom, kAnyNumber);
  require("the highest score", scores.top, kAnyNumber);
  require("spread", scores.spread(), kNotNegative);
  const FormFacts facts = form_of(normalizer, head);
  if (facts.form == Form::other)
    throw Error(ErrorCode::unsupported, fmt::format("{}: {}", normalizer.name(), facts.because));
  const Rule rule = shape_of(normalizer, HeadParameters(normalizer.parameters(), head), n);
  const double log_ratio = rule.kind == RuleKind::sigmoid ? log_logistic(scores.top + rule.offset) -
                                                                log_logistic(scores.bottom + rule.offset)
                                                          : std::abs(rule.beta) * scores.spread();
  return {std::exp(-log_ratio), std::exp(log_ratio)};
}

Range proportional_bound(const ProportionalConstants& constants, double n) {
  require("n", n, kAtLeastOne);
  return {constants.c1 / n, constants.c2 / n};
}

Range proportional_range(const ProportionalConstants& constants, double n) {
  require("n", n, kAtLeastOne);
  const double low = n == 1.0 ? 1.0 : constants.c1 / (constants.c1 + (n - 1.0));
  return {low, 1.0 / (1.0 + (n - 1.0) * constants.c1)};
}

ProportionalConstants softmax_constants(double query_norm, double key_norm, double temperature) {
  require("the query's norm", query_norm, kNotNegative);
  require("the largest key's norm", key_norm, kNotNegative);
  require("temperature", temperature, kPositive);
  const double exponent = 2.0 * query_norm * key_norm / temperature;
  return {std::exp(-exponent), std::exp(exponent)};
}

}  // namespace sharpmax::theory
