#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "normalizer/softmax_map.h"
#include "support/attacks/attack.h"
#include "theory/selection.h"

namespace sharpmax::theory {
namespace {

using Place = std::vector<double>;
constexpr std::size_t kLength = 6, kSelected = 2, kFeatures = 2, kMoreSelected = 3;
constexpr double kScoreSpread = 8.0;  // their spread

// L scores, then L vectors in [-1, 1]^2.
struct Example {
  std::vector<double> weights, vectors;
  std::vector<std::size_t> by_weight;  // the largest first

  explicit Example(const Place& place) : weights(kLength), by_weight(kLength) {
    std::vector<double> scores(place.begin(), place.begin() + kLength);
    for (double& e : scores) e *= kScoreSpread;
    softmax_at(1.0, scores, weights);
    for (std::size_t i = kLength; i < place.size(); ++i) vectors.push_back(2.0 * place[i] - 1.0);
    std::iota(by_weight.begin(), by_weight.end(), std::size_t{0});
    std::stable_sort(by_weight.begin(), by_weight.end(),
                     [&](std::size_t i, std::size_t j) { return weights[i] > weights[j]; });
  }
  WeightedRow row() const { return {weights, vectors, kFeatures}; }
  std::span<const std::size_t> top(std::size_t n) const { return std::span(by_weight).first(n); }
  std::span<const double> vector(std::size_t key) const {
    return std::span(vectors).subspan(key * kFeatures, kFeatures);
  }
};
constexpr std::size_t kDimensions = kLength * (1 + kFeatures);

double over(double value, double bound) { return bound > 0.0 ? value / bound : 0.0; }

double fixed_ratio(const Place& place, DistanceReading reading) {
  const Example example(place);
  const auto selected = example.top(kSelected);
  return over(selection_distance(example.row(), selected, reading),
              fixed_selection_bound(selection_facts(example.row(), selected), reading));
}

// The mean over all pairs, against the bound of its expectation.
double random_ratio(const Place& place) {
  const Example example(place);
  double sum = 0.0, pairs = 0.0;
  for (std::size_t i = 0; i < kLength; ++i)
    for (std::size_t j = 0; j < i; ++j, ++pairs) sum += selection_distance(example.row(), std::array{i, j});
  return over(sum / pairs, random_selection_bound(example.row(), kSelected));
}

double distance_between(std::span<const double> a, std::span<const double> b) {
  return std::hypot(a[0] - b[0], a[1] - b[1]);
}

// What theorem 2 speaks of, measured.
struct Separability {
  std::vector<double> weights;  // of the selected
  double radius = 0.0, separation = HUGE_VAL;
  double nearest = HUGE_VAL;  // r
  double share = 0.0;         // N_s / N

  explicit Separability(const Example& example) {
    const auto selected = example.top(kMoreSelected);
    std::array<double, 2> s{};
    for (const std::size_t j : selected) {
      const auto x = example.vector(j);
      weights.push_back(example.weights[j]);
      radius = std::max(radius, std::hypot(x[0], x[1]));
      for (std::size_t f = 0; f < 2; ++f) s[f] += example.weights[j] * x[f];
      for (const std::size_t k : selected)
        if (k != j) separation = std::min(separation, distance_between(x, example.vector(k)));
    }
    const auto from_s = [&](std::size_t i) {
      const auto x = example.vector(i);
      return std::hypot(s[0] - example.weights[i] * x[0], s[1] - example.weights[i] * x[1]);
    };
    for (std::size_t i = kMoreSelected; i < kLength; ++i)
      nearest = std::min(nearest, from_s(example.by_weight[i]));
    for (const std::size_t j : selected) share += from_s(j) < nearest ? 1.0 / kMoreSelected : 0.0;
  }
  SeparabilityFacts facts() const { return {weights, radius, separation}; }
  bool degenerate() const { return !(radius > 0.0) || !(nearest > 0.0); }
};

// A lower bound over what it bounds: 0 where it says nothing, be it by rounding alone.
template <class Bound>
double lower_ratio(const Place& place, const Bound& bound) {
  const Separability found((Example(place)));
  if (found.degenerate()) return 0.0;
  const double low = bound(found.facts(), found.nearest);
  return low <= 1e-12 ? 0.0 : low / found.share;
}

double reference_ratio(const Place& place) {
  const Separability found((Example(place)));
  return found.degenerate() ? 0.0 : over(found.share, separability_reference(found.facts(), found.nearest));
}

}  // namespace

std::vector<Attack> attacks_on_selection() {
  return {
      {"distance, fixed selection, cumulative", "B, theorem 1.1", true, kDimensions,
       [](const Place& place) { return fixed_ratio(place, DistanceReading::cumulative); }},
      {"distance, fixed selection, joint", "B, theorem 1.1", true, kDimensions,
       [](const Place& place) { return fixed_ratio(place, DistanceReading::joint); }},
      {"distance, random selection", "B, theorem 1.2", true, kDimensions, random_ratio},
      {"separability, lower side", "B, theorem 2", true, kDimensions,
       [](const Place& place) { return lower_ratio(place, separability_lower_bound); }},
      {"separability, lower side, counted", "ours", true, kDimensions,
       [](const Place& place) { return lower_ratio(place, counted_separability_lower_bound); }},
      {"separability, upper side as rebuilt", "B, theorem 2", false, kDimensions, reference_ratio},
  };
}

}  // namespace sharpmax::theory
