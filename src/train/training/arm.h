// How an arm goes through its training: which normalizer at which step, and at which learning rate.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sharpmax/normalizer.h"
#include "sharpmax/train_settings.h"

namespace sharpmax::train {

class Course {
 public:
  Course(const OptimizerSettings& settings, const Arm& arm);

  std::int64_t steps() const noexcept { return total_; }  // fine-tuning included
  const AnyNormalizer& normalizer_at(std::int64_t step) const { return step < switch_ ? first_ : later_; }
  bool switches_before(std::int64_t step) const { return step == switch_ && step > 0 && step < total_; }
  double learning_rate_at(std::int64_t step) const;

 private:
  OptimizerSettings s_;
  AnyNormalizer first_, later_;
  std::int64_t total_, switch_;  // switch_: the first step under `later_`
};

// The values that a normalizer learns, one per layer, parameter and head. Softmax's beta is not learned,
// since the scale of the scores is, and neither is alpha, so that an arm stays the entmax that it is named
// after.
class LearnedRule {
 public:
  LearnedRule(const AnyNormalizer& normalizer, std::int64_t layers, std::int64_t heads);

  std::vector<double> first_values() const;                                      // [layer, parameter, head]
  std::vector<AnyNormalizer> normalizers(std::span<const double> values) const;  // one per layer
  bool learns(std::size_t index) const;                                          // of a value
  bool learns_any() const;
  // Whether a value is one that the parameter may have, and has a gradient.
  bool may_be(std::span<const double> values, std::size_t index) const;

 private:
  std::size_t parameter_of(std::size_t index) const { return index / heads_ % parameters_; }

  AnyNormalizer normalizer_;
  std::size_t layers_, heads_, parameters_;
  std::vector<bool> learned_;  // by parameter
};

}  // namespace sharpmax::train
