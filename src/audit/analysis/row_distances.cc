#include "audit/analysis/row_distances.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "audit/analysis/selection.h"
#include "base/numbers.h"
#include "theory/selection.h"

namespace sharpmax::audit {
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

}  // namespace sharpmax::audit
