// Gradients of the exponential family and of threshold maps, row by row.
#if defined(SHARPMAX_ROWS_BACKWARD_RULES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_ROWS_BACKWARD_RULES_INL_H_
#undef SHARPMAX_ROWS_BACKWARD_RULES_INL_H_
#else
#define SHARPMAX_ROWS_BACKWARD_RULES_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstddef>
#include <limits>

#include "attention/rows/gradient-inl.h"
#include "attention/rows/math-inl.h"
#include "attention/rows/scan-inl.h"
#include "attention/rows/temperature_search-inl.h"
#include "attention/rows/threshold-inl.h"
#include "attention/rows/walk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

// Returns D, the mean of d_weights.
HWY_NOINLINE inline double backward_softmax(const ScoreRow& weights, float scale, const ScoreRow& d_weights,
                                            double beta) {
  const auto itself = [](Floats w) SHARPMAX_PASS { return w; };
  const SlopeSums sums = scale_and_sum(weights, scale, d_weights, itself);
  write_gradient(weights, d_weights, beta, sums.mean, itself);
  return sums.mean;
}

// Also the derivative by beta.
HWY_NOINLINE inline void backward_by_temperature(const GradientCall& call, double beta) {
  const auto itself = [](Floats w) SHARPMAX_PASS { return w; };
  const SlopeSums sums = scale_and_sum(call.weights, call.out.scale, call.d_weights, itself);
  GapSum d_beta(call);
  write_gradient(
      call.weights, call.d_weights, beta, sums.mean, itself,
      [&](std::size_t k, std::size_t index, Floats weight, Floats, Floats centred)
          SHARPMAX_PASS { d_beta.add(k, index, weight, centred); },
      [&]() SHARPMAX_PASS { d_beta.fold(); });
  call.d_rule.beta = d_beta.value();
}

// Through beta, where a target has set it. In t = beta (e - m), which has no unit, with means under the
// weights, C = cov(dP, t) and V = var(t), the temperature moves so that
//   entropy  dS_k = beta w_k ((dP_k - D) - C / V (t_k - mean t)),  by the target: -C / V
//   peak     dS_k = beta (w_k (dP_k - D + r) - r [k is the peak]), r = -C / mean t, by the target: r / target
// Rows sharp enough at beta = 1, and those whose keys all tie, have a temperature that does not move.
struct TargetMoments {
  double mean = 0.0;  // D
  double mean_t = 0.0;
  double covariance = 0.0;  // C
  double variance = 0.0;    // V
};

// The exponent of a key; where it stops the weight is 0, and 0 times it is 0.
HWY_INLINE HWY_MAYBE_UNUSED Floats exponent_of(const float* score, float max, float beta) {
  const Floats gap = hn::Sub(hn::LoadU(FloatTag(), score), Splat(max));
  return hn::Max(Splat(-128.0f), hn::Mul(gap, Splat(beta)));
}

HWY_NOINLINE inline TargetMoments measure_target(const GradientCall& call, double beta) {
  const FloatTag d;
  const float* const scores = call.workspace.scores();
  const float factor = static_cast<float>(beta);
  RowSum mean_t, covariance, variance;
  const Floats scale = Splat(call.out.scale);
  RowSum mean;
  walk(
      call.weights,
      [&](std::size_t k, float* data, std::size_t index) SHARPMAX_PASS {
        const Floats weight = hn::Mul(hn::LoadU(d, data), scale);
        const float* const d_weight = call.d_weights.data + (data - call.weights.data);
        mean.add_product(k, weight, where_positive(weight, hn::LoadU(d, d_weight)));
        mean_t.add_product(k, weight, exponent_of(scores + index, call.max, factor));
        hn::StoreU(weight, d, data);
      },
      [&]() SHARPMAX_PASS {
        mean.fold();
        mean_t.fold();
      });
  const Floats centre = Splat(static_cast<float>(mean.value())),
               centre_t = Splat(static_cast<float>(mean_t.value()));
  walk(
      call.weights,
      [&](std::size_t k, const float* data, std::size_t index) SHARPMAX_PASS {
        const Floats weight = hn::LoadU(d, data);
        const float* const d_weight = call.d_weights.data + (data - call.weights.data);
        const Floats t = hn::Sub(exponent_of(scores + index, call.max, factor), centre_t);
        const Floats weighted = hn::Mul(weight, t);
        variance.add_product(k, weighted, t);
        covariance.add_product(k, weighted, where_positive(weight, hn::Sub(hn::LoadU(d, d_weight), centre)));
      },
      [&]() SHARPMAX_PASS {
        variance.fold();
        covariance.fold();
      });
  return {mean.value(), mean_t.value(), covariance.value(), variance.value()};
}

HWY_NOINLINE inline void backward_entropy_target(const GradientCall& call, double beta) {
  const FloatTag d;
  const float* const scores = call.workspace.scores();
  const TargetMoments m = measure_target(call, beta);
  const double lean = m.variance > 0.0 ? m.covariance / m.variance : 0.0;
  call.d_rule.target = -lean;
  const Floats by = Splat(static_cast<float>(beta)), centre = Splat(static_cast<float>(m.mean));
  const Floats centre_t = Splat(static_cast<float>(m.mean_t)), slope = Splat(static_cast<float>(lean));
  walk(call.weights, [&](std::size_t, const float* data, std::size_t index) SHARPMAX_PASS {
    float* const gradient = call.d_weights.data + (data - call.weights.data);
    const Floats weight = hn::LoadU(d, data);
    const Floats t = hn::Sub(exponent_of(scores + index, call.max, static_cast<float>(beta)), centre_t);
    const Floats rest = hn::NegMulAdd(slope, t, hn::Sub(hn::LoadU(d, gradient), centre));
    hn::StoreU(hn::Mul(hn::Mul(by, weight), where_positive(weight, rest)), d, gradient);
  });
}

HWY_NOINLINE inline void backward_peak_target(const GradientCall& call, double beta) {
  const TargetMoments m = measure_target(call, beta);
  const double lean = m.mean_t < 0.0 ? -m.covariance / m.mean_t : 0.0;
  call.d_rule.target = lean / call.rule.target;
  write_gradient(call.weights, call.d_weights, beta, m.mean - lean, [](Floats w) SHARPMAX_PASS { return w; });
  const std::size_t size = call.weights.chunks * call.weights.lanes;
  const ScoreRow scores{.data = call.workspace.scores(), .chunks = 1, .stride = size, .lanes = size};
  float& peak = element(call.d_weights, static_cast<std::size_t>(index_of(scores, call.max)));
  peak = static_cast<float>(static_cast<double>(peak) - beta * lean);
}

HWY_INLINE HWY_MAYBE_UNUSED bool moves_temperature(const Rule& rule, double beta) {
  const bool target = rule.kind == RuleKind::entropy_target || rule.kind == RuleKind::peak_target;
  return target && rule.full_gradient && beta != 1.0;
}

HWY_NOINLINE inline void backward_exponential(const GradientCall& call) {
  const double beta = call.out.facts.temperature;
  if (std::isinf(beta)) {  // a target that ties put out of reach: the weights are constants
    scale_and_sum(call.weights, call.out.scale, call.d_weights, [](Floats w) SHARPMAX_PASS { return w; });
    return fill(call.d_weights, 0.0f);
  }
  if (moves_temperature(call.rule, beta)) {
    return call.rule.kind == RuleKind::entropy_target ? backward_entropy_target(call, beta)
                                                      : backward_peak_target(call, beta);
  }
  if (call.wanted.beta) return backward_by_temperature(call, beta);
  const double mean = backward_softmax(call.weights, call.out.scale, call.d_weights, beta);
  // dw_j / dc = -w_j / (c + sum exp e), of which scale is exp(m) times the inverse.
  if (call.wanted.sink && mean != 0.0)
    call.d_rule.sink = -mean * call.out.scale * std::exp(-static_cast<double>(call.max));
}

// Gradients of threshold maps p = [z - tau]+^(1 / (alpha - 1)): by the scores, the temperature and alpha.
//
// With a = alpha - 1, l = ln p, slope = p^(1 - a) and D the mean of dP under the slopes,
//   d alpha = -sum of bend_j (dP_j - D),  bend = p l^2 s(-a l),  s(y) = (e^y - 1 - y) / y^2
// (src/normalizer/softmax_map.cc). e^y is slope / p, so bend = (slope - p (1 + y)) / a^2 costs a logarithm
// and no exponential; where y is small, and this would cancel, s is its series.

// s(y) for y in [0, 1]: the first term left out is below 3e-9 of it.
HWY_INLINE HWY_MAYBE_UNUSED Floats second_order_series(Floats y) {
  Floats s = Splat(1.0f / 39916800.0f);
  s = hn::MulAdd(s, y, Splat(1.0f / 3628800.0f));
  s = hn::MulAdd(s, y, Splat(1.0f / 362880.0f));
  s = hn::MulAdd(s, y, Splat(1.0f / 40320.0f));
  s = hn::MulAdd(s, y, Splat(1.0f / 5040.0f));
  s = hn::MulAdd(s, y, Splat(1.0f / 720.0f));
  s = hn::MulAdd(s, y, Splat(1.0f / 120.0f));
  s = hn::MulAdd(s, y, Splat(1.0f / 24.0f));
  s = hn::MulAdd(s, y, Splat(1.0f / 6.0f));
  return hn::MulAdd(s, y, Splat(0.5f));
}

// a^2 bend, of weights of which 0 has none.
HWY_INLINE HWY_MAYBE_UNUSED Floats bend_of(Floats weight, Floats slope, Floats a) {
  const Floats log_weight = logarithm(hn::Max(weight, Splat(std::numeric_limits<float>::min())));
  const Floats y = hn::Neg(hn::Mul(a, log_weight));
  const Floats far = hn::Sub(slope, hn::MulAdd(weight, y, weight));
  const Floats near = hn::Mul(hn::Mul(weight, second_order_series(y)), hn::Mul(y, y));
  return hn::IfThenElse(hn::Lt(y, Splat(1.0f)), near, far);
}

template <class SlopeOf>
HWY_INLINE void backward_threshold(const GradientCall& call, const SlopeOf& slope_of) {
  const double a = call.rule.alpha - 1.0;
  const SlopeSums sums = scale_and_sum(call.weights, call.out.scale, call.d_weights, slope_of);
  const double mean = sums.mean / sums.slopes;
  if (!call.wanted.alpha && !call.wanted.beta)
    return write_gradient(call.weights, call.d_weights, call.rule.beta, mean, slope_of);
  const Floats a_everywhere = Splat(static_cast<float>(a));
  RowSum bends;
  if (!call.wanted.beta) {
    write_gradient(
        call.weights, call.d_weights, call.rule.beta, mean, slope_of,
        [&](std::size_t k, std::size_t, Floats weight, Floats slope, Floats centred)
            SHARPMAX_PASS { bends.add_product(k, bend_of(weight, slope, a_everywhere), centred); },
        [&]() SHARPMAX_PASS { bends.fold(); });
  } else {
    GapSum d_beta(call);
    write_gradient(
        call.weights, call.d_weights, call.rule.beta, mean, slope_of,
        [&](std::size_t k, std::size_t index, Floats weight, Floats slope, Floats centred) SHARPMAX_PASS {
          bends.add_product(k, bend_of(weight, slope, a_everywhere), centred);
          d_beta.add(k, index, slope, centred);
        },
        [&]() SHARPMAX_PASS {
          bends.fold();
          d_beta.fold();
        });
    call.d_rule.beta = d_beta.value();
  }
  call.d_rule.alpha = -bends.value() / (a * a);
}

HWY_NOINLINE inline void backward_by_threshold(const GradientCall& call) {
  if (call.rule.alpha == 2.0)
    return backward_threshold(call, [](Floats w) SHARPMAX_PASS { return where_positive(w, Splat(1.0f)); });
  if (call.rule.alpha == 1.5)
    return backward_threshold(call, [](Floats w) SHARPMAX_PASS { return hn::Sqrt(w); });
  const Exponential slope(2.0 - call.rule.alpha);
  return backward_threshold(call, [&](Floats w) SHARPMAX_PASS { return power_of(w, slope); });
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();
#endif
