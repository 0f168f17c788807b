#include "train/training/arm.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/numbers.h"
#include "normalizer/definition.h"

namespace sharpmax::train {
namespace {

constexpr double kFineTuningRate = 0.2;  // of the learning rate of the training

double cosine(double done) { return 0.5 * (1.0 + std::cos(std::numbers::pi * std::min(done, 1.0))); }

std::int64_t tuning_steps(const OptimizerSettings& s, const Arm& arm) {
  return arm.after && !arm.later.empty() ? std::llround(s.fine_tuning * static_cast<double>(s.steps)) : 0;
}

}  // namespace

Course::Course(const OptimizerSettings& settings, const Arm& arm)
    : s_(settings),
      first_(AnyNormalizer::parse(arm.normalizer)),
      later_(AnyNormalizer::parse(arm.later.empty() ? arm.normalizer : arm.later)),
      total_(settings.steps + tuning_steps(settings, arm)),
      switch_(arm.later.empty() ? total_
              : arm.after       ? settings.steps
                                : settings.steps / 2) {}

double Course::learning_rate_at(std::int64_t step) const {
  const bool tuning = step >= s_.steps;
  const std::int64_t at = tuning ? step - s_.steps : step, all = tuning ? total_ - s_.steps : s_.steps;
  const double rise = s_.warm_up > 0 ? static_cast<double>(at + 1) / static_cast<double>(s_.warm_up) : 1.0;
  return s_.learning_rate * (tuning ? kFineTuningRate : 1.0) * std::min(1.0, rise) *
         cosine(static_cast<double>(at) / static_cast<double>(std::max<std::int64_t>(all, 1)));
}

LearnedRule::LearnedRule(const AnyNormalizer& normalizer, std::int64_t layers, std::int64_t heads)
    : normalizer_(normalizer),
      layers_(to_size(layers)),
      heads_(to_size(heads)),
      parameters_(normalizer.parameters().size()) {
  const Definition& definition = normalizer.definition();
  for (std::size_t i = 0; i < parameters_; ++i)
    learned_.push_back(definition.name != "softmax" && definition.parameters[i].name != "alpha" &&
                       definition.parameters[i].learnable &&
                       std::isfinite(normalizer.parameters()[i].of_head(0)));
}

std::vector<double> LearnedRule::first_values() const {
  std::vector<double> values(layers_ * parameters_ * heads_);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (learns(i)) values[i] = normalizer_.parameters()[parameter_of(i)].of_head(i % heads_);
  return values;
}

std::vector<AnyNormalizer> LearnedRule::normalizers(std::span<const double> values) const {
  if (!learns_any()) return std::vector<AnyNormalizer>(layers_, normalizer_);
  std::vector<AnyNormalizer> all;
  const Definition& definition = normalizer_.definition();
  for (std::size_t layer = 0; layer < layers_; ++layer) {
    std::vector<AnyNormalizer::NamedParameter> named;
    for (std::size_t p = 0; p < parameters_; ++p) {
      const auto of_heads = values.subspan((layer * parameters_ + p) * heads_, heads_);
      named.emplace_back(definition.parameters[p].name,
                         learned_[p] ? Parameter(std::vector<double>(of_heads.begin(), of_heads.end()))
                                     : normalizer_.parameters()[p]);
    }
    all.emplace_back(definition.name, std::span<const AnyNormalizer::NamedParameter>(named));
  }
  return all;
}

bool LearnedRule::learns(std::size_t index) const { return learned_[parameter_of(index)]; }
bool LearnedRule::learns_any() const {
  return heads_ > 0 && std::find(learned_.begin(), learned_.end(), true) != learned_.end();
}

bool LearnedRule::may_be(std::span<const double> values, std::size_t index) const {
  const Definition& definition = normalizer_.definition();
  const ParameterSpec& spec = definition.parameters[parameter_of(index)];
  if (!std::isfinite(values[index]) || (spec.valid != nullptr && !spec.valid(values[index]))) return false;
  if (definition.no_backward == nullptr) return true;
  const std::size_t layer = index / (heads_ * parameters_);
  const AnyNormalizer with = normalizers(values)[layer];
  return definition.no_backward(HeadParameters(with.parameters(), index % heads_)).empty();
}

}  // namespace sharpmax::train
