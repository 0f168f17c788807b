// One row in double with the semantics every door shares: masks, empty rows, poisoned rows.
#include "normalizer/definition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "sharpmax/error.h"

namespace sharpmax {
namespace {

constexpr double kMasked = -std::numeric_limits<double>::infinity();

struct Census {
  std::size_t unmasked = 0;
  bool poisoned = false;  // a NaN or +inf among the scores
};

Census census_of(std::span<const double> scores) noexcept {
  Census census;
  for (const double e : scores) {
    if (e == kMasked) continue;
    ++census.unmasked;
    census.poisoned = census.poisoned || !std::isfinite(e);
  }
  return census;
}

// The entries of `row` whose score is not masked.
std::vector<double> unmasked(std::span<const double> scores, std::span<const double> row) {
  std::vector<double> kept;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (scores[j] != kMasked) kept.push_back(row[j]);
  }
  return kept;
}

RowFacts poison(std::span<double> weights) {
  std::fill(weights.begin(), weights.end(), kNoValue);
  return {};
}

void spread_out(std::span<const double> scores, std::span<const double> kept, std::span<double> row) {
  std::size_t next = 0;
  for (std::size_t j = 0; j < scores.size(); ++j) row[j] = scores[j] == kMasked ? 0.0 : kept[next++];
}

}  // namespace

RowFacts weigh_row(const AnyNormalizer& normalizer, std::size_t head, std::span<const double> scores,
                   std::span<double> weights) {
  const Census census = census_of(scores);
  if (census.unmasked == 0) {
    std::fill(weights.begin(), weights.end(), 0.0);
    return {.log_partition = kMasked};
  }
  if (census.poisoned) return poison(weights);
  const Definition& definition = normalizer.definition();
  const HeadParameters parameters(normalizer.parameters(), head);
  if (census.unmasked == scores.size()) return definition.weigh(parameters, scores, weights);
  const std::vector<double> kept_scores = unmasked(scores, scores);
  std::vector<double> kept_weights(kept_scores.size());
  const RowFacts facts = definition.weigh(parameters, kept_scores, kept_weights);
  if (std::isnan(kept_weights[0])) return poison(weights);
  spread_out(scores, kept_weights, weights);
  return facts;
}

void backward_row(const AnyNormalizer& normalizer, std::size_t head, std::span<const double> scores,
                  std::span<const double> weights, std::span<const double> d_weights,
                  std::span<double> d_scores, std::span<double> d_parameters) {
  const Definition& definition = normalizer.definition();
  std::vector<double> unwanted;
  if (d_parameters.empty()) {
    unwanted.resize(definition.parameters.size());
    d_parameters = unwanted;
  }
  const Census census = census_of(scores);
  if (census.unmasked == 0) {
    std::fill(d_scores.begin(), d_scores.end(), 0.0);
    return;
  }
  if (census.poisoned) {
    std::fill(d_scores.begin(), d_scores.end(), kNoValue);
    for (std::size_t i = 0; i < d_parameters.size(); ++i) {
      if (definition.parameters[i].learnable) d_parameters[i] += kNoValue;
    }
    return;
  }
  const HeadParameters parameters(normalizer.parameters(), head);
  if (census.unmasked == scores.size()) {
    definition.backward(parameters, scores, weights, d_weights, d_scores, d_parameters);
    return;
  }
  const std::vector<double> kept_scores = unmasked(scores, scores);
  std::vector<double> kept_d_scores(kept_scores.size());
  definition.backward(parameters, kept_scores, unmasked(scores, weights), unmasked(scores, d_weights),
                      kept_d_scores, d_parameters);
  spread_out(scores, kept_d_scores, d_scores);
}

void check_heads(const AnyNormalizer& normalizer, std::int64_t heads, std::string_view door) {
  const Definition& definition = normalizer.definition();
  for (std::size_t i = 0; i < definition.parameters.size(); ++i) {
    const ParameterSpec& spec = definition.parameters[i];
    const std::size_t values = normalizer.parameters()[i].values().size();
    if (spec.kind != ParameterKind::number || values == 1) continue;
    if (heads >= 0 && values == static_cast<std::size_t>(heads)) continue;
    throw Error(ErrorCode::bad_argument,
                fmt::format("{}: {} of {} has {} values for {} heads; it must have one, or one a head", door,
                            spec.name, definition.name, values, heads));
  }
}

void check_backward(const AnyNormalizer& normalizer, std::string_view door) {
  const Definition& definition = normalizer.definition();
  if (definition.no_backward == nullptr) return;
  // As many heads as every per-head parameter has values for.
  std::size_t heads = 1;
  for (const Parameter& parameter : normalizer.parameters()) {
    const std::size_t values = parameter.values().size();
    if (values > 1) heads = heads == 1 ? values : std::min(heads, values);
  }
  for (std::size_t head = 0; head < heads; ++head) {
    const std::string_view reason = definition.no_backward(HeadParameters(normalizer.parameters(), head));
    if (reason.empty()) continue;
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: {} has no backward here: {}", door, normalizer.text(), reason));
  }
}

Distribution distribution_of(std::span<const double> scores, std::span<const double> weights) {
  Distribution d;
  bool any = false;
  for (const double w : weights) {
    d.mass += w;
    any |= w != 0.0;
  }
  if (!any) return d;
  if (std::isnan(d.mass)) {
    d.entropy = d.peak_weight = d.effective_support = d.mass;
    return d;
  }
  for (std::size_t j = 0; j < weights.size(); ++j) {
    const double p = weights[j] / d.mass;
    d.support += p > 0.0;
    if (scores[j] != kMasked && (d.peak == kNoKey || p > weights[d.peak] / d.mass)) d.peak = j;
  }
  const double top = weights[d.peak];
  double rest = 0.0;  // beside the peak: kept apart so that a sharp row keeps its digits
  for (std::size_t j = 0; j < weights.size(); ++j) {
    if (j == d.peak || weights[j] == 0.0) continue;
    const double p = weights[j] / d.mass;
    d.entropy -= p * std::log(p);
    rest += weights[j];
  }
  d.peak_weight = top / d.mass;
  d.entropy += d.peak_weight * std::log1p(rest / top);
  d.effective_support = std::exp(d.entropy);
  return d;
}

}  // namespace sharpmax
