#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "audit/analysis/row_geometry.h"
#include "base/numbers.h"
#include "theory/selection.h"

namespace sharpmax::audit {
namespace {

void number(std::size_t all, std::vector<std::int32_t>& keys) {
  keys.resize(all);
  std::iota(keys.begin(), keys.end(), 0);
}

}  // namespace

void top_keys(std::span<const double> weights, std::int64_t count, std::vector<std::int32_t>& keys) {
  number(weights.size(), keys);
  const auto heavier = [&](std::int32_t a, std::int32_t b) {
    const double of_a = weights[static_cast<std::size_t>(a)], of_b = weights[static_cast<std::size_t>(b)];
    return of_a != of_b ? of_a > of_b : a < b;
  };
  const auto last = keys.begin() + std::min(count, static_cast<std::int64_t>(keys.size()));
  if (last != keys.end()) std::nth_element(keys.begin(), last, keys.end(), heavier);
  std::sort(keys.begin(), last, heavier);
  keys.erase(last, keys.end());
}

void random_keys(const CounterRandom& random, std::uint64_t row, std::int64_t all, std::int64_t count,
                 std::vector<std::int32_t>& keys) {
  number(static_cast<std::size_t>(all), keys);
  count = std::min(count, all);
  std::array<std::uint32_t, 4> bits{};
  // Fisher and Yates, as far as needed. A 32-bit draw scaled down favours no key by more than all / 2^32.
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::uint64_t>(i);
    if (at % 4 == 0) bits = random.bits((row << 20) + at / 4);
    const std::uint64_t left = static_cast<std::uint64_t>(all - i);
    const std::uint64_t other = at + ((bits[at % 4] * left) >> 32);
    std::swap(keys[at], keys[other]);
  }
  keys.resize(static_cast<std::size_t>(count));
}

void RowSelection::start(const GramView& gram, const double* c) {
  gram_ = gram;
  c_ = c;
  square_ = 0.0;
  const auto keys = static_cast<std::size_t>(gram.keys);
  own_.resize(keys);
  twice_.resize(keys);
  projection_.assign(keys, 0.0);
  left_.assign(keys, 1.0);
  for (std::size_t i = 0; i < keys; ++i) {
    own_[i] = c[i] * c[i] * gram.square(static_cast<std::int64_t>(i));
    twice_[i] = 2.0 * c[i];
  }
}

// |s|^2 and what is left, before s itself grows.
void RowSelection::count_in(std::int64_t key) {
  const auto at = static_cast<std::size_t>(key);
  square_ += twice_[at] * projection_[at] + own_[at];
  left_[at] = 0.0;
}

void RowSelection::take(std::int64_t key) {
  count_in(key);
  add_key(c_[key], gram_.row(key), gram_.keys, projection_.data());
}

double RowSelection::take_and_sum(std::int64_t key) {
  count_in(key);
  return add_key_and_sum(c_[key], gram_.row(key), parts(), square_, projection_.data());
}

double RowSelection::square_to(std::int64_t key) const {
  const auto at = static_cast<std::size_t>(key);
  const double square = square_ + (own_[at] - twice_[at] * projection_[at]);
  return square < 0 ? 0.0 : square;
}

namespace {

// Weights that a softmax gives sum to one up to rounding; what misses it by more has no theorem 1.1.
constexpr double kSumsToOne = 1e-9;

double root(double square) { return square < 0 ? 0.0 : std::sqrt(square); }

// How many N of the plan the row has: those that leave a key out.
std::size_t tops_below(const DistancePlan& plan, std::int64_t keys) {
  return static_cast<std::size_t>(std::lower_bound(plan.tops.begin(), plan.tops.end(), keys) -
                                  plan.tops.begin());
}

}  // namespace

struct RowDistances::Moments {
  std::size_t tops = 0;  // of the plan that the row has
  double keys = 0.0;     // n
  double weight = 0.0;   // sum of weights
  double least = 0.0;    // the least of them, or 0
  double squares = 0.0;  // sum of |y_i|^2
  double square = 0.0;   // |sum of y_i|^2
};

Distances& Distances::operator+=(const Distances& other) {
  const auto add = [](Distance& to, const Distance& more) {
    to.chosen += more.chosen;
    to.drawn += more.drawn;
    to.drawn_bound += more.drawn_bound;
    to.chosen_bound += more.chosen_bound;
  };
  add(sum, other.sum);
  add(norm, other.norm);
  return *this;
}

Distances Distances::divided_by(double count) const {
  const auto of = [&](const Distance& d) {
    return Distance{d.chosen / count, d.drawn / count, d.drawn_bound / count, d.chosen_bound / count};
  };
  return {of(sum), of(norm)};
}

void RowDistances::add(const WeighedRow& row, const DistancePlan& plan, const CounterRandom& random,
                       std::uint64_t row_number, std::span<Distances> out) {
  const std::int64_t keys = row.gram.keys;
  Moments all{tops_below(plan, keys), static_cast<double>(keys)};
  if (all.tops == 0) return;
  products_.resize(to_size(keys));
  selection_.start(row.gram, row.weights);
  for (std::size_t i = 0; i < to_size(keys); ++i) {
    products_[i] = row.weights[i] * row.output[i];
    all.weight += row.weights[i];
    all.least = std::min(all.least, row.weights[i]);
    all.squares += selection_.own()[i];
    all.square += products_[i];
  }
  if (!std::isfinite(all.weight) || !std::isfinite(all.squares) || !std::isfinite(all.square)) {
    const Distance poisoned{kNaN, kNaN, kNaN, kNaN};
    for (std::size_t k = 0; k < all.tops; ++k) out[k] += Distances{poisoned, poisoned};
    return;
  }
  const std::int64_t most = plan.tops[all.tops - 1];
  add_drawn_bounds(plan, all, out);
  top_keys({row.weights, to_size(keys)}, most, keys_);
  add_chosen(row, plan, all, out);
  for (int draw = 0; draw < plan.draws; ++draw) {
    random_keys(random,
                row_number * static_cast<std::uint64_t>(plan.draws) + static_cast<std::uint64_t>(draw), keys,
                most, keys_);
    selection_.start(row.gram, row.weights);
    add_drawn(plan, all, out);
  }
}

// Takes keys_ from `taken` up to `count`, of which there is at least one; the sum of distances then.
double RowDistances::take_up_to(std::size_t count, std::size_t taken) {
  for (; taken + 1 < count; ++taken) selection_.take(keys_[taken]);
  return selection_.take_and_sum(keys_[taken]);
}

void RowDistances::add_chosen(const WeighedRow& row, const DistancePlan& plan, const Moments& all,
                              std::span<Distances> out) {
  const std::int64_t keys = row.gram.keys;
  const bool bounds = std::abs(all.weight - 1.0) <= kSumsToOne && all.least >= 0 &&
                      std::find(plan.bounded.begin(), plan.bounded.end(), true) != plan.bounded.end();
  squares_.resize(to_size(keys));
  for (std::int64_t i = 0; i < keys; ++i) squares_[to_size(i)] = row.gram.square(i);
  reach_.assign(to_size(keys), -std::numeric_limits<double>::infinity());
  double weight = 0.0, product = 0.0, longest = 0.0;
  for (std::size_t k = 0, taken = 0; k < all.tops; ++k) {
    out[k].sum.chosen += take_up_to(to_size(plan.tops[k]), taken);
    for (; taken < to_size(plan.tops[k]); ++taken) {
      const std::int64_t key = keys_[taken];
      weight += row.weights[key];
      product += products_[to_size(key)];
      longest = std::max(longest, squares_[to_size(key)]);
      if (bounds) raise_reach(squares_[to_size(key)], row.gram.row(key), keys, reach_.data());
    }
    out[k].norm.chosen += root(all.square - 4.0 * product + 4.0 * selection_.square());
    if (bounds && plan.bounded[k]) {
      add_chosen_bounds(row, all, taken, weight, longest, out[k]);
    } else {
      out[k].sum.chosen_bound = out[k].norm.chosen_bound = kNaN;
    }
  }
}

void RowDistances::add_chosen_bounds(const WeighedRow& row, const Moments& all, std::size_t taken,
                                     double weight, double longest, Distances& out) const {
  double longest_left = 0.0;
  for (std::size_t i = 0; i < squares_.size(); ++i)
    longest_left = std::max(longest_left, selection_.left()[i] * squares_[i]);
  const theory::SelectionFacts facts{
      .length = all.keys,
      .selected = static_cast<double>(taken),
      .selected_sum = std::min(1.0, weight),
      .largest_gap = root(largest_sum(squares_.data(), reach_.data(), selection_.left(), row.gram.keys)),
      .selected_norm = root(longest),
      .left_norm = root(longest_left)};
  out.sum.chosen_bound += theory::fixed_selection_bound(facts, theory::DistanceReading::cumulative);
  out.norm.chosen_bound += theory::fixed_selection_bound(facts, theory::DistanceReading::joint);
}

void RowDistances::add_drawn(const DistancePlan& plan, const Moments& all, std::span<Distances> out) {
  const double share = 1.0 / plan.draws;
  double product = 0.0;
  for (std::size_t k = 0, taken = 0; k < all.tops; ++k) {
    out[k].sum.drawn += share * take_up_to(to_size(plan.tops[k]), taken);
    for (; taken < to_size(plan.tops[k]); ++taken) product += products_[to_size(keys_[taken])];
    out[k].norm.drawn += share * root(all.square - 4.0 * product + 4.0 * selection_.square());
  }
}

// Given that key i is left out, E|s - y_i|^2 is linear in |y_i|^2 and y_i.Y, Y the sum of all y: a selection
// of N holds another key with chance N / (n - 1), two others with chance N (N - 1) / ((n - 1) (n - 2)).
void RowDistances::add_drawn_bounds(const DistancePlan& plan, const Moments& all,
                                    std::span<Distances> out) const {
  const double n = all.keys;
  for (std::size_t k = 0; k < all.tops; ++k) {
    const auto taken = static_cast<double>(plan.tops[k]);
    const double one = taken / (n - 1.0);
    const double two = taken > 1.0 ? one * (taken - 1.0) / (n - 2.0) : 0.0;
    const double constant = one * all.squares + two * (all.square - all.squares);
    const double roots = sum_of_roots(constant, 1.0 + one + 2.0 * two, selection_.own(), -2.0 * (one + two),
                                      products_.data(), static_cast<std::int64_t>(products_.size()));
    out[k].sum.drawn_bound += (n - taken) / n * roots;
    const double share = taken / n;
    const double pairs = taken > 1.0 ? share * (taken - 1.0) / (n - 1.0) : 0.0;
    const double square = share * all.squares + pairs * (all.square - all.squares);  // E|s|^2
    out[k].norm.drawn_bound += root((1.0 - 4.0 * share) * all.square + 4.0 * square);
  }
}

namespace {

}  // namespace

void RowSeparability::add(const WeighedRow& row, std::span<const std::int64_t> tops,
                          std::span<Separability> out) {
  const std::int64_t keys = row.gram.keys;
  const auto there =
      static_cast<std::size_t>(std::lower_bound(tops.begin(), tops.end(), keys) - tops.begin());
  if (there == 0) return;
  unit_weights_.resize(to_size(keys));
  lengths_.resize(to_size(keys));
  double all = 0.0;
  for (std::size_t i = 0; i < to_size(keys); ++i) {
    const double square = row.gram.square(static_cast<std::int64_t>(i));
    lengths_[i] = square > 0 ? 1.0 / std::sqrt(square) : square;  // 0 stays, NaN too
    unit_weights_[i] = row.weights[i] * lengths_[i];
    all += unit_weights_[i];
  }
  if (!std::isfinite(all)) {
    for (std::size_t k = 0; k < there; ++k) out[k] = {kNaN, kNaN, kNaN};
    return;
  }
  top_keys({row.weights, to_size(keys)}, tops[there - 1], keys_);
  selection_.start(row.gram, unit_weights_.data());
  double closest = -1.0;  // the largest cosine of two keys taken
  for (std::size_t k = 0, taken = 0; k < there; ++k) {
    for (; taken < to_size(tops[k]); ++taken) {
      closest = std::max(closest, closest_of(row, taken));
      selection_.take(keys_[taken]);
    }
    const double least = selection_.least_square_left();
    out[k].share += share_of(taken, least);
    add_bounds(row, taken, std::sqrt(least), closest, out[k]);
  }
}

double RowSeparability::share_of(std::size_t taken, double least) const {
  std::size_t nearer = 0;
  for (std::size_t i = 0; i < taken; ++i) nearer += selection_.square_to(keys_[i]) < least;
  return static_cast<double>(nearer) / static_cast<double>(taken);
}

// The largest cosine between the key at `taken` and those before it.
double RowSeparability::closest_of(const WeighedRow& row, std::size_t taken) const {
  if (taken == 0) return -1.0;
  const std::int64_t key = keys_[taken];
  const double* const products = row.gram.row(key);
  double closest = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < taken; ++i)
    closest = std::max(closest, products[keys_[i]] * lengths_[to_size(keys_[i])]);
  return closest * lengths_[to_size(key)];
}

// Vectors of length 1 of which no two have a larger cosine than `closest`: |s - y_i| is at most xi_i, xi_i^2
// = sum of a_j^2 + closest (sum of a_j a_k) over j, k other than i and each other. The share is at least 1 -
// (sum of xi) / (N r), and at least the share of xi below r.
void RowSeparability::add_bounds(const WeighedRow& row, std::size_t taken, double least, double closest,
                                 Separability& out) const {
  double sum = 0.0, squares = 0.0, reaches = 0.0;
  for (std::size_t i = 0; i < taken; ++i) {
    const double a = row.weights[keys_[i]];
    sum += a;
    squares += a * a;
  }
  std::size_t within = 0;
  for (std::size_t i = 0; i < taken; ++i) {
    const double a = row.weights[keys_[i]];
    const double others = squares - a * a, pairs = (sum - a) * (sum - a) - others;
    const double reach = std::sqrt(std::max(0.0, others + closest * pairs));
    reaches += reach;
    within += reach < least;
  }
  const auto count = static_cast<double>(taken);
  // A row that puts all weight on one key has no reach and, where it leaves others at 0, no r.
  out.bound += least > 0 ? 1.0 - reaches / (count * least) : 0.0;
  out.counted += static_cast<double>(within) / count;
}

}  // namespace sharpmax::audit
