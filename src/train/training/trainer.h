// Training one model, step by step, by counter: a state and the settings determine everything after it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "train/decoder/decoder.h"
#include "train/training/arm.h"

namespace sharpmax::train {

// All that the next step depends on, besides settings and seed. Moments are Adam's.
struct TrainingState {
  std::int64_t step = 0;    // steps done
  std::int64_t tokens = 0;  // places read
  std::vector<float> parameters, first_moment, second_moment;
  std::vector<double> rule, rule_first_moment,
      rule_second_moment;  // what the normalizer learns: see LearnedRule
  bool operator==(const TrainingState&) const = default;
};

struct TrainingPlan {
  TaskSettings task;
  DecoderSettings decoder;
  OptimizerSettings optimizer;
  Arm arm;
  std::uint64_t seed = 0;
};

struct StepReport : BatchReport {
  double gradient_norm = 0.0;  // before clipping
};

class Trainer {
 public:
  Trainer(const TrainingPlan& plan, int threads);  // from the beginning
  Trainer(const TrainingPlan& plan, int threads, TrainingState state);

  bool finished() const noexcept { return state_.step >= course_.steps(); }
  const Course& course() const noexcept { return course_; }
  const TrainingState& state() const noexcept { return state_; }
  const std::vector<AnyNormalizer>& normalizers() const noexcept { return normalizers_; }  // one per layer

  // Throws Error{unsupported} if the loss diverges. The state is then the last good one.
  StepReport step();

  // Of the step before; for tests.
  const Batch& batch() const noexcept { return batch_; }
  const std::vector<float>& gradient() const noexcept { return gradient_; }

 private:
  void begin_rule();
  void place_rule();
  void check(const StepReport& report) const;
  void descend(const learning::AdamStep& step);
  void descend_rule(learning::AdamStep step);

  TrainingPlan plan_;
  std::unique_ptr<const Task> task_;
  Course course_;
  int threads_;
  Decoder<float> decoder_;
  TrainingState state_;
  std::unique_ptr<LearnedRule> rule_;
  std::vector<AnyNormalizer> normalizers_;
  Batch batch_;
  std::vector<float> gradient_;
  std::vector<double> d_rule_;
};

}  // namespace sharpmax::train
