// The two passes that the gradient of a row is made of: sums over the slopes of its weights, then d_scores;
// and what the second leaves of the numbers of the rule (RuleGradient) while it passes.
//
// Sums over a row go from float to double every few vectors (RowSum), and e - m is taken before it is
// multiplied: a temperature's gradient, sum of dz_j (e_j - m), neither cancels for scores far from 0
// nor for rows so flat or so sharp that little is left of it.
#if defined(SHARPMAX_ROWS_GRADIENT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_ROWS_GRADIENT_INL_H_
#undef SHARPMAX_ROWS_GRADIENT_INL_H_
#else
#define SHARPMAX_ROWS_GRADIENT_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <limits>

#include "attention/rows/row.h"
#include "attention/rows/walk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

// A row whose weights stand (times out.scale) and whose d_weights are to become d_scores.
struct GradientCall {
  const Rule& rule;
  const ScoreRow& weights;
  const RowOutcome& out;
  const ScoreRow& d_weights;
  float max;  // the largest score
  double keys;
  RowWorkspace& workspace;  // scores() holds the scores, where needs_scores() says so
  RuleMoves wanted;         // of d_rule
  RuleGradient& d_rule;
};

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

// d_weights becomes factor * slope_of(weight) * (d_weight - mean). also(k, index, weight, slope, centred)
// sees every vector of keys on the way, fold() as in walk().
template <class SlopeOf, class Also, class Fold>
HWY_INLINE void write_gradient(const ScoreRow& weights, const ScoreRow& d_weights, double factor, double mean,
                               const SlopeOf& slope_of, const Also& also, const Fold& fold) {
  const FloatTag d;
  const Floats by = Splat(static_cast<float>(factor)), centre = Splat(static_cast<float>(mean));
  walk(
      weights,
      [&](std::size_t k, const float* data, std::size_t index) SHARPMAX_PASS {
        float* const gradient = d_weights.data + (data - weights.data);
        const Floats weight = hn::LoadU(d, data);
        const Floats slope = slope_of(weight);
        const Floats centred = where_positive(weight, hn::Sub(hn::LoadU(d, gradient), centre));
        also(k, index, weight, slope, centred);
        hn::StoreU(hn::Mul(hn::Mul(by, slope), centred), d, gradient);
      },
      fold);
}
template <class SlopeOf>
HWY_INLINE void write_gradient(const ScoreRow& weights, const ScoreRow& d_weights, double factor, double mean,
                               const SlopeOf& slope_of) {
  write_gradient(
      weights, d_weights, factor, mean, slope_of,
      [](std::size_t, std::size_t, Floats, Floats, Floats) SHARPMAX_PASS {}, []() SHARPMAX_PASS {});
}

// Sum of dz_j (e_j - m) over the scores kept in the workspace.
class GapSum {
 public:
  explicit HWY_INLINE GapSum(const GradientCall& call) : scores_(call.workspace.scores()), top_(call.max) {}
  HWY_INLINE void add(std::size_t k, std::size_t index, Floats slope, Floats centred) {
    // A masked key has gradient 0 and gap -inf: their product must be 0.
    const Floats gap = hn::Max(Splat(std::numeric_limits<float>::lowest()),
                               hn::Sub(hn::LoadU(FloatTag(), scores_ + index), Splat(top_)));
    sum_.add_product(k, hn::Mul(slope, centred), gap);
  }
  HWY_INLINE void fold() { sum_.fold(); }
  HWY_INLINE double value() const { return sum_.value(); }

 private:
  RowSum sum_;
  const float* scores_;
  float top_;
};

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();
#endif
