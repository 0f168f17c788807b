// The search of temperature_search-inl.h over the candidates of several rows together: lane r is row r.
//
// A search is a chain of sweeps, each of which waits for the sums and logarithms of the one before. Row by row a
// processor spends its time waiting; a vector of rows waits once for all of them, and no sum goes across lanes. A lane
// does the same whatever its neighbors are, so a row has the same bits in every group.
#if defined(SHARPMAX_ROWS_TEMPERATURE_GROUP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_ROWS_TEMPERATURE_GROUP_INL_H_
#undef SHARPMAX_ROWS_TEMPERATURE_GROUP_INL_H_
#else
#define SHARPMAX_ROWS_TEMPERATURE_GROUP_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>

#include "attention/rows/math-inl.h"
#include "attention/rows/row.h"
#include "attention/rows/scan-inl.h"
#include "attention/rows/temperature_search-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

inline constexpr std::size_t kGroupRows = hn::MaxLanes(FloatTag());
static_assert(kGroupRows <= RowWorkspace::kMostGroupRows);

// A row whose largest score is finite, before anything is recorded of it.
struct OpenedRow {
  Maxima maxima{};
  Rule rule;
  double keys = 0.0;  // unmasked
};

HWY_INLINE HWY_MAYBE_UNUSED bool has_target(const Rule& rule) {
  return rule.kind == RuleKind::entropy_target || rule.kind == RuleKind::peak_target;
}

// Rows at one temperature each, in float, which is enough for a rough search: over the keys below the largest score, with
// z = beta g, of exp(z), exp(z) z and exp(z) z^2.
struct GroupSurvey {
  Floats tail, moment, square;
};

// `gaps`: [key][row]; -inf for a missing key or one that shares the largest score.
HWY_INLINE HWY_MAYBE_UNUSED GroupSurvey survey_group(const float* gaps, std::size_t keys, Floats beta) {
  const FloatTag d;
  const Exponential exponential(1.0);
  const Floats zero = hn::Zero(d);
  const Floats least = Splat(-104.0f);  // its weight is exactly 0, so a missing key changes no sum by a bit
  GroupSurvey sums{zero, zero, zero};
  for (std::size_t k = 0; k < keys; ++k) {
    const Floats z = hn::Max(hn::Mul(beta, hn::Load(d, gaps + k * kGroupRows)), least);
    const Floats weight = exponential(z);
    const Floats product = hn::Mul(weight, z);
    sums.tail = hn::Add(sums.tail, weight);
    sums.moment = hn::Add(sums.moment, product);
    sums.square = hn::MulAdd(product, z, sums.square);
  }
  return sums;
}

// Where ln value was seen in each row, and its slope there.
struct GroupPoint {
  Floats beta, height, slope;
};

// One kind of target, each row its own bound.
class GroupTarget {
 public:
  HWY_INLINE GroupTarget(RuleKind kind, Floats bound, Floats ties)
      : entropy_(kind == RuleKind::entropy_target), bound_(bound), ties_(ties) {}

  struct Value {
    Floats value, slope, variance;  // the variance of z
  };
  HWY_INLINE Value at(const GroupSurvey& s, Floats beta) const {
    const Floats one = Splat(1.0f), more = hn::Add(hn::Sub(ties_, one), s.tail);
    if (!entropy_) return {more, hn::Div(s.moment, beta), one};
    const Floats sum = hn::Add(ties_, s.tail), mean = hn::Div(s.moment, sum);
    const Floats variance = hn::Sub(hn::Div(s.square, sum), hn::Mul(mean, mean));
    const Floats log1p = hn::IfThenElse(hn::Le(more, one), logarithm_of_one_plus(more), logarithm(sum));
    return {hn::Sub(log1p, mean), hn::Neg(hn::Div(variance, beta)), variance};
  }
  HWY_INLINE GroupPoint point(const Value& v, Floats beta) const {
    const Floats least = Splat(std::numeric_limits<float>::min());
    return {beta, logarithm(hn::Max(hn::Div(v.value, bound_), least)), hn::Div(v.slope, v.value)};
  }
  // As TemperatureTarget::first_guess from beta = 1.
  HWY_INLINE Floats first_guess(const Value& v, const GroupPoint& at) const {
    const Floats one = Splat(1.0f);
    if (!entropy_) return hn::Sub(one, hn::Div(at.height, at.slope));
    const Floats over = hn::Sub(v.value, bound_);
    return hn::Sqrt(hn::Add(one, hn::Div(hn::Add(over, over), v.variance)));
  }

 private:
  bool entropy_;
  Floats bound_, ties_;
};

// As interpolate() with the aim 0.
HWY_INLINE HWY_MAYBE_UNUSED Floats interpolate_group(const GroupPoint& a, const GroupPoint& b) {
  const Floats one = Splat(1.0f), two = Splat(2.0f);
  const Floats width = hn::Sub(b.height, a.height);
  const Floats t = hn::Neg(hn::Div(a.height, width)), s = hn::Sub(one, t);
  const Floats left = hn::MulAdd(hn::MulAdd(two, t, one), a.beta, hn::Div(hn::Mul(t, width), a.slope));
  const Floats right = hn::NegMulAdd(s, hn::Div(width, b.slope), hn::Mul(hn::MulAdd(two, s, one), b.beta));
  return hn::MulAdd(hn::Mul(s, s), left, hn::Mul(hn::Mul(t, t), right));
}

// The rough temperatures of the rows in `wanted`; 0 where none was found soon.
HWY_NOINLINE inline Floats search_group(const float* gaps, std::size_t keys, const GroupTarget& target,
                                        const GroupTarget::Value& first, hn::Mask<FloatTag> wanted) {
  constexpr int kMostSweeps = 20;
  constexpr float kClose = 1e-3f;  // ln(value / bound): what the step over the whole row makes good with ease
  const FloatTag d;
  const Floats zero = hn::Zero(d), half = Splat(0.5f), two = Splat(2.0f);
  const Floats close = Splat(kClose);
  Floats low = Splat(1.0f), high = Splat(static_cast<float>(kLargestTemperature)), found = zero;
  GroupPoint before = target.point(first, low), now = before;
  Floats next = target.first_guess(first, now);
  for (int i = 0; i < kMostSweeps; ++i) {
    const auto inside = hn::And(hn::Gt(next, low), hn::Lt(next, high));
    const Floats middle = hn::IfThenElse(hn::Gt(high, hn::Mul(two, low)), hn::Mul(hn::Sqrt(low), hn::Sqrt(high)),
                                         hn::Mul(half, hn::Add(low, high)));
    next = hn::IfThenElse(inside, next, middle);
    before = now;
    now = target.point(target.at(survey_group(gaps, keys, next), next), next);
    const auto sharp = hn::Le(now.height, zero);
    high = hn::IfThenElse(sharp, next, high);
    low = hn::IfThenElse(sharp, low, next);
    const auto accepted = hn::And(wanted, hn::Le(hn::Abs(now.height), close));
    found = hn::IfThenElse(accepted, next, found);
    wanted = hn::AndNot(accepted, wanted);
    if (hn::AllFalse(d, wanted)) break;
    const Floats farther = hn::Max(hn::Abs(now.height), hn::Abs(before.height));
    const auto near = hn::And(hn::Lt(farther, two), hn::Not(hn::Eq(now.height, before.height)));
    const Floats tangent = hn::Sub(now.beta, hn::Div(now.height, now.slope));
    next = hn::IfThenElse(near, interpolate_group(before, now), tangent);
  }
  return found;
}

// Rows as they go into a search: what is not theirs holds what does no harm.
struct GroupOfRows {
  HWY_ALIGN float bounds[kGroupRows];
  HWY_ALIGN float ties[kGroupRows];
  HWY_ALIGN float rough[kGroupRows];
  HWY_ALIGN float values[kGroupRows];  // at beta = 1
  bool taken[kGroupRows];
  std::size_t keys = 0;  // of the row with most candidates
};

// The candidates of the rows under `kind` into the workspace, [key][row]. Rows with too many are left out.
HWY_INLINE HWY_MAYBE_UNUSED void gather_candidates(std::span<const ScoreRow> rows, const OpenedRow* opened,
                                                   RuleKind kind, RowWorkspace& workspace, GroupOfRows& group) {
  constexpr std::size_t kMost = RowWorkspace::kMostCandidates;
  constexpr float kLeastBound = 1e-30f;  // far above the weights that count as 0
  float* const gaps = workspace.group_gaps();
  float* const line = workspace.group_line();
  std::size_t filled = 0;  // keys that are there for all rows
  std::fill_n(group.bounds, kGroupRows, 1.0f);
  std::fill_n(group.taken, kGroupRows, false);
  const auto widen = [&](std::size_t keys) HWY_ATTR {
    if (keys <= filled) return;
    std::fill(gaps + filled * kGroupRows, gaps + keys * kGroupRows, -kInfinity);
    filled = keys;
  };
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (opened[r].rule.kind != kind) continue;
    const TemperatureTarget target(kind, opened[r].rule.target);
    const Maxima& maxima = opened[r].maxima;
    const std::size_t count = collect_heaviest(rows[r], maxima.largest,
                                               target.sharp() ? maxima.few_above : maxima.some_above, kMost, line);
    const auto bound = static_cast<float>(target.bound());
    if (count > kMost || !(bound > kLeastBound && bound < kInfinity)) continue;
    widen(count);
    for (std::size_t k = 0; k < count; ++k) gaps[k * kGroupRows + r] = line[k];
    group.bounds[r] = bound;
    group.taken[r] = true;
  }
  group.keys = filled;
  const FloatTag d;
  const Floats one = Splat(1.0f), none = Splat(-kInfinity);
  Floats ties = hn::Zero(d);
  for (std::size_t k = 0; k < filled; ++k) {
    const Floats gap = hn::Load(d, gaps + k * kGroupRows);
    const auto is_largest = hn::Eq(gap, hn::Zero(d));
    ties = hn::Add(ties, hn::IfThenElseZero(is_largest, one));
    hn::Store(hn::IfThenElse(is_largest, none, gap), d, gaps + k * kGroupRows);
  }
  hn::Store(hn::Max(ties, one), d, group.ties);
}

// Looks for a start of every row that has a target. What is left unknown is searched alone.
HWY_NOINLINE inline void start_targets(std::span<const ScoreRow> rows, const OpenedRow* opened, RuleKind kind,
                                       RowWorkspace& workspace, TargetStart* starts) {
  const FloatTag d;
  GroupOfRows group;
  gather_candidates(rows, opened, kind, workspace, group);
  const Floats bound = hn::Load(d, group.bounds), one = Splat(1.0f);
  const GroupTarget target(kind, bound, hn::Load(d, group.ties));
  const auto plain = target.at(survey_group(workspace.group_gaps(), group.keys, one), one);
  hn::Store(plain.value, d, group.values);
  HWY_ALIGN float wanted[kGroupRows];
  std::fill_n(wanted, kGroupRows, 0.0f);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (!group.taken[r]) continue;
    TargetStart& start = starts[r];
    start.ties = group.ties[r];
    if (group.values[r] <= group.bounds[r]) {
      start.kind = TargetStart::Kind::sharp;
    } else if (!TemperatureTarget(kind, opened[r].rule.target).within_reach(start.ties)) {
      start.kind = TargetStart::Kind::out_of_reach;
    } else {
      wanted[r] = 1.0f;
    }
  }
  const auto searched = hn::Eq(hn::Load(d, wanted), one);
  if (hn::AllFalse(d, searched)) return;
  hn::Store(search_group(workspace.group_gaps(), group.keys, target, plain, searched), d, group.rough);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (wanted[r] == 0.0f || group.rough[r] == 0.0f) continue;
    starts[r].kind = TargetStart::Kind::nearby;
    starts[r].rough = group.rough[r];
    starts[r].look(rows[r], opened[r].maxima.largest);
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (starts[r].kind != TargetStart::Kind::nearby) continue;
    starts[r].point = point_of(TemperatureTarget(kind, opened[r].rule.target), starts[r].at);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();
#endif
