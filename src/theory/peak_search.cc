// Of any normalizer, through its specification.
#include "theory/peak_search.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "theory/arguments.h"
#include "theory/climb.h"

namespace sharpmax::theory {
namespace {

constexpr int kGrid = 4;        // steps between the ends of each coordinate, before climbing
constexpr double kLast = 1e-7;  // the last step of a climb

double largest_weight(std::span<const double> weights) { return *std::max_element(weights.begin(), weights.end()); }

// Rows of three distinct scores, as coordinates in [0, 1]: how many keys the second group has, then the
// scores of the winner, the second group and the rest. The winner is the newest key or the oldest: some
// members care.
class ThreeScores {
 public:
  using Place = std::array<double, 4>;

  ThreeScores(const AnyNormalizer& normalizer, std::size_t head, std::size_t n, const ScoreInterval& scores)
      : normalizer_(normalizer), head_(head), scores_(scores), row_(n), weights_(n) {}

  // NaN: the row has no weight.
  double share_at(const Place& at, bool newest) {
    const double weight = weight_at(at, newest);
    double mass = 0.0;
    for (const double w : weights_) mass += w;
    return mass > 0.0 ? weight / mass : kNoValue;
  }
  double weight_at(const Place& at, bool newest) {
    const auto score = [&](double place) { return scores_.bottom + place * scores_.spread(); };
    const auto second = static_cast<std::size_t>(group_size(at[0], static_cast<double>(row_.size()) - 1.0));
    std::fill(row_.begin(), row_.end(), score(at[3]));
    std::fill_n(row_.begin(), second + 1, score(at[2]));
    row_.front() = score(at[1]);
    if (newest) std::reverse(row_.begin(), row_.end());
    weigh_row(normalizer_, head_, row_, weights_);
    return largest_weight(weights_);
  }

 private:
  const AnyNormalizer& normalizer_;
  std::size_t head_;
  ScoreInterval scores_;
  std::vector<double> row_, weights_;
};

// The largest value that is found; NaN is none.
template <class Value>
double most(const Value& value) {
  const auto known = [&](const ThreeScores::Place& at) {
    const double v = value(at);
    return std::isnan(v) ? -HUGE_VAL : v;
  };
  const Best<4> best = climbed(best_of_grid<4>({kGrid, kGrid, kGrid, kGrid}, known), known, kLast);
  return best.value == -HUGE_VAL ? kNoValue : best.value;
}

template <class Value>
Range range_of(const Value& value) {
  Range range{kNoValue, kNoValue};
  for (const bool newest : {true, false}) {
    // fmax and fmin take the number where there is one.
    range.high = std::fmax(range.high, most([&](const ThreeScores::Place& at) { return value(at, newest); }));
    range.low = std::fmin(range.low, -most([&](const ThreeScores::Place& at) { return -value(at, newest); }));
  }
  return range;
}

}  // namespace

PeakRange searched_range(const AnyNormalizer& normalizer, double n, const ScoreInterval& scores,
                         std::size_t head) {
  if (n > kMostSearchedKeys || n != std::floor(n))
    throw Error(
        ErrorCode::unsupported,
        fmt::format("{}: no closed form is known, and rows of {} keys are not searched; a whole n of at "
                    "most {} was wanted",
                    normalizer.name(), n, kMostSearchedKeys));
  ThreeScores rows(normalizer, head, static_cast<std::size_t>(n), scores);
  using Place = ThreeScores::Place;
  const Range share = range_of([&](const Place& at, bool newest) { return rows.share_at(at, newest); });
  const Range weight = range_of([&](const Place& at, bool newest) { return rows.weight_at(at, newest); });
  return {.share = share,
          .weight = weight,
          .untied_low = share.low,
          .ceiling = 1.0,
          .knowledge = Knowledge::search,
          .sums_to_one = false,
          .moves_with_level = true};
}

}  // namespace sharpmax::theory
