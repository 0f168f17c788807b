#include <algorithm>
#include <cmath>

#include "normalizer/softmax_map.h"
#include "support/attacks/attack.h"
#include "theory/dispersion.h"

namespace sharpmax::theory {
namespace {

using Place = std::vector<double>;
constexpr std::size_t kScores = 6;
constexpr double kSharp = 0.1;  // the temperature that paper B warns of

std::vector<double> weights_at(const Place& place, double spread, double temperature) {
  std::vector<double> scores(place), weights(place.size());
  for (double& e : scores) e *= spread;
  softmax_at(1.0 / temperature, scores, weights);
  return weights;
}

// |diag(p) - p p^T| / T by power iteration, from below.
double jacobian_norm(const std::vector<double>& p, double temperature) {
  std::vector<double> v(p.size()), next(p.size());
  for (std::size_t i = 0; i < v.size(); ++i)
    v[i] = (i % 2 == 0 ? 1.0 : -1.0) / (1.0 + static_cast<double>(i));
  double norm = 0.0;
  for (int round = 0; round < 60; ++round) {
    double mean = 0.0, square = 0.0;
    for (std::size_t i = 0; i < p.size(); ++i) mean += p[i] * v[i];
    for (std::size_t i = 0; i < p.size(); ++i) {
      next[i] = p[i] * (v[i] - mean);
      square += next[i] * next[i];
    }
    double before = 0.0;
    for (const double x : v) before += x * x;
    if (!(square > 0.0)) return 0.0;
    norm = std::sqrt(square / before);
    for (std::size_t i = 0; i < p.size(); ++i) v[i] = next[i] / std::sqrt(square);
  }
  return norm / temperature;
}

double largest_entry(const std::vector<double>& p, double temperature) {
  double entry = 0.0;
  for (std::size_t i = 0; i < p.size(); ++i)
    for (std::size_t j = 0; j < p.size(); ++j)
      entry = std::max(entry, std::abs((i == j ? p[i] : 0.0) - p[i] * p[j]));
  return entry / temperature;
}

// Scores, then a direction: |softmax((l + epsilon v) / T) - softmax(l / T)| / epsilon.
double difference(const Place& place, double temperature, double epsilon) {
  const Place scores(place.begin(), place.begin() + kScores);
  const double reach = 20.0 * std::max(temperature, epsilon);
  Place moved = scores;
  double norm = 0.0;
  for (std::size_t i = 0; i < kScores; ++i) norm = std::hypot(norm, 2.0 * place[kScores + i] - 1.0);
  if (!(norm > 0.0)) return 0.0;
  for (std::size_t i = 0; i < kScores; ++i)
    moved[i] += epsilon / reach * (2.0 * place[kScores + i] - 1.0) / norm;
  const auto before = weights_at(scores, reach, temperature), after = weights_at(moved, reach, temperature);
  double change = 0.0;
  for (std::size_t i = 0; i < kScores; ++i) change = std::hypot(change, after[i] - before[i]);
  return change / epsilon;
}

Attack on_norm(const std::string& words, const std::string& source, bool holds, double temperature,
               double bound) {
  return {words, source, holds, kScores, [=](const Place& place) {
            return jacobian_norm(weights_at(place, 20.0 * temperature, temperature), temperature) / bound;
          }};
}

Attack on_difference(const std::string& words, const std::string& source, bool holds, double epsilon,
                     double bound) {
  return {words, source, holds, 2 * kScores,
          [=](const Place& place) { return difference(place, kSharp, epsilon) / bound; }};
}

}  // namespace

std::vector<Attack> attacks_on_gradients() {
  const std::string published = "B, corollary 3";
  std::vector<Attack> all{
      on_norm("|J| <= min{1 / (4T), sqrt 2}, T = 1", published, false, 1.0, published_gradient_bound(1.0)),
      on_norm("|J| <= min{1 / (4T), sqrt 2}, T = 0.1", published, false, kSharp,
              published_gradient_bound(kSharp)),
      on_norm("|J| <= 1 / (2T), T = 0.1", "ours", true, kSharp, jacobian_norm_bound(kSharp)),
      {"|J_ij| <= 1 / (4T), T = 0.1", "ours", true, kScores,
       [](const Place& place) {
         return largest_entry(weights_at(place, 20.0 * kSharp, kSharp), kSharp) /
                jacobian_entry_bound(kSharp);
       }},
      {"|J| of a row with these weights", "ours", true, kScores,
       [](const Place& place) {
         const auto weights = weights_at(place, 20.0 * kSharp, kSharp);
         return jacobian_norm(weights, kSharp) / jacobian_norm_bound(kSharp, weights);
       }},
      {"|J| of a row of that spread", "ours", true, static_cast<std::size_t>(kAttackedKeys),
       [](const Place& place) {
         return jacobian_norm(weights_at(place, 0.2 * kAttackedSpread, 1.0), 1.0) /
                dispersed_jacobian_norm_bound(1.0, 0.2 * kAttackedSpread, kAttackedKeys);
       }}};
  all.push_back(on_difference("differences, step 0.001, T = 0.1", published, false, 1e-3,
                              published_gradient_bound(kSharp)));
  all.push_back(
      on_difference("differences, step 0.001, T = 0.1", "ours", true, 1e-3, difference_bound(kSharp, 1e-3)));
  all.push_back(
      on_difference("differences, step 10, T = 0.1", "ours", true, 10.0, difference_bound(kSharp, 10.0)));
  return all;
}

}  // namespace sharpmax::theory
