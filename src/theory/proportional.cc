#include "theory/proportional.h"

#include <algorithm>
#include <cmath>

#include "normalizer/definition.h"
#include "theory/arguments.h"
#include "theory/peak_parts.h"
#include "theory/peak_range.h"

namespace sharpmax::theory {
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
