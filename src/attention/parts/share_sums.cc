#include "attention/parts/share_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "attention/rows/row.h"
#include "sharpmax/error.h"

namespace sharpmax {
namespace {

constexpr double kMaskedScore = -std::numeric_limits<double>::infinity();
constexpr std::size_t kSums = 4;  // side by side, so that one addition need not wait for the last

}  // namespace

double largest_score(std::span<const double> scores) {
  std::array<double, kSums> top;
  top.fill(kMaskedScore);
  bool bad = false;
  std::size_t i = 0;
  for (; i + kSums <= scores.size(); i += kSums)
    for (std::size_t k = 0; k < kSums; ++k) {
      const double e = scores[i + k];
      top[k] = e > top[k] ? e : top[k];
      bad |= !(e < std::numeric_limits<double>::infinity());
    }
  for (; i < scores.size(); ++i) {
    top[0] = std::max(top[0], scores[i]);
    bad |= !(scores[i] < std::numeric_limits<double>::infinity());
  }
  return bad ? kNoValue : *std::max_element(top.begin(), top.end());
}

double larger_score(double a, double b) {
  if (std::isnan(a)) return a;
  return std::isnan(b) ? b : std::max(a, b);
}

std::size_t padded_keys(std::size_t keys) {
  const std::size_t lanes = vector_lanes();
  return (keys + lanes - 1) / lanes * lanes;
}

void weigh_gaps(std::span<const double> scores, double top, double beta, std::span<float> weights) {
  for (std::size_t i = 0; i < scores.size(); ++i) weights[i] = static_cast<float>(scores[i] - top);
  std::fill(weights.begin() + static_cast<std::ptrdiff_t>(scores.size()), weights.end(),
            -std::numeric_limits<float>::infinity());
  if (beta == 0.0) {  // 0 times the gap of a masked key is not a number
    for (float& weight : weights) weight = std::isinf(weight) ? 0.0f : 1.0f;
    return;
  }
  vector_exponential(weights, beta);
}

GapSums gap_sums(std::span<const double> scores, double top, std::span<const float> weights) {
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  std::array<double, kSums> sum{}, ties{}, moment{}, square{};
  const auto add = [&](std::size_t k, std::size_t i) {
    const float rounded = static_cast<float>(scores[i] - top);
    const double gap = rounded > kLowest ? rounded : kLowest, weight = weights[i];
    const double product = weight * gap;
    sum[k] += gap == 0.0 ? 0.0 : weight;
    ties[k] += gap == 0.0 ? 1.0 : 0.0;
    moment[k] += product;
    square[k] += product * gap;
  };
  std::size_t i = 0;
  for (; i + kSums <= scores.size(); i += kSums)
    for (std::size_t k = 0; k < kSums; ++k) add(k, i + k);
  for (; i < scores.size(); ++i) add(0, i);
  const auto whole = [](const std::array<double, kSums>& a) { return (a[0] + a[1]) + (a[2] + a[3]); };
  return {whole(sum), whole(ties), whole(moment), whole(square)};
}

void WeightSums::add(double weight) {
  if (weight == 0.0) return;
  mass += weight;
  logs += weight * std::log(weight);
  peak = std::max(peak, weight);
}
void WeightSums::scale(double factor) {
  if (factor == 1.0 || mass == 0.0) return;
  logs = factor > 0.0 ? factor * (logs + std::log(factor) * mass) : 0.0;
  mass *= factor;
  peak *= factor;
}
void WeightSums::add(const WeightSums& other) {
  mass += other.mass;
  logs += other.logs;
  peak = std::max(peak, other.peak);
}
double WeightSums::entropy() const { return mass == 0.0 ? mass : std::max(0.0, std::log(mass) - logs / mass); }
double WeightSums::peak_weight() const { return mass == 0.0 ? mass : peak / mass; }

std::vector<ScoredKey> heaviest_keys(std::span<const double> values, const ShareScores& share, std::size_t count) {
  std::vector<ScoredKey> heap;  // its lightest in front
  for (std::size_t i = 0; i < values.size() && count > 0; ++i) {
    if (share.scores[i] == kMaskedScore) continue;
    const ScoredKey key{values[i], share.first_key + static_cast<std::int64_t>(i)};
    if (heap.size() == count) {
      if (!(key < heap.front())) continue;
      std::pop_heap(heap.begin(), heap.end());
      heap.back() = key;
    } else {
      heap.push_back(key);
    }
    std::push_heap(heap.begin(), heap.end());
  }
  std::sort_heap(heap.begin(), heap.end());
  return heap;
}

std::vector<ScoredKey> merged_keys(std::span<const ScoredKey> a, std::span<const ScoredKey> b, std::size_t count) {
  std::vector<ScoredKey> joined(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), joined.begin());
  if (joined.size() > count) joined.resize(count);
  return joined;
}

std::vector<ScoredKey> keys_in(std::span<const double> numbers) {
  std::vector<ScoredKey> keys;
  for (std::size_t i = 0; i < numbers.size(); i += 2) keys.push_back({numbers[i], static_cast<std::int64_t>(numbers[i + 1])});
  return keys;
}
void put_keys(std::span<const ScoredKey> keys, std::vector<double>& numbers) {
  for (const ScoredKey& key : keys) numbers.insert(numbers.end(), {key.value, static_cast<double>(key.key)});
}

void SplitRow::finish_without_keys(double top) {
  const double blank = std::isnan(top) ? top : 0.0;
  SplitOutcome outcome{.scale = blank, .top = top, .mass = blank, .entropy = blank, .peak_weight = blank};
  if (!std::isnan(top)) outcome.facts.log_partition = kMaskedScore;
  finish(std::move(outcome));
}

void SplitRow::final_weights(const ShareScores& share, std::span<double> weights) const {
  if (std::isfinite(outcome_.top)) return weigh_again(share, weights);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = share.scores[i] == kMaskedScore ? 0.0 : outcome_.scale;
}

namespace {

// Null for a rule that has no parts.
std::unique_ptr<SplitRow> row_of_rule(const AnyNormalizer& normalizer, std::size_t head, std::int64_t n,
                                      bool keeps_shares) {
  const HeadParameters parameters(normalizer.parameters(), head);
  const Rule rule = normalizer.definition().rule(parameters, static_cast<double>(std::max<std::int64_t>(n, 1)));
  switch (rule.kind) {
    case RuleKind::exponential:
      if (!(rule.beta >= 0.0)) break;
      return exponential_row(rule);
    case RuleKind::surveyed:
      return surveyed_row(rule, normalizer, head);
    case RuleKind::entropy_target:
    case RuleKind::peak_target:
      return target_row(rule);
    case RuleKind::top_k:
      if (!(rule.beta >= 0.0)) break;
      return top_row(rule, n);
    case RuleKind::hard:
      return top_row({.kind = rule.kind, .target = 1.0}, n);
    case RuleKind::threshold:
      if (!(rule.beta > 0.0)) break;
      return threshold_row(rule);
    case RuleKind::sigmoid:
    case RuleKind::relu:
    case RuleKind::softpick:
    case RuleKind::self_adjust:
    case RuleKind::proportional:
      return pointwise_row(rule, n);
    case RuleKind::stick_breaking:
      return stick_row(keeps_shares);
    case RuleKind::specification:
      break;
  }
  return nullptr;
}

}  // namespace

bool can_be_split(const AnyNormalizer& normalizer, std::size_t head, std::int64_t n) {
  return row_of_rule(normalizer, head, n, false) != nullptr;
}

std::unique_ptr<SplitRow> split_row(const AnyNormalizer& normalizer, std::size_t head, std::int64_t n, bool keeps_shares) {
  if (std::unique_ptr<SplitRow> row = row_of_rule(normalizer, head, n, keeps_shares)) return row;
  throw Error(ErrorCode::unsupported,
              fmt::format("{} cannot be computed over a row that is cut into shares: it needs the whole row in one place",
                          normalizer.text()));
}

}  // namespace sharpmax
