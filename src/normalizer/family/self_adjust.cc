#include <algorithm>
#include <cmath>
#include <vector>

#include "base/numbers.h"
#include "normalizer/softmax_map.h"

namespace sharpmax {
namespace {

bool is_plain(const HeadParameters& parameters) noexcept { return parameters[0] == 1.0; }

// How far up its row's range a score stands: (e - low) / (high - low), 0 where the range is empty.
struct Range {
  double low = 0.0;   // min(e_min, 0)
  double high = 0.0;  // max(e_max, 0)
  std::size_t low_key = 0;
  std::size_t high_key = 0;

  double width() const noexcept { return high - low; }
  double height(double e) const noexcept {
    if (std::isinf(width())) return (0.5 * e - 0.5 * low) / (0.5 * high - 0.5 * low);
    return width() > 0.0 ? (e - low) / width() : 0.0;
  }
};

Range range_of(std::span<const double> scores) {
  const auto least = std::min_element(scores.begin(), scores.end());
  const auto most = std::max_element(scores.begin(), scores.end());
  return {.low = std::min(*least, 0.0),
          .high = std::max(*most, 0.0),
          .low_key = static_cast<std::size_t>(least - scores.begin()),
          .high_key = static_cast<std::size_t>(most - scores.begin())};
}

RowFacts weigh(const HeadParameters& parameters, std::span<const double> scores, std::span<double> weights) {
  const RowFacts facts = softmax_at(1.0, scores, weights);
  const Range range = range_of(scores);
  for (std::size_t j = 0; j < scores.size(); ++j) {
    weights[j] *= is_plain(parameters) ? scores[j] : range.height(scores[j]);
  }
  return facts;
}

void backward(const HeadParameters& parameters, std::span<const double> scores,
              std::span<const double> weights, std::span<const double> d_weights, std::span<double> d_scores,
              std::span<double>) {
  std::vector<double> soft(scores.size());
  softmax_at(1.0, scores, soft);
  const Range range = range_of(scores);
  const bool flat = !is_plain(parameters) && !(range.width() > 0.0);
  const double slope = is_plain(parameters) ? 1.0 : flat ? 0.0 : 1.0 / range.width();
  CompensatedSum mean, d_low, d_high;
  for (std::size_t j = 0; j < scores.size(); ++j) mean.add(weights[j] * d_weights[j]);
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const double factor = is_plain(parameters) ? scores[j] : range.height(scores[j]);
    const double d_factor = soft[j] * d_weights[j];
    d_scores[j] = factor * d_factor - soft[j] * mean.value() + slope * d_factor;
    d_low.add(d_factor * (factor - 1.0) * slope);
    d_high.add(-d_factor * factor * slope);
  }
  if (is_plain(parameters)) return;
  // The ends of the range move with the keys that hold them, unless 0 holds them.
  if (range.low < 0.0) d_scores[range.low_key] += d_low.value();
  if (range.high > 0.0) d_scores[range.high_key] += d_high.value();
}

}  // namespace

AnyNormalizer::AnyNormalizer(const SelfAdjust& rule)
    : AnyNormalizer("self_adjust", {{"form", static_cast<double>(rule.form)}}) {}

const Definition& self_adjust() {
  static const Definition definition{
      .order = 170,
      .name = "self_adjust",
      .aliases = {},
      .formula =
          "(e_j - min(e_min, 0)) / (max(e_max, 0) - min(e_min, 0)) softmax(e)_j; form = plain: e_j "
          "softmax(e)_j",
      .peak_as_n_grows = "falls as 1/n: scaled, it is never above softmax's; plain, at most max |e| times it",
      .parameters = {{.name = "form",
                      .kind = ParameterKind::choice,
                      .default_value = {0.0},
                      .domain = "scaled or plain",
                      .choices = {"scaled", "plain"}}},
      .weigh = weigh,
      .backward = backward,
      .rule = [](const HeadParameters& p,
                 double) { return Rule{.kind = RuleKind::self_adjust, .target = p[0]}; },
  };
  return definition;
}

}  // namespace sharpmax
