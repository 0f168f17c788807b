// Gradients of rows: the weights again, then d_scores from them and d_weights.
//
// Every map here has a Jacobian of the form diag(s) - s t^T: with D = sum t dP, dS_j = s_j (dP_j - D).
//   exponential family  s = beta w, t = w        threshold  s = beta w^(2 - alpha), t = s / sum s
//   sigmoid             s = w (1 - w), t = 0     relu       s = [w > 0] / n, t = 0
//   hard                as softmax at beta = 1   proportional  s = 1 / sum e, t = w
// but for softpick and stick_breaking, which say themselves what they do.
// Keys of weight 0 have gradient 0 whatever their d_weights are, so garbage behind a mask stays there.
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

#include "attention/rows/exponential-inl.h"
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

HWY_INLINE HWY_MAYBE_UNUSED Floats where_positive(Floats weight, Floats value) {
  return hn::IfThenElseZero(hn::Gt(weight, hn::Zero(FloatTag())), value);
}

struct SlopeSums {
  double slopes = 0.0;  // of t
  double mean = 0.0;    // of t dP
};

// Multiplies the weights by scale where they stand, and sums slope_of(weight).
template <class SlopeOf>
HWY_INLINE SlopeSums scale_and_sum(const ScoreRow& weights, float scale, const ScoreRow& d_weights,
                                   const SlopeOf& slope_of) {
  const FloatTag d;
  const Floats factor = Splat(scale);
  RowSum slopes, mean;
  walk(
      weights,
      [&](std::size_t k, float* data, std::size_t) SHARPMAX_PASS {
        const Floats weight = hn::Mul(hn::LoadU(d, data), factor);
        const Floats slope = slope_of(weight);
        const Floats d_weight = where_positive(weight, hn::LoadU(d, d_weights.data + (data - weights.data)));
        slopes.add(k, slope);
        mean.add_product(k, slope, d_weight);
        hn::StoreU(weight, d, data);
      },
      [&]() SHARPMAX_PASS {
        slopes.fold();
        mean.fold();
      });
  return {slopes.value(), mean.value()};
}

// d_weights becomes factor * slope_of(weight) * (d_weight - mean).
template <class SlopeOf>
HWY_INLINE void write_gradient(const ScoreRow& weights, const ScoreRow& d_weights, double factor, double mean,
                               const SlopeOf& slope_of) {
  const FloatTag d;
  const Floats by = Splat(static_cast<float>(factor)), centre = Splat(static_cast<float>(mean));
  walk(weights, [&](std::size_t, const float* data, std::size_t) SHARPMAX_PASS {
    float* const gradient = d_weights.data + (data - weights.data);
    const Floats weight = hn::LoadU(d, data);
    const Floats centred = where_positive(weight, hn::Sub(hn::LoadU(d, gradient), centre));
    hn::StoreU(hn::Mul(hn::Mul(by, slope_of(weight)), centred), d, gradient);
  });
}

HWY_NOINLINE inline void backward_exponential(const ScoreRow& weights, float scale, const ScoreRow& d_weights,
                                              double beta) {
  const auto itself = [](Floats w) SHARPMAX_PASS { return w; };
  const SlopeSums sums = scale_and_sum(weights, scale, d_weights, itself);
  // A target that ties put out of reach: the weights are constants.
  if (std::isinf(beta)) return fill(d_weights, 0.0f);
  write_gradient(weights, d_weights, beta, sums.mean, itself);
}

template <class SlopeOf>
HWY_INLINE void backward_threshold(const ScoreRow& weights, float scale, const ScoreRow& d_weights,
                                   double beta, const SlopeOf& slope_of) {
  const SlopeSums sums = scale_and_sum(weights, scale, d_weights, slope_of);
  write_gradient(weights, d_weights, beta, sums.mean / sums.slopes, slope_of);
}

HWY_NOINLINE inline void backward_hard(const ScoreRow& weights, const ScoreRow& d_weights, float max,
                                       RowWorkspace& workspace) {
  // The softmax stands in the copy of the scores; both rows are brought into its layout.
  const std::size_t size = weights.chunks * weights.lanes;
  const ScoreRow soft{.data = workspace.scores(), .chunks = 1, .stride = size, .lanes = size};
  const ScoreRow flat{.data = workspace.candidates(), .chunks = 1, .stride = size, .lanes = size};
  const ExponentialSums sums = sweep<Moment::no, Store::yes>(soft, max, 1.0);
  copy_out(d_weights, flat.data);
  backward_exponential(soft, static_cast<float>(1.0 / sums.sum), flat, 1.0);
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

// Whether this rule's gradient is written below, for its scores and for the parameters wanted.
HWY_INLINE HWY_MAYBE_UNUSED bool has_backward(const Rule& rule, const Definition& definition,
                                              bool parameters_wanted) {
  if (rule.full_gradient) return false;
  const bool stopped = rule.kind == RuleKind::entropy_target || rule.kind == RuleKind::peak_target;
  if (parameters_wanted && !stopped) {
    for (const ParameterSpec& parameter : definition.parameters)
      if (parameter.learnable) return false;
  }
  switch (rule.kind) {
    case RuleKind::exponential:
    case RuleKind::top_k:
      return rule.beta > 0.0;
    case RuleKind::threshold:
      return has_threshold_kernel(rule);
    case RuleKind::surveyed:
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

HWY_INLINE HWY_MAYBE_UNUSED void backward_by_kind(const Rule& rule, const ScoreRow& weights,
                                                  const RowOutcome& out, const ScoreRow& d_weights, float max,
                                                  double keys, RowWorkspace& workspace) {
  const auto one = [](Floats w) SHARPMAX_PASS { return where_positive(w, Splat(1.0f)); };
  const Exponential threshold_slope(2.0 - rule.alpha);
  switch (rule.kind) {
    case RuleKind::threshold:
      if (rule.alpha == 2.0) return backward_threshold(weights, out.scale, d_weights, rule.beta, one);
      if (rule.alpha == 1.5)
        return backward_threshold(weights, out.scale, d_weights, rule.beta,
                                  [](Floats w) SHARPMAX_PASS { return hn::Sqrt(w); });
      return backward_threshold(weights, out.scale, d_weights, rule.beta,
                                [&](Floats w) SHARPMAX_PASS { return power_of(w, threshold_slope); });
    case RuleKind::sigmoid:
      return write_gradient(weights, d_weights, 1.0, 0.0,
                            [](Floats w) SHARPMAX_PASS { return hn::NegMulAdd(w, w, w); });
    case RuleKind::relu:
      multiply(weights, out.scale);
      return write_gradient(weights, d_weights, 1.0 / keys, 0.0, one);
    case RuleKind::proportional: {
      const SlopeSums sums =
          scale_and_sum(weights, out.scale, d_weights, [](Floats w) SHARPMAX_PASS { return w; });
      return write_gradient(weights, d_weights, out.scale, sums.mean, one);
    }
    case RuleKind::hard:
      return backward_hard(weights, d_weights, max, workspace);
    case RuleKind::softpick:
      return backward_softpick(weights, out.scale, d_weights, max, workspace.scores());
    case RuleKind::stick_breaking:
      return backward_stick_breaking(weights, d_weights, workspace.scores());
    default:
      return backward_exponential(weights, out.scale, d_weights, out.facts.temperature);
  }
}

HWY_NOINLINE inline void BackwardRow(const RowTask& task, const ScoreRow& scores, const ScoreRow& d_weights,
                                     RowWorkspace& workspace, std::span<double> d_parameters) {
  const Definition& definition = task.normalizer->definition();
  const double keys = static_cast<double>(task.keys >= 0 ? task.keys : count_keys(scores));
  if (keys == 0.0) {
    fill(scores, 0.0f);
    return fill(d_weights, 0.0f);
  }
  const Rule rule = definition.rule(HeadParameters(task.normalizer->parameters(), task.head), keys);
  if (!has_backward(rule, definition, !d_parameters.empty()))
    return backward_by_specification(task, scores, d_weights, workspace, d_parameters);
  const float max = largest(scores);
  const bool needs_scores =
      rule.kind == RuleKind::hard || rule.kind == RuleKind::softpick || rule.kind == RuleKind::stick_breaking;
  if (needs_scores) copy_out(scores, workspace.scores());
  RowOutcome out;
  ResolveRow(task, {}, scores, workspace, out);
  if (std::isnan(out.scale)) {
    fill(scores, out.scale);
    return fill(d_weights, out.scale);
  }
  backward_by_kind(rule, scores, out, d_weights, max, keys, workspace);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();
#endif
