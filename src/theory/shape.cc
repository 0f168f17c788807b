#include "theory/shape.h"

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

}  // namespace sharpmax::theory
