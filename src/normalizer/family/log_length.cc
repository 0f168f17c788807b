#include <algorithm>
#include <cmath>

#include "normalizer/softmax_map.h"

namespace sharpmax {
namespace {

enum Place : std::size_t { kPreset, kLength, kA, kFloor, kFactor };

// YaRN scales queries and keys by 0.1 ln(factor) + 1 each, so scores by its square.
double yarn(double factor) noexcept {
  const double scale = 0.1 * std::log(std::max(1.0, factor)) + 1.0;
  return scale * scale;
}

double temperature_of(const HeadParameters& parameters, double n) noexcept {
  switch (static_cast<LogLength::Preset>(static_cast<int>(parameters[kPreset]))) {
    case LogLength::Preset::qwen:
      return std::max(1.0, std::log(n) / std::log(parameters[kLength]));
    case LogLength::Preset::llama4:
      return 1.0 + parameters[kA] * std::log1p(std::floor(n / parameters[kFloor]));
    case LogLength::Preset::yarn:
      return yarn(parameters[kFactor]);
    case LogLength::Preset::yarn_dynamic:
      return yarn(n / parameters[kLength]);
  }
  return kNoValue;
}

RowFacts weigh(const HeadParameters& parameters, std::span<const double> scores, std::span<double> weights) {
  return softmax_at(temperature_of(parameters, static_cast<double>(scores.size())), scores, weights);
}

void backward(const HeadParameters& parameters, std::span<const double> scores,
              std::span<const double> weights, std::span<const double> d_weights, std::span<double> d_scores,
              std::span<double>) {
  softmax_backward(temperature_of(parameters, static_cast<double>(scores.size())), scores, weights, d_weights,
                   d_scores);
}

bool positive(double value) { return value > 0.0; }

}  // namespace

AnyNormalizer::AnyNormalizer(const LogLength& rule)
    : AnyNormalizer("log_length", {{"preset", static_cast<double>(rule.preset)},
                                   {"length", rule.length},
                                   {"a", rule.a},
                                   {"floor", rule.floor},
                                   {"factor", rule.factor}}) {}

const Definition& log_length() {
  static const Definition definition{
      .order = 60,
      .name = "log_length",
      .aliases = {},
      .formula =
          "softmax(beta e); qwen: beta = max(1, ln n / ln length); llama4: 1 + a ln(1 + floor(n / "
          "floor)); yarn: (0.1 ln(max(1, factor)) + 1)^2; yarn_dynamic: the same with factor = n / length",
      .peak_as_n_grows =
          "qwen: as ssmax with s = 1 / ln length, so it stays for a winner ln(length) above the rest; "
          "llama4: likewise with s = a; yarn: falls as 1/n; yarn_dynamic: stays in the end for any gap, as "
          "beta grows like (ln n)^2, but not before (0.1 ln(n / length) + 1)^2 gap > ln n",
      .parameters =
          {{.name = "preset",
            .kind = ParameterKind::choice,
            .default_value = {0.0},
            .domain = "qwen, llama4, yarn or yarn_dynamic",
            .choices = {"qwen", "llama4", "yarn", "yarn_dynamic"}},
           {.name = "length",
            .default_value = {1024.0},
            .domain = "a number above 1",
            .valid = [](double length) { return length > 1.0; }},
           {.name = "a", .default_value = {0.1}, .domain = "a finite number"},
           {.name = "floor", .default_value = {8192.0}, .domain = "a number above 0", .valid = positive},
           {.name = "factor", .default_value = {1.0}, .domain = "a number above 0", .valid = positive}},
      .weigh = weigh,
      .backward = backward,
      .rule = [](const HeadParameters& p, double n) { return exponential_rule(temperature_of(p, n)); },
  };
  return definition;
}

}  // namespace sharpmax
