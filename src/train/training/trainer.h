// Training one model, step by step, by counter: a state and the settings determine everything after it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "sharpmax/normalizer.h"
#include "sharpmax/train_settings.h"
#include "train/decoder/decoder.h"

namespace sharpmax::train {

// How an arm goes through its training: which normalizer at which step, and at which learning rate.

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
  double squares_of_gradient() const;
  void descend(const learning::AdamStep& step);
  void descend_embedding(const learning::AdamStep& step);
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

// Checkpoints as .safetensors files, one tensor per part under its name, settings in the metadata; trained models as
// folders that every command opens.
//
// Loading checks the format's name, that the file is of this plan, that its tensors are those of such a
// model, and that every number is finite. Errors are {bad_file}.

// A training that was interrupted, or has ended. loss_sums are learning::LossCurve's.
struct Checkpoint {
  TrainingState state;
  std::vector<double> loss_sums;
};

// The plan as JSON in one line.
std::string plan_text(const TrainingPlan& plan);

inline constexpr const char* kPerHeadFile = "per-head.json";

// Normalizers of a training, one per layer, as those of its heads that see everything.
std::vector<ChosenHead> learned_by_head(const DecoderSettings& decoder, std::span<const AnyNormalizer> normalizers);

// model.safetensors, config.json, tokenizer.json and normalizers.json: src/model opens it if a place of the task has one
// token. normalizers: one per layer. chosen: what choose() found, for another table of normalizers; may be empty.
void save_model(const std::filesystem::path& folder, const TrainingPlan& plan, const TrainingState& state,
                const std::vector<AnyNormalizer>& normalizers, std::span<const ChosenHead> chosen);
void save_checkpoint(const std::filesystem::path& path, const TrainingPlan& plan,
                     const Checkpoint& checkpoint);
Checkpoint load_checkpoint(const std::filesystem::path& path, const TrainingPlan& plan);

}  // namespace sharpmax::train
