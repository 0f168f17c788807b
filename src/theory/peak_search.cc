#include <algorithm>
#include <cmath>
#include <vector>

#include "theory/arguments.h"
#include "theory/peak_range.h"

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

namespace {

double logistic(double x) noexcept {
  const double small = std::exp(-std::abs(x));
  return (x < 0.0 ? small : 1.0) / (1.0 + small);
}

PeakRange of_level(Range share, Range weight) {
  return {.share = share,
          .weight = weight,
          .untied_low = share.low,
          .ceiling = share.high,
          .sums_to_one = false,
          .moves_with_level = true};
}

// Of weights in proportion to a function that rises with the score: one key at the top, the others at the
// bottom. `ratio` is F(bottom) / F(top).
double winner_share(double ratio, double n) noexcept { return 1.0 / (1.0 + (n - 1.0) * ratio); }

constexpr Range kNoShare{kNoValue, kNoValue};

// ln(1 - logistic(x)): what a key of stick-breaking leaves, as a logarithm. Finite for finite x.
double log_rest(double x) noexcept { return -std::max(x, 0.0) - std::log1p(std::exp(-std::abs(x))); }

// Stick-breaking: the largest mass of n keys none of which takes more than the lowest score breaks off. From
// the newest key on each takes that much while it may, then the largest fraction there is of what is left.
double largest_even_mass(double n, const ScoreInterval& scores) noexcept {
  const double most = logistic(scores.bottom), steepest = logistic(scores.top);
  // Key j breaks most / (1 - j most) of the rest: at most `steepest` while j <= (1 - most / steepest) / most.
  const double full = std::min(n, std::floor((1.0 - most / steepest) / most) + 1.0);
  const double left = std::max(0.0, 1.0 - full * most);
  return full * most - left * std::expm1((n - full) * log_rest(scores.top));
}

}  // namespace

PeakRange sink_range(double c, double n, const ScoreInterval& scores) {
  const auto weight = [&](double top, double others) { return 1.0 / (1.0 + others + c * std::exp(-top)); };
  const double others = (n - 1.0) * std::exp(-scores.spread());
  PeakRange range =
      of_level({1.0 / n, 1.0 / (1.0 + others)}, {weight(scores.bottom, n - 1.0), weight(scores.top, others)});
  range.sums_to_one = c == 0.0;
  return range;
}

PeakRange sigmoid_range(double offset, double n, const ScoreInterval& scores) {
  const Range weight{logistic(scores.bottom + offset), logistic(scores.top + offset)};
  // Of logarithms: both may be too small for a double.
  const auto log_logistic = [](double x) { return std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x))); };
  const double ratio = std::exp(log_logistic(scores.bottom + offset) - log_logistic(scores.top + offset));
  return of_level({1.0 / n, winner_share(ratio, n)}, weight);
}

PeakRange relu_range(double n, const ScoreInterval& scores) {
  const Range weight{std::max(scores.bottom, 0.0) / n, std::max(scores.top, 0.0) / n};
  if (!(scores.top > 0.0)) return of_level(kNoShare, weight);
  return of_level({1.0 / n, winner_share(std::max(scores.bottom, 0.0) / scores.top, n)}, weight);
}

PeakRange softpick_range(double n, const ScoreInterval& scores) {
  if (!(scores.top > 0.0)) return of_level(kNoShare, {0.0, 0.0});
  // A score of exactly 0 costs nothing, and a negative one costs but gets nothing.
  if (!(scores.bottom > 0.0)) return of_level({1.0 / n, 1.0}, {0.0, 1.0});
  const double ratio = std::exp(-scores.spread()) * (std::expm1(-scores.bottom) / std::expm1(-scores.top));
  const Range both{1.0 / n, winner_share(ratio, n)};
  PeakRange range = of_level(both, both);
  range.sums_to_one = true;  // no score is negative
  return range;
}

PeakRange scaled_self_adjust_range(double n, const ScoreInterval& scores) {
  const double bottom = scores.bottom, top = scores.top;
  const double softmax = winner_share(std::exp(-scores.spread()), n);
  if (bottom > 0.0) {  // heights are e_j / e_max
    const double ratio = bottom / top * std::exp(-scores.spread());
    return of_level({1.0 / n, winner_share(ratio, n)}, {1.0 / n, softmax});
  }
  // The lowest key stands at height 0, unless 0 itself is the bottom of the row's range.
  if (top > 0.0) return of_level({1.0 / n, 1.0}, {0.0, softmax});
  if (n == 1.0 || !(scores.spread() > 0.0)) return of_level(kNoShare, {0.0, 0.0});
  // No score is above 0, where height 1 is: the winner stands at (top - bottom) / (0 - bottom).
  return of_level({1.0 / (n - 1.0), 1.0}, {0.0, scores.spread() / -bottom * softmax});
}

PeakRange plain_self_adjust_range(double n, const ScoreInterval& scores) {
  const double bottom = scores.bottom, top = scores.top;
  const auto lone = [&](double e, double others) { return e / (1.0 + (n - 1.0) * std::exp(others - e)); };
  // Their sum is the mean score, so one weight is at least bottom / n. Of scores below 0 the largest weight
  // is the one nearest to 0: of equal keys at the top, or of one far below the others.
  const Range weight{bottom / n, top > 0.0 ? lone(top, bottom) : std::max(top / n, lone(bottom, top))};
  if (!(bottom >= 0.0) || !(top > 0.0)) return of_level(kNoShare, weight);  // negative weights have no share
  return of_level({1.0 / n, winner_share(bottom / top * std::exp(-scores.spread()), n)}, weight);
}

PeakRange stick_breaking_range(double n, const ScoreInterval& scores) {
  const Range weight{logistic(scores.bottom), logistic(scores.top)};
  // The newest key cannot get less than weight.low; all others may be kept at that. At best the newest has
  // the top score and the older ones break as little as they can off what it leaves.
  const double older = -std::expm1((n - 1.0) * log_rest(scores.bottom));
  const double best = weight.high / (weight.high + std::exp(log_rest(scores.top)) * older);
  return of_level({weight.low / largest_even_mass(n, scores), best}, weight);
}

// Of any normalizer, through its specification.

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
    // fmax and fmin take the number if there is one.
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
        fmt::format("{}: no closed form is known, and rows of {} keys are not searched; n must be "
                    "whole and at most {}",
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

// Of softmax at a temperature that is a function of the row's entropy: adaptive temperature.

namespace {

constexpr double kEverySizeUpTo = 12.0;  // of the nearer group; beyond it a factor 1.5 apart
constexpr double kSizeFactor = 1.5;
constexpr int kNearGaps = 16, kFarGaps = 4;  // of the grid, before climbing
constexpr double kLastClimb = 1e-7;
constexpr double kMostSizes = 1e9;  // larger nearer groups are not tried; the ceiling stands
constexpr int kEntropies = 4096;    // at which the temperature is looked up for the ceiling
constexpr int kTails = 256;         // cells of the ceiling

// One winner, others in two groups: its survey at beta = 1, and its peak weight at any.
struct GroupedRow {
  double near_size, near_gap, far_size, far_gap;

  Survey survey() const noexcept {
    const double near = near_size * std::exp(-near_gap), far = far_size * std::exp(-far_gap);
    return {.max = 0.0, .tail = near + far, .moment = -(near * near_gap + far * far_gap)};
  }
  double peak(double beta) const noexcept {
    return 1.0 / (1.0 + near_size * std::exp(-beta * near_gap) + far_size * std::exp(-beta * far_gap));
  }
};

// The largest temperature over an interval of entropies, from samples over [0, ln n].
class Temperatures {
 public:
  Temperatures(const Rule& rule, const HeadParameters& parameters, double n)
      : step_(std::max(std::log(n), 1e-300) / kEntropies) {
    for (int i = 0; i <= kEntropies; ++i) {
      const Survey survey{.max = 0.0, .tail = 0.0, .moment = -step_ * i};  // of that entropy
      samples_.push_back(std::max(1.0, rule.temperature(parameters, survey)));
    }
  }
  double largest(double low, double high) const {
    const auto index = [&](double nats) {
      return static_cast<std::ptrdiff_t>(std::clamp(nats / step_, 0.0, static_cast<double>(kEntropies)));
    };
    const auto first = samples_.begin() + index(low);  // the sample before, and the one after
    return *std::max_element(first,
                             samples_.begin() + std::min<std::ptrdiff_t>(index(high) + 2, kEntropies + 1));
  }

 private:
  double step_;
  std::vector<double> samples_;
};

// Rows by their tail T = sum of exp(-gap) over the losers. Sharpened by beta >= 1 the tail is least, for
// given T, where all gaps are equal: x^beta is convex. The entropy is largest there too, and least (a chord
// of the concave -x ln x) where every gap is 0 or the spread: so T leaves the entropy an interval, and beta
// the largest value in it. T is cut into cells; each takes its lower end for the tail and both ends'
// entropies.
double ceiling_of(const Rule& rule, const HeadParameters& parameters, double n, double spread) {
  const double others = n - 1.0, floor = std::exp(-spread);
  if (others == 0.0) return 1.0;
  if (!(floor < 1.0)) return 1.0 / n;
  const Temperatures temperatures(rule, parameters, n);
  const double chord = spread * floor / (1.0 - floor);
  const auto most_entropy = [&](double t) { return std::log1p(t) + t / (1.0 + t) * std::log(others / t); };
  const auto least_entropy = [&](double t) { return std::log1p(t) + chord * (others - t) / (1.0 + t); };
  double least_tail = others;
  for (int cell = 0; cell < kTails; ++cell) {
    const double x = std::exp(-spread * (cell + 1) / kTails);
    const double low = others * x, high = others * std::exp(-spread * cell / kTails);
    // The most entropy rises with T; the least falls to where 1 + T is this, and rises from there.
    const double turn = std::clamp(chord * n - 1.0, low, high);
    const double beta = temperatures.largest(least_entropy(turn), most_entropy(high));
    least_tail = std::min(least_tail, others * std::pow(x, beta));
  }
  return 1.0 / (1.0 + least_tail);
}

}  // namespace

PeakRange surveyed_range(const Rule& rule, const HeadParameters& parameters, double n, double spread) {
  const double others = n - 1.0;
  double high = 0.0;
  for (double near = 0.0; near <= std::min(others, kMostSizes);) {
    const auto peak_at = [&](const std::array<double, 2>& at) {
      const GroupedRow row{near, at[0] * spread, others - near, at[1] * spread};
      return row.peak(rule.temperature(parameters, row.survey()));
    };
    high = std::max(high, climbed(best_of_grid<2>({kNearGaps, kFarGaps}, peak_at), peak_at, kLastClimb).value);
    near = near < kEverySizeUpTo ? near + 1.0 : std::floor(near * kSizeFactor);
  }
  return {.share = {1.0 / n, high},
          .weight = {1.0 / n, high},
          .untied_low = 1.0 / n,
          .ceiling = ceiling_of(rule, parameters, n, spread),
          .knowledge = Knowledge::search};
}

}  // namespace sharpmax::theory
