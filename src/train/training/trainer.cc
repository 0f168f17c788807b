#include "train/training/trainer.h"

#include <fmt/format.h>

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

namespace {

// A loss so many times that of a guess does not come back.
constexpr double kDiverged = 20.0;
// Parameters that one task of a loop moves.
constexpr std::int64_t kAdamBlock = 1 << 15;

TrainingState initial_state(const TrainingPlan& plan) {
  TrainingState state;
  const auto task = task_kind(plan.task.task).make(plan.task);
  state.parameters = initial_parameters(plan.decoder, task->shape(), plan.seed);
  state.first_moment.assign(state.parameters.size(), 0.0f);
  state.second_moment.assign(state.parameters.size(), 0.0f);
  return state;
}

}  // namespace

Trainer::Trainer(const TrainingPlan& plan, int threads) : Trainer(plan, threads, initial_state(plan)) {}

Trainer::Trainer(const TrainingPlan& plan, int threads, TrainingState state)
    : plan_(plan),
      task_(task_kind(plan.task.task).make(plan.task)),
      course_(plan.optimizer, plan.arm),
      threads_(threads_for(threads)),
      decoder_(plan.decoder, task_->shape(), threads_),
      state_(std::move(state)),
      gradient_(state_.parameters.size()) {
  const std::int64_t last = std::max<std::int64_t>(course_.steps() - 1, 0);
  rule_ = std::make_unique<LearnedRule>(course_.normalizer_at(std::min(state_.step, last)),
                                        plan.decoder.layers, plan.decoder.global_heads());
  if (state_.rule.empty()) begin_rule();  // at the beginning, or if there is nothing to learn
  place_rule();
}

void Trainer::begin_rule() {
  state_.rule = rule_->first_values();
  state_.rule_first_moment.assign(state_.rule.size(), 0.0);
  state_.rule_second_moment.assign(state_.rule.size(), 0.0);
  place_rule();
}

void Trainer::place_rule() {
  normalizers_ = rule_->normalizers(state_.rule);
  d_rule_.assign(rule_->learns_any() ? state_.rule.size() : 0, 0.0);
}

void Trainer::check(const StepReport& report) const {
  const TaskShape shape = task_->shape();
  const double guess = std::log(static_cast<double>(shape.classes)) * static_cast<double>(shape.parts);
  if (std::isfinite(report.loss) && std::isfinite(report.gradient_norm) && report.loss <= kDiverged * guess)
    return;
  throw RequestError(
      ErrorCode::unsupported,
      fmt::format(
          "arm {}, seed {}: the loss diverged at step {} of {}: it is {:.4g}, and the norm of the gradient "
          "{:.4g}. The state before that step is kept. Try a lower {}, a longer {} or another training "
          "normalizer",
          plan_.arm.name, plan_.seed, state_.step, course_.steps(), report.loss, report.gradient_norm,
          named("learning_rate"), named("warm_up")));
}

StepReport Trainer::step() {
  const double progress = static_cast<double>(state_.step) / static_cast<double>(course_.steps());
  const Task& task = task_->of_step(state_.step, progress);
  const std::int64_t size = size_of_step(task, plan_.task, plan_.seed, state_.step);
  draw_batch(task,
             {.seed = plan_.seed,
              .purpose = Purpose::training,
              .step = state_.step,
              .count = plan_.optimizer.batch,
              .size = size,
              .progress = progress},
             batch_);
  StepReport report{decoder_.learn(state_.parameters, normalizers_, batch_, gradient_, d_rule_)};
  report.gradient_norm = std::sqrt(squares_of_gradient());
  check(report);
  const OptimizerSettings& s = plan_.optimizer;
  const double t = static_cast<double>(state_.step + 1);
  const learning::AdamStep step{
      .learning_rate = course_.learning_rate_at(state_.step),
      .weight_decay = s.weight_decay,
      .beta1 = s.beta1,
      .beta2 = s.beta2,
      .epsilon = s.epsilon,
      .correction1 = 1.0 / (1.0 - std::pow(s.beta1, t)),
      .correction2 = 1.0 / (1.0 - std::pow(s.beta2, t)),
      .gradient_scale = s.clip > 0.0 && report.gradient_norm > s.clip ? s.clip / report.gradient_norm : 1.0};
  descend(step);
  descend_rule(step);
  ++state_.step;
  state_.tokens += batch_.sequences * batch_.length;
  if (course_.switches_before(state_.step)) {
    rule_ = std::make_unique<LearnedRule>(course_.normalizer_at(state_.step), plan_.decoder.layers,
                                          plan_.decoder.global_heads());
    begin_rule();
  }
  return report;
}

double Trainer::squares_of_gradient() const {
  const Part& embedding = decoder_.layout().embedding();
  double squares = 0.0;
  for (const std::int32_t token : decoder_.read_tokens())
    squares += learning::sum_of_squares(gradient_.data() + token * embedding.columns, to_size(embedding.columns));
  squares += learning::sum_of_squares(gradient_.data() + embedding.size(), gradient_.size() - to_size(embedding.size()));
  for (std::size_t i = 0; i < d_rule_.size(); ++i) squares += rule_->learns(i) ? d_rule_[i] * d_rule_[i] : 0.0;
  return squares;
}

// A step reads a few hundred of many thousand tokens. The rows of the others move on too, without a pass over their gradient.
void Trainer::descend_embedding(const learning::AdamStep& step) {
  const Part& part = decoder_.layout().embedding();
  const std::vector<std::int32_t>& read = decoder_.read_tokens();
  const std::int64_t width = part.columns, rows = std::max<std::int64_t>(kAdamBlock / width, 1);
  TrainingState& s = state_;
  parallel_for(threads_, (part.rows + rows - 1) / rows, [&](std::int64_t task, int) {
    const std::int64_t end = std::min(part.rows, (task + 1) * rows);
    auto next = std::lower_bound(read.begin(), read.end(), task * rows);
    for (std::int64_t row = task * rows; row < end;) {
      const bool rests = next == read.end() || *next > row;
      const std::int64_t stop = !rests ? row + 1 : next == read.end() ? end : std::min<std::int64_t>(*next, end);
      const std::size_t at = to_size(row * width), count = to_size((stop - row) * width);
      if (rests)
        learning::adam_at_rest(step, count, &s.parameters[at], &s.first_moment[at], &s.second_moment[at]);
      else
        learning::adam(step, &gradient_[at], count, &s.parameters[at], &s.first_moment[at], &s.second_moment[at]);
      if (!rests) ++next;
      row = stop;
    }
  });
}

// Scales of norms do not decay.
void Trainer::descend(const learning::AdamStep& step) {
  descend_embedding(step);
  for (const Part& part : decoder_.layout().parts()) {
    if (part.offset == decoder_.layout().embedding().offset) continue;
    learning::AdamStep of_part = step;
    if (!part.is_matrix()) of_part.weight_decay = 0.0;
    parallel_for(threads_, (part.size() + kAdamBlock - 1) / kAdamBlock, [&](std::int64_t task, int) {
      const std::int64_t first = part.offset + task * kAdamBlock;
      const std::int64_t count = std::min(kAdamBlock, part.offset + part.size() - first);
      learning::adam(of_part, gradient_.data() + first, to_size(count), state_.parameters.data() + first,
                     state_.first_moment.data() + first, state_.second_moment.data() + first);
    });
  }
}

// A step that would leave a parameter's domain is not taken.
void Trainer::descend_rule(learning::AdamStep step) {
  if (d_rule_.empty()) return;
  step.weight_decay = 0.0;
  for (std::size_t i = 0; i < d_rule_.size(); ++i) {
    if (!rule_->learns(i)) continue;
    const double before = state_.rule[i];
    learning::adam(step, &d_rule_[i], 1, &state_.rule[i], &state_.rule_first_moment[i],
                   &state_.rule_second_moment[i]);
    if (!rule_->may_be(state_.rule, i)) state_.rule[i] = before;
  }
  normalizers_ = rule_->normalizers(state_.rule);
}

}  // namespace sharpmax::train
