#include <algorithm>
#include <cmath>

#include "normalizer/definition.h"
#include "normalizer/softmax_map.h"
#include "support/attacks/attack.h"
#include "theory/dispersion.h"
#include "theory/peak_range.h"

namespace sharpmax::theory {
namespace {

using Place = std::vector<double>;
constexpr auto kKeys = static_cast<std::size_t>(kAttackedKeys);

std::vector<double> scores_at(const Place& place, const ScoreInterval& interval) {
  std::vector<double> scores;
  for (const double x : place) scores.push_back(interval.bottom + x * interval.spread());
  return scores;
}

std::vector<double> shares_at(const AnyNormalizer& normalizer, const Place& place) {
  const std::vector<double> scores = scores_at(place, centred(kAttackedSpread));
  std::vector<double> weights(scores.size());
  weigh_row(normalizer, 0, scores, weights);
  double mass = 0.0;
  for (const double w : weights) mass += w;
  for (double& w : weights) w /= mass;
  return weights;
}

double largest(const std::vector<double>& row) { return *std::max_element(row.begin(), row.end()); }
double least(const std::vector<double>& row) { return *std::min_element(row.begin(), row.end()); }

// Both ends of a range for the weights of one key.
void add_range(std::vector<Attack>& into, const AnyNormalizer& normalizer, const std::string& words,
               const std::string& source, const Range& range) {
  into.push_back({words + ", upper", source, true, kKeys,
                  [=](const Place& place) { return largest(shares_at(normalizer, place)) / range.high; }});
  into.push_back({words + ", lower", source, true, kKeys,
                  [=](const Place& place) { return range.low / least(shares_at(normalizer, place)); }});
}

// A 2 x 2 matrix with entries in [-1, 1], its largest singular value, and what it does to a vector.
struct Matrix {
  double a, b, c, d;

  Matrix(const Place& place, std::size_t at)
      : a(2 * place[at] - 1), b(2 * place[at + 1] - 1), c(2 * place[at + 2] - 1), d(2 * place[at + 3] - 1) {}
  double gain() const {
    const double sum = a * a + b * b + c * c + d * d, det = a * d - b * c;
    return std::sqrt(0.5 * (sum + std::sqrt(std::max(0.0, sum * sum - 4.0 * det * det))));
  }
  std::array<double, 2> times(double x, double y) const { return {a * x + b * y, c * x + d * y}; }
};

// Q, K, y and two x: 4 + 4 + 2 + 2 + 2 numbers.
double norm_ratio(const Place& place) {
  const Matrix q(place, 0), k(place, 4);
  const auto entry = [&](std::size_t i) { return 2.0 * place[i] - 1.0; };
  const auto query = q.times(entry(8), entry(9));
  const auto one = k.times(entry(10), entry(11)), two = k.times(entry(12), entry(13));
  const double spread = std::abs(query[0] * (one[0] - two[0]) + query[1] * (one[1] - two[1]));
  const double bound = norm_spread_bound(
      {.query_gain = q.gain(),
       .key_gain = k.gain(),
       .query_norm = std::hypot(entry(8), entry(9)),
       .key_norm = std::max(std::hypot(entry(10), entry(11)), std::hypot(entry(12), entry(13)))});
  return bound > 0.0 ? spread / bound : 0.0;
}

void add_entropy(std::vector<Attack>& into) {
  constexpr double kNats = 0.5;
  // Rows that entropy_target brings to half a nat; ties for the first place, which it cannot, do not count.
  const auto peak_at_target = [](const Place& place) {
    const std::vector<double> shares = shares_at(EntropyTarget{.nats = kNats}, place);
    return largest(shares) * static_cast<double>(kKeys) > 1.0 + 1e-9 &&
                   std::count(place.begin(), place.end(), largest(place)) == 1
               ? largest(shares)
               : HUGE_VAL;
  };
  into.push_back({"exp(-H) <= peak, at half a nat", "ours", true, kKeys,
                  [=](const Place& place) { return std::exp(-kNats) / peak_at_target(place); }});
  into.push_back({"least peak at half a nat", "ours", true, kKeys, [=](const Place& place) {
                    return least_peak_at_entropy(kNats, kAttackedKeys) / peak_at_target(place);
                  }});
  into.push_back({"largest peak at its entropy", "ours", true, kKeys, [](const Place& place) {
                    const SharpenedSurvey row = survey_at(1.0, scores_at(place, centred(kAttackedSpread)));
                    const double nats = std::min(row.entropy(), std::log(kAttackedKeys));
                    return row.peak_weight() / largest_peak_at_entropy(nats, kAttackedKeys);
                  }});
}

}  // namespace

std::vector<Attack> attacks_on_rows() {
  std::vector<Attack> all;
  const AnyNormalizer plain(Softmax{}), sigmoid(Sigmoid{.b = -1.0});
  add_range(all, plain, "exp(-+spread) / n, as published", "A, lemma 2.1",
            dispersion_bound(kAttackedSpread, kAttackedKeys));
  add_range(all, plain, "1 / (1 + (n - 1) exp(+-spread))", "A, lemma 2.1, tight",
            dispersion_range(kAttackedSpread, kAttackedKeys));
  all.push_back({"spread <= 2 s(Q) s(K) |y| max |x|", "A, proposition 3.1", true, 14, norm_ratio});
  add_entropy(all);
  const ProportionalConstants constants =
      proportional_constants(sigmoid, kAttackedKeys, centred(kAttackedSpread));
  add_range(all, sigmoid, "C / n, shares of sigmoid:b=-1", "B, lemma 1",
            proportional_bound(constants, kAttackedKeys));
  add_range(all, sigmoid, "tight, shares of sigmoid:b=-1", "B, lemma 1, tight",
            proportional_range(constants, kAttackedKeys));
  return all;
}

}  // namespace sharpmax::theory
