#include "audit/analysis/row_geometry.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "audit/analysis/row_kernels.cc"
// foreach_target before all that is compiled for every instruction set.
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sharpmax::audit {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<double>;
using Vec = hn::Vec<Tag>;

HWY_INLINE std::int64_t LaneCount() { return static_cast<std::int64_t>(hn::Lanes(Tag())); }

Vec LoadPart(const double* x, std::int64_t count) {
  HWY_ALIGN double part[hn::MaxLanes(Tag())] = {};
  std::copy_n(x, count, part);
  return hn::Load(Tag(), part);
}

// Loads a vector at `i` of which `there` lanes are there; the rest are 0.
struct Loader {
  std::int64_t i, there;
  HWY_INLINE Vec operator()(const double* x) const {
    return there == LaneCount() ? hn::LoadU(Tag(), x + i) : LoadPart(x + i, there);
  }
  HWY_INLINE void store(Vec v, double* out) const {
    if (there == LaneCount()) return hn::StoreU(v, Tag(), out + i);
    HWY_ALIGN double part[hn::MaxLanes(Tag())];
    hn::Store(v, Tag(), part);
    std::copy_n(part, there, out + i);
  }
};

// body(load, which) for all keys; `which` alternates, so that two chains of sums run side by side.
template <class Body>
HWY_INLINE void ForKeys(std::int64_t keys, const Body& body) {
  const std::int64_t lanes = LaneCount();
  std::int64_t i = 0;
  for (; i + 2 * lanes <= keys; i += 2 * lanes) {
    body(Loader{i, lanes}, 0);
    body(Loader{i + lanes, lanes}, 1);
  }
  for (; i < keys; i += lanes) body(Loader{i, std::min(lanes, keys - i)}, 0);
}

// The sum of term(load) over all keys, where a lane without a key gives 0.
template <class Term>
HWY_INLINE double SumOf(std::int64_t keys, const Term& term) {
  Vec even = hn::Zero(Tag()), odd = hn::Zero(Tag());
  ForKeys(keys, [&](const Loader& load, int which) {
    Vec& sum = which == 0 ? even : odd;
    sum = hn::Add(sum, term(load));
  });
  return hn::GetLane(hn::SumOfLanes(Tag(), hn::Add(even, odd)));
}

// Not Max(0, v), which on some machines turns NaN into 0.
HWY_INLINE Vec RootOf(Vec v) { return hn::Sqrt(hn::IfThenZeroElse(hn::Lt(v, hn::Zero(Tag())), v)); }

void AddKey(double c, const double* gram, std::int64_t keys, double* projection) {
  const Vec by = hn::Set(Tag(), c);
  ForKeys(keys, [&](const Loader& load, int) {
    load.store(hn::MulAdd(by, load(gram), load(projection)), projection);
  });
}

// |s - y_i|^2 - |s|^2
HWY_INLINE Vec Excess(const RowParts& row, const Loader& load) {
  return hn::NegMulAdd(load(row.twice), load(row.projection), load(row.own));
}

double SumOfDistances(const RowParts& row, double square) {
  const Vec all = hn::Set(Tag(), square);
  return SumOf(row.keys, [&](const Loader& load) {
    return hn::Mul(load(row.left), RootOf(hn::Add(all, Excess(row, load))));
  });
}

double AddKeyAndSum(double c, const double* gram, const RowParts& row, double square, double* projection) {
  const Vec by = hn::Set(Tag(), c), all = hn::Set(Tag(), square);
  return SumOf(row.keys, [&](const Loader& load) {
    const Vec moved = hn::MulAdd(by, load(gram), load(projection));
    load.store(moved, projection);
    const Vec excess = hn::NegMulAdd(load(row.twice), moved, load(row.own));
    return hn::Mul(load(row.left), RootOf(hn::Add(all, excess)));
  });
}

double LeastSquare(const RowParts& row, double square) {
  const Tag d;
  const Vec none = hn::Set(d, std::numeric_limits<double>::infinity());
  Vec least = none;
  bool poisoned = false;
  ForKeys(row.keys, [&](const Loader& load, int) {
    const Vec excess = hn::IfThenElse(hn::Gt(load(row.left), hn::Zero(d)), Excess(row, load), none);
    poisoned |= !hn::AllFalse(d, hn::IsNaN(excess));
    least = hn::Min(least, excess);
  });
  if (poisoned) return std::numeric_limits<double>::quiet_NaN();
  return std::max(0.0, square + hn::GetLane(hn::MinOfLanes(d, least)));
}

double SumOfRoots(double constant, double by_first, const double* first, double by_second,
                  const double* second, std::int64_t keys) {
  const Tag d;
  const Vec c = hn::Set(d, constant), u = hn::Set(d, by_first), v = hn::Set(d, by_second);
  return SumOf(keys, [&](const Loader& load) {
    const Vec root = RootOf(hn::MulAdd(u, load(first), hn::MulAdd(v, load(second), c)));
    if (load.there == LaneCount()) return root;
    return hn::IfThenElseZero(hn::FirstN(d, static_cast<std::size_t>(load.there)), root);
  });
}

void RaiseReach(double square_j, const double* gram, std::int64_t keys, double* reach) {
  const Vec square = hn::Set(Tag(), square_j), two = hn::Set(Tag(), 2.0);
  ForKeys(keys, [&](const Loader& load, int) {
    load.store(hn::Max(load(reach), hn::NegMulAdd(two, load(gram), square)), reach);
  });
}

double LargestSum(const double* first, const double* second, const double* left, std::int64_t keys) {
  const Tag d;
  const Vec none = hn::Set(d, -std::numeric_limits<double>::infinity());
  Vec largest = none;
  ForKeys(keys, [&](const Loader& load, int) {
    const Vec sum = hn::Add(load(first), load(second));
    largest = hn::Max(largest, hn::IfThenElse(hn::Gt(load(left), hn::Zero(d)), sum, none));
  });
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

HWY_INLINE Vec Moved(const Loader& load, const double* scores, const double* direction, Vec step) {
  return direction ? hn::MulAdd(step, load(direction), load(scores)) : load(scores);
}

double Exponentials(const double* scores, const double* direction, double step, double highest, double rate,
                    std::int64_t keys, double* out) {
  const Tag d;
  const Vec by = hn::Set(d, step), top = hn::Set(d, highest), times = hn::Set(d, rate);
  return SumOf(keys, [&](const Loader& load) {
    const Vec e = hn::Exp(d, hn::Mul(hn::Sub(Moved(load, scores, direction, by), top), times));
    load.store(e, out);
    if (load.there == LaneCount()) return e;
    return hn::IfThenElseZero(hn::FirstN(d, static_cast<std::size_t>(load.there)), e);
  });
}

double HighestOf(const double* scores, const double* direction, double step, std::int64_t keys) {
  const Tag d;
  const Vec by = hn::Set(d, step), none = hn::Set(d, -std::numeric_limits<double>::infinity());
  Vec highest = none;
  ForKeys(keys, [&](const Loader& load, int) {
    const auto there = hn::FirstN(d, static_cast<std::size_t>(load.there));
    highest = hn::Max(highest, hn::IfThenElse(there, Moved(load, scores, direction, by), none));
  });
  return hn::GetLane(hn::MaxOfLanes(d, highest));
}

double SquaredDifference(const double* first, double by_first, const double* second, double by_second,
                         std::int64_t keys) {
  const Vec u = hn::Set(Tag(), by_first), v = hn::Set(Tag(), by_second);
  return SumOf(keys, [&](const Loader& load) {
    const Vec off = hn::Sub(hn::Mul(u, load(first)), hn::Mul(v, load(second)));
    return hn::Mul(off, off);
  });
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax::audit
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sharpmax::audit {

HWY_EXPORT(AddKey);
HWY_EXPORT(SumOfDistances);
HWY_EXPORT(AddKeyAndSum);
HWY_EXPORT(LeastSquare);
HWY_EXPORT(SumOfRoots);
HWY_EXPORT(RaiseReach);
HWY_EXPORT(LargestSum);
HWY_EXPORT(Exponentials);
HWY_EXPORT(HighestOf);
HWY_EXPORT(SquaredDifference);

void add_key(double c, const double* gram, std::int64_t keys, double* projection) {
  HWY_DYNAMIC_DISPATCH(AddKey)(c, gram, keys, projection);
}
double sum_of_distances(const RowParts& row, double square) {
  return HWY_DYNAMIC_DISPATCH(SumOfDistances)(row, square);
}
double add_key_and_sum(double c, const double* gram, const RowParts& row, double square, double* projection) {
  return HWY_DYNAMIC_DISPATCH(AddKeyAndSum)(c, gram, row, square, projection);
}
double least_square(const RowParts& row, double square) {
  return HWY_DYNAMIC_DISPATCH(LeastSquare)(row, square);
}
double sum_of_roots(double constant, double by_first, const double* first, double by_second,
                    const double* second, std::int64_t keys) {
  return HWY_DYNAMIC_DISPATCH(SumOfRoots)(constant, by_first, first, by_second, second, keys);
}
void raise_reach(double square_j, const double* gram, std::int64_t keys, double* reach) {
  HWY_DYNAMIC_DISPATCH(RaiseReach)(square_j, gram, keys, reach);
}
double largest_sum(const double* first, const double* second, const double* left, std::int64_t keys) {
  return HWY_DYNAMIC_DISPATCH(LargestSum)(first, second, left, keys);
}
double exponentials(const double* scores, const double* direction, double step, double highest, double rate,
                    std::int64_t keys, double* out) {
  return HWY_DYNAMIC_DISPATCH(Exponentials)(scores, direction, step, highest, rate, keys, out);
}
double highest_of(const double* scores, const double* direction, double step, std::int64_t keys) {
  return HWY_DYNAMIC_DISPATCH(HighestOf)(scores, direction, step, keys);
}
double squared_difference(const double* first, double by_first, const double* second, double by_second,
                          std::int64_t keys) {
  return HWY_DYNAMIC_DISPATCH(SquaredDifference)(first, by_first, second, by_second, keys);
}

}  // namespace sharpmax::audit
#endif  // HWY_ONCE
