#include "theory/peak_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "theory/arguments.h"

namespace sharpmax::theory {
namespace {

// What is searched: coordinates in [0, 1]. Grids this fine, then uphill with steps down to kLastStep.
constexpr int kGridOfGaps = 20;
constexpr int kGridOfSizes = 12;
constexpr double kLastStep = 1e-9;
constexpr int kTemperaturesTried = 4096;

template <std::size_t Dimensions>
struct Best {
  std::array<double, Dimensions> at{};
  double value = -1.0;
};

// Uphill along each coordinate in turn; a round that finds nothing halves the step.
template <std::size_t Dimensions, class Value>
void climb(Best<Dimensions>& best, const Value& value) {
  for (double step = 0.1; step > kLastStep;) {
    bool rose = false;
    for (std::size_t k = 0; k < Dimensions; ++k) {
      for (const double side : {-step, step}) {
        auto moved = best.at;
        moved[k] = std::clamp(moved[k] + side, 0.0, 1.0);
        const double found = value(moved);
        if (found > best.value) best = {moved, found}, rose = true;
      }
    }
    if (!rose) step *= 0.5;
  }
}

// The best of a grid with both ends, then uphill from it. Coordinate 0 is the size of the nearer group.
template <class Value>
Best<3> search(const Value& value) {
  Best<3> best;
  for (int size = 0; size <= kGridOfSizes; ++size)
    for (int near = 0; near <= kGridOfGaps; ++near)
      for (int far = near; far <= kGridOfGaps; ++far) {
        const std::array<double, 3> at{static_cast<double>(size) / kGridOfSizes,
                                       static_cast<double>(near) / kGridOfGaps,
                                       static_cast<double>(far) / kGridOfGaps};
        const double found = value(at);
        if (found > best.value) best = {at, found};
      }
  climb(best, value);
  return best;
}

// How many of the n - 1 others are in the nearer group: on a logarithmic scale, none to all.
double group_size(double place, double others) {
  return std::clamp(std::round(std::expm1(place * std::log1p(others))), 0.0, others);
}

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

// A survey of this entropy; the temperature may depend on nothing else of the row.
Survey survey_of_entropy(double nats) { return {.max = 0.0, .tail = 0.0, .moment = -nats}; }

double largest_temperature(const Rule& rule, const HeadParameters& parameters, double n) {
  double largest = 1.0;
  for (int i = 0; i <= kTemperaturesTried; ++i) {
    const double nats = std::log(n) * i / kTemperaturesTried;
    largest = std::max(largest, rule.temperature(parameters, survey_of_entropy(nats)));
  }
  return largest;
}

double peak_of(std::span<const double> weights, double mass) {
  return mass > 0.0 ? *std::max_element(weights.begin(), weights.end()) / mass : kNoValue;
}

// The row's scores as three coordinates say: a winner (first or last, for members that care for order), a
// group beside it, the rest.
struct ThreeScores {
  std::span<double> row;
  bool winner_last = true;

  void fill(const std::array<double, 4>& at, const ScoreInterval& scores) const {
    const double others = static_cast<double>(row.size()) - 1.0;
    const auto score = [&](double place) { return scores.bottom + place * scores.spread(); };
    const auto near = static_cast<std::size_t>(group_size(at[0], others));
    std::fill(row.begin(), row.end(), score(at[3]));
    if (winner_last) {
      std::fill(row.end() - static_cast<std::ptrdiff_t>(near) - 1, row.end(), score(at[2]));
      row.back() = score(at[1]);
    } else {
      std::fill(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(near) + 1, score(at[2]));
      row.front() = score(at[1]);
    }
  }
};

}  // namespace

PeakRange surveyed_range(const Rule& rule, const HeadParameters& parameters, double n, double spread) {
  const double others = n - 1.0;
  const auto peak_at = [&](const std::array<double, 3>& at) {
    const double near = group_size(at[0], others);
    const GroupedRow row{near, at[1] * spread, others - near, at[2] * spread};
    return row.peak(rule.temperature(parameters, row.survey()));
  };
  const double high = search(peak_at).value;
  const double ceiling = dispersion_range(spread * largest_temperature(rule, parameters, n), n).high;
  return {.share = {1.0 / n, high},
          .weight = {1.0 / n, high},
          .untied_low = 1.0 / n,
          .ceiling = ceiling,
          .knowledge = Knowledge::search};
}

PeakRange searched_range(const AnyNormalizer& normalizer, double n, const ScoreInterval& scores,
                         std::size_t head) {
  if (n > kMostSearchedKeys || n != std::floor(n))
    throw Error(
        ErrorCode::unsupported,
        fmt::format("{}: no closed form is known and rows of {} keys are not searched; a whole n of at "
                    "most {} was wanted",
                    normalizer.name(), n, kMostSearchedKeys));
  std::vector<double> row(static_cast<std::size_t>(n)), weights(row.size());
  PeakRange found{.share = {kNoValue, kNoValue},
                  .weight = {kNoValue, kNoValue},
                  .untied_low = kNoValue,
                  .ceiling = 1.0,
                  .knowledge = Knowledge::search,
                  .sums_to_one = false,
                  .moves_with_level = true};
  for (const bool last : {true, false}) {
    const auto peaks_at = [&](const std::array<double, 4>& at) {
      ThreeScores{row, last}.fill(at, scores);
      weigh_row(normalizer, head, row, weights);
      double mass = 0.0;
      for (const double w : weights) mass += w;
      return std::array<double, 2>{peak_of(weights, mass), peak_of(weights, 1.0)};
    };
    for (const std::size_t measure : {0u, 1u})
      for (const double sign : {1.0, -1.0}) {
        const auto value = [&](const std::array<double, 4>& at) {
          const double peak = sign * peaks_at(at)[measure];
          return std::isnan(peak) ? -HUGE_VAL : peak;
        };
        Best<4> best{.value = -HUGE_VAL};
        constexpr int kGrid = 4;
        for (int i = 0; i < (kGrid + 1) * (kGrid + 1) * (kGrid + 1) * (kGrid + 1); ++i) {
          std::array<double, 4> at{};
          for (int k = 0, rest = i; k < 4; ++k, rest /= kGrid + 1)
            at[static_cast<std::size_t>(k)] = static_cast<double>(rest % (kGrid + 1)) / kGrid;
          const double v = value(at);
          if (v > best.value) best = {at, v};
        }
        if (best.value == -HUGE_VAL) continue;
        climb(best, value);
        Range& range = measure == 0 ? found.share : found.weight;
        double& end = sign > 0.0 ? range.high : range.low;
        if (std::isnan(end) || sign * end < best.value) end = sign * best.value;
      }
  }
  found.untied_low = found.share.low;
  return found;
}

}  // namespace sharpmax::theory
