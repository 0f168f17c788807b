#include "retrieval/testing/rule_facts.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "normalizer/definition.h"

namespace sharpmax::retrieval {
namespace {

// Rules without a kind of their own are asked: the weights of a row, and of the same row shifted.
bool keeps_weights_when_shifted(const AnyNormalizer& normalizer) {
  constexpr std::array<double, 5> kRow = {0.75, -0.5, 1.25, 0.25, -1.0};
  constexpr double kShift = 2.0, kRounding = 1e-9;
  std::array<double, kRow.size()> shifted, plain_weights, shifted_weights;
  std::transform(kRow.begin(), kRow.end(), shifted.begin(), [](double e) { return e + kShift; });
  weigh_row(normalizer, 0, kRow, plain_weights);
  weigh_row(normalizer, 0, shifted, shifted_weights);
  for (std::size_t i = 0; i < kRow.size(); ++i)
    if (!(std::abs(plain_weights[i] - shifted_weights[i]) <= kRounding)) return false;
  return true;
}

}  // namespace

RuleFacts facts_of(const AnyNormalizer& normalizer, std::int64_t n) {
  const HeadParameters parameters(normalizer.parameters(), 0);
  const Rule rule = normalizer.definition().rule(parameters, static_cast<double>(n));
  switch (rule.kind) {
    case RuleKind::exponential:
      return {.ignores_shift = rule.sink == 0.0, .is_softmax = rule.sink == 0.0};
    case RuleKind::surveyed:
    case RuleKind::entropy_target:
    case RuleKind::peak_target:
      return {.ignores_shift = true, .is_softmax = true};
    case RuleKind::top_k:
    case RuleKind::hard:
    case RuleKind::threshold:
      return {.ignores_shift = true};
    case RuleKind::sigmoid:
    case RuleKind::relu:
    case RuleKind::softpick:
    case RuleKind::self_adjust:
    case RuleKind::stick_breaking:
    case RuleKind::proportional:
      return {};
    case RuleKind::specification:
      break;
  }
  return {.ignores_shift = keeps_weights_when_shifted(normalizer)};
}

}  // namespace sharpmax::retrieval
