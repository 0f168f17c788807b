#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "normalizer/softmax_map.h"

namespace sharpmax {
namespace {

enum Place : std::size_t { kK, kBeta };

// Indices of the k largest scores, ascending; of equal scores the lowest index wins.
std::vector<std::size_t> largest(double k, std::span<const double> scores) {
  std::vector<std::size_t> keys(scores.size());
  std::iota(keys.begin(), keys.end(), std::size_t{0});
  if (k >= static_cast<double>(scores.size())) return keys;
  const auto kept = keys.begin() + static_cast<std::ptrdiff_t>(k);
  std::nth_element(keys.begin(), kept, keys.end(), [&](std::size_t i, std::size_t j) {
    return scores[i] != scores[j] ? scores[i] > scores[j] : i < j;
  });
  keys.erase(kept, keys.end());
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::vector<double> gather(std::span<const double> row, std::span<const std::size_t> keys) {
  std::vector<double> kept;
  kept.reserve(keys.size());
  for (const std::size_t j : keys) kept.push_back(row[j]);
  return kept;
}

void scatter(std::span<const double> kept, std::span<const std::size_t> keys, std::span<double> row) {
  std::fill(row.begin(), row.end(), 0.0);
  for (std::size_t i = 0; i < keys.size(); ++i) row[keys[i]] = kept[i];
}

RowFacts weigh(const HeadParameters& parameters, std::span<const double> scores, std::span<double> weights) {
  const std::vector<std::size_t> keys = largest(parameters[kK], scores);
  std::vector<double> kept_weights(keys.size());
  const RowFacts facts = softmax_at(parameters[kBeta], gather(scores, keys), kept_weights);
  scatter(kept_weights, keys, weights);
  return facts;
}

void backward(const HeadParameters& parameters, std::span<const double> scores,
              std::span<const double> weights, std::span<const double> d_weights, std::span<double> d_scores,
              std::span<double> d_parameters) {
  const std::vector<std::size_t> keys = largest(parameters[kK], scores);
  std::vector<double> kept_d_scores(keys.size());
  d_parameters[kBeta] += softmax_backward(parameters[kBeta], gather(scores, keys), gather(weights, keys),
                                          gather(d_weights, keys), kept_d_scores);
  scatter(kept_d_scores, keys, d_scores);
}

Rule rule(const HeadParameters& parameters, double n) {
  Rule result = exponential_rule(parameters[kBeta]);
  if (parameters[kK] < n && result.kind == RuleKind::exponential) {
    result.kind = RuleKind::top_k;
    result.target = parameters[kK];
  }
  return result;
}

void through_rule(const HeadParameters&, double, const RuleGradient& d_rule, std::span<double> d_parameters) {
  d_parameters[kBeta] += d_rule.beta;
}

}  // namespace

AnyNormalizer::AnyNormalizer(const TopK& top_k)
    : AnyNormalizer("top_k", {{"k", top_k.k}, {"beta", top_k.beta}}) {}

const Definition& top_k() {
  static const Definition definition{
      .order = 110,
      .name = "top_k",
      .aliases = {},
      .formula = "softmax(beta e) over the k largest scores, 0 elsewhere; of equal scores the lowest index",
      .peak_as_n_grows = "never below 1/k, at any n",
      .parameters =
          {{.name = "k",
            .default_value = {8.0},
            .domain = "a whole number of at least 1",
            .valid = [](double k) { return k >= 1.0 && k == std::floor(k); }},
           {.name = "beta", .default_value = {1.0}, .domain = "a finite number", .learnable = true}},
      .weigh = weigh,
      .backward = backward,
      .rule = rule,
      .moves = {.beta = true},
      .through_rule = through_rule,
  };
  return definition;
}

}  // namespace sharpmax
