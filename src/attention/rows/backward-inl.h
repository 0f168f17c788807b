// Gradients of rows: the weights again, then d_scores from them and d_weights.
//
// Every map here has a Jacobian of the form diag(s) - s t^T: with D = sum t dP, dS_j = s_j (dP_j - D).
//   exponential family  s = beta w, t = w        threshold  s = beta w^(2 - alpha), t = s / sum s
//   sigmoid             s = w (1 - w), t = 0     relu       s = [w > 0] / n, t = 0
//   hard                as softmax at beta = 1   proportional  s = 1 / sum e, t = w
// but for softpick and stick_breaking, which say themselves what they do.
// Where parameters are learnable, the gradient by the rule's own numbers (RuleGradient) comes out of the same
// passes. Keys of weight 0 have gradient 0 whatever their d_weights are, so garbage behind a mask stays
// there.
#if defined(SHARPMAX_ROWS_BACKWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_ROWS_BACKWARD_INL_H_
#undef SHARPMAX_ROWS_BACKWARD_INL_H_
#else
#define SHARPMAX_ROWS_BACKWARD_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "attention/rows/backward_rules-inl.h"
#include "attention/rows/exponential-inl.h"
#include "attention/rows/gradient-inl.h"
#include "attention/rows/resolve-inl.h"
#include "attention/rows/scan-inl.h"
#include "attention/rows/specification-inl.h"
#include "attention/rows/walk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

HWY_INLINE HWY_MAYBE_UNUSED void multiply(const ScoreRow& row, float factor) {
  const FloatTag d;
  const Floats by = Splat(factor);
  walk(row, [&](std::size_t, float* data, std::size_t)
                SHARPMAX_PASS { hn::StoreU(hn::Mul(hn::LoadU(d, data), by), d, data); });
}

HWY_NOINLINE inline void backward_hard(const ScoreRow& weights, const ScoreRow& d_weights, float max,
                                       RowWorkspace& workspace) {
  // The softmax stands in the copy of the scores; both rows are brought into its layout.
  const std::size_t size = weights.chunks * weights.lanes;
  const ScoreRow soft{.data = workspace.scores(), .chunks = 1, .stride = size, .lanes = size};
  const ScoreRow flat{.data = workspace.candidates(), .chunks = 1, .stride = size, .lanes = size};
  const ExponentialSums sums = sweep<Moment::no, Store::yes>(soft, max, 1.0);
  copy_out(d_weights, flat.data);
  backward_softmax(soft, static_cast<float>(1.0 / sums.sum), flat, 1.0);
  put_back(flat.data, d_weights);
}

// softpick, with E = exp(e - shift) / sum: dS = E (dP - D) above 0, E D below, D = sum w dP.
HWY_NOINLINE inline void backward_softpick(const ScoreRow& weights, float scale, const ScoreRow& d_weights,
                                           float max, const float* scores) {
  const FloatTag d;
  const SlopeSums sums = scale_and_sum(weights, scale, d_weights, [](Floats w) SHARPMAX_PASS { return w; });
  const Exponential exponential(1.0);
  const Floats top = Splat(std::max(max, 0.0f)), factor = Splat(scale), zero = hn::Zero(d);
  const Floats mean = Splat(static_cast<float>(sums.mean));
  walk(d_weights, [&](std::size_t, float* data, std::size_t index) SHARPMAX_PASS {
    const Floats e = hn::LoadU(d, scores + index);
    const Floats slope = hn::Mul(exponential(hn::Sub(e, top)), factor);
    const Floats above = hn::IfThenElse(hn::Gt(e, zero), hn::Sub(hn::LoadU(d, data), mean), mean);
    hn::StoreU(hn::IfThenZeroElse(hn::Eq(e, zero), hn::Mul(slope, above)), d, data);
  });
}

// stick_breaking: dS_k = w_k dP_k (1 - sigma(e_k)) - sigma(e_k) * (sum of w dP over older keys).
HWY_NOINLINE inline void backward_stick_breaking(const ScoreRow& weights, const ScoreRow& d_weights,
                                                 const float* scores) {
  const FloatTag d;
  double older = 0.0;
  walk(d_weights, [&](std::size_t, float* data, std::size_t index) SHARPMAX_PASS {
    const Floats e = hn::LoadU(d, scores + index);
    const Floats weight = hn::LoadU(d, weights.data + (data - d_weights.data));
    const Floats own = hn::Mul(weight, where_positive(weight, hn::LoadU(d, data)));
    HWY_ALIGN float before[HWY_LANES(float)];
    hn::Store(own, d, before);
    for (float& sum : before) {
      const double here = sum;
      sum = static_cast<float>(older);
      older += here;
    }
    hn::StoreU(hn::NegMulAdd(logistic(e), hn::Load(d, before), hn::Mul(own, logistic(hn::Neg(e)))), d, data);
  });
}

// 1 / (1 + exp(-(e + b))), which moves with b as with every score.
HWY_NOINLINE inline void backward_sigmoid(const GradientCall& call) {
  RowSum d_offset;
  write_gradient(
      call.weights, call.d_weights, 1.0, 0.0, [](Floats w) SHARPMAX_PASS { return hn::NegMulAdd(w, w, w); },
      [&](std::size_t k, std::size_t, Floats, Floats slope, Floats centred)
          SHARPMAX_PASS { d_offset.add_product(k, slope, centred); },
      [&]() SHARPMAX_PASS { d_offset.fold(); });
  call.d_rule.offset = d_offset.value();
}

// Whether the kind's gradient by the rule's numbers that move is written here.
HWY_INLINE HWY_MAYBE_UNUSED bool knows_moves(const Rule& rule, const RuleMoves& moves) {
  switch (rule.kind) {
    case RuleKind::exponential:
    case RuleKind::top_k:
      return !moves.alpha;  // entmax at alpha = 1 is of this kind
    case RuleKind::entropy_target:
    case RuleKind::peak_target:
    case RuleKind::threshold:
    case RuleKind::sigmoid:
      return true;
    default:
      return !(moves.beta || moves.sink || moves.alpha || moves.target || moves.offset);
  }
}

// Whether this rule's gradient is written here.
HWY_INLINE HWY_MAYBE_UNUSED bool has_backward(const Rule& rule) {
  switch (rule.kind) {
    case RuleKind::exponential:
    case RuleKind::top_k:
      return rule.beta > 0.0;
    case RuleKind::threshold:
      return has_threshold_kernel(rule);
    case RuleKind::surveyed:
      return !rule.full_gradient;
    case RuleKind::entropy_target:
    case RuleKind::peak_target:
    case RuleKind::hard:
    case RuleKind::sigmoid:
    case RuleKind::relu:
    case RuleKind::softpick:
    case RuleKind::stick_breaking:
    case RuleKind::proportional:
      return true;
    default:
      return false;
  }
}

HWY_INLINE HWY_MAYBE_UNUSED void backward_by_kind(const GradientCall& call) {
  const auto one = [](Floats w) SHARPMAX_PASS { return where_positive(w, Splat(1.0f)); };
  const ScoreRow &weights = call.weights, &d_weights = call.d_weights;
  switch (call.rule.kind) {
    case RuleKind::threshold:
      return backward_by_threshold(call);
    case RuleKind::sigmoid:
      return backward_sigmoid(call);
    case RuleKind::relu:
      multiply(weights, call.out.scale);
      return write_gradient(weights, d_weights, 1.0 / call.keys, 0.0, one);
    case RuleKind::proportional: {
      const SlopeSums sums =
          scale_and_sum(weights, call.out.scale, d_weights, [](Floats w) SHARPMAX_PASS { return w; });
      return write_gradient(weights, d_weights, call.out.scale, sums.mean, one);
    }
    case RuleKind::hard:
      return backward_hard(weights, d_weights, call.max, call.workspace);
    case RuleKind::softpick:
      return backward_softpick(weights, call.out.scale, d_weights, call.max, call.workspace.scores());
    case RuleKind::stick_breaking:
      return backward_stick_breaking(weights, d_weights, call.workspace.scores());
    default:
      return backward_exponential(call);
  }
}

HWY_INLINE HWY_MAYBE_UNUSED bool needs_scores(const Rule& rule, const RuleMoves& wanted) {
  return wanted.beta || rule.full_gradient || rule.kind == RuleKind::hard ||
         rule.kind == RuleKind::softpick || rule.kind == RuleKind::stick_breaking;
}

HWY_INLINE HWY_MAYBE_UNUSED void poison(const Definition& definition, std::span<double> d_parameters) {
  for (std::size_t i = 0; i < d_parameters.size(); ++i)
    if (definition.parameters[i].learnable) d_parameters[i] = kNoValue;
}

HWY_NOINLINE inline void BackwardRow(const RowTask& task, const ScoreRow& scores, const ScoreRow& d_weights,
                                     RowWorkspace& workspace, std::span<double> d_parameters) {
  const Definition& definition = task.normalizer->definition();
  const HeadParameters parameters(task.normalizer->parameters(), task.head);
  const double keys = static_cast<double>(task.keys >= 0 ? task.keys : count_keys(scores));
  if (keys == 0.0) {
    fill(scores, 0.0f);
    return fill(d_weights, 0.0f);
  }
  const Rule rule = definition.rule(parameters, keys);
  const RuleMoves wanted = d_parameters.empty() ? RuleMoves{} : definition.moves;
  const auto by_specification = [&]() HWY_ATTR {
    backward_by_specification(task, scores, d_weights, workspace, d_parameters);
  };
  if (!has_backward(rule) || !knows_moves(rule, wanted)) return by_specification();
  const float max = largest(scores);
  if (needs_scores(rule, wanted)) copy_out(scores, workspace.scores());
  RowOutcome out;
  ResolveRow(task, {}, scores, workspace, out);
  if (std::isnan(out.scale)) {
    fill(scores, out.scale);
    fill(d_weights, out.scale);
    return poison(definition, d_parameters);
  }
  if (rule.full_gradient && out.facts.temperature > kLargestTemperature &&
      !std::isinf(out.facts.temperature)) {
    put_back(workspace.scores(), scores);  // gaps too small for float to tell how they move it
    return by_specification();
  }
  RuleGradient d_rule;
  backward_by_kind({rule, scores, out, d_weights, max, keys, workspace, wanted, d_rule});
  if (!d_parameters.empty() && definition.through_rule != nullptr)
    definition.through_rule(parameters, keys, d_rule, d_parameters);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();
#endif
