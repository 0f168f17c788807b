#include "train/training/trainer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/in_quotes.h"
#include "base/numbers.h"
#include "job/json_members.h"
#include "learning/kernels.h"
#include "storage/safetensors.h"
#include "train/task/task.h"

namespace sharpmax::train {
namespace {

constexpr const char* kCheckpointFormat = "sharpmax.transformer.checkpoint/1";

SafetensorMetadata metadata_of(const char* format, const TrainingPlan& plan, const TrainingState& state) {
  return {{"format", format},
          {"plan", plan_text(plan)},
          {"step", std::to_string(state.step)},
          {"tokens", std::to_string(state.tokens)}};
}

Layout layout_of(const TrainingPlan& plan) {
  return Layout(plan.decoder, task_kind(plan.task.task).make(plan.task)->shape());
}

using Views = std::vector<SafetensorView>;

void add_parts(Views& views, const TrainingPlan& plan, const std::vector<float>& values,
               const std::string& prefix) {
  for (const Part& part : layout_of(plan).parts()) {
    std::vector<std::int64_t> shape = {part.columns};
    if (part.is_matrix()) shape.insert(shape.begin(), part.rows);
    views.push_back({prefix + part.name, SafetensorType::f32, shape, values.data() + part.offset});
  }
}
void add(Views& views, const char* name, const std::vector<double>& values) {
  views.push_back({name, SafetensorType::f64, {static_cast<std::int64_t>(values.size())}, values.data()});
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : file_(path) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::bad_file, fmt::format("{}: {}", file_.name(), what));
  }
  void check() const { check_seal(file_); }
  std::string word(const std::string& key) const {
    const auto found = file_.metadata().find(key);
    if (found == file_.metadata().end()) fail(fmt::format("the metadata have no '{}'", key));
    return found->second;
  }
  std::int64_t whole_number(const std::string& key) const {
    const std::string text = word(key);
    const auto value = parse_decimal(text);
    if (!value || *value < 0 || *value != std::floor(*value) || *value > 0x1p52)
      fail(fmt::format("{} is {}; expected a whole number", key, in_quotes(text)));
    return static_cast<std::int64_t>(*value);
  }
  template <class Number>
  void numbers(const std::string& name, const std::vector<std::int64_t>& shape, Number* to) {
    constexpr auto kType = sizeof(Number) == 8 ? SafetensorType::f64 : SafetensorType::f32;
    const SafetensorEntry* const entry = file_.find(name);
    if (!entry) fail(fmt::format("there is no tensor {}", in_quotes(name)));
    if (entry->type != kType || entry->shape != shape)
      fail(fmt::format("at byte {}: tensor {} is {} of shape [{}]; expected {} of shape [{}]",
                       entry->name_offset, in_quotes(name), name_of(entry->type),
                       fmt::join(entry->shape, ", "), name_of(kType), fmt::join(shape, ", ")));
    std::memcpy(to, file_.bytes(*entry).data(), entry->elements * sizeof(Number));
    for (std::size_t i = 0; i < entry->elements; ++i)
      if (!std::isfinite(to[i]))
        fail(fmt::format("at byte {}: tensor {} holds {}; expected finite numbers",
                         entry->begin + i * sizeof(Number), in_quotes(name), to[i]));
    ++read_;
  }
  void parts(const Layout& layout, const std::string& prefix, std::vector<float>& values) {
    values.resize(to_size(layout.size()));
    for (const Part& part : layout.parts()) {
      std::vector<std::int64_t> shape = {part.columns};
      if (part.is_matrix()) shape.insert(shape.begin(), part.rows);
      numbers(prefix + part.name, shape, values.data() + part.offset);
    }
  }
  void row(const char* name, std::size_t count, std::vector<double>& values) {
    values.resize(count);
    numbers(name, {static_cast<std::int64_t>(count)}, values.data());
  }
  void finish() const {
    if (read_ != file_.tensors().size())
      fail(fmt::format("it has {} tensors; expected {}", file_.tensors().size(), read_));
  }

 private:
  SafetensorsFile file_;
  std::size_t read_ = 0;
};

}  // namespace

std::string plan_text(const TrainingPlan& plan) {
  return Json{{"task", json_of_fields(plan.task)},
              {"decoder", json_of_fields(plan.decoder)},
              {"optimizer", json_of_fields(plan.optimizer)},
              {"arm", json_of(plan.arm)},
              {"seed", plan.seed}}
      .dump();
}

void save_checkpoint(const std::filesystem::path& path, const TrainingPlan& plan,
                     const Checkpoint& checkpoint) {
  const TrainingState& state = checkpoint.state;
  Views views;
  add_parts(views, plan, state.parameters, "");
  add_parts(views, plan, state.first_moment, "first_moment.");
  add_parts(views, plan, state.second_moment, "second_moment.");
  add(views, "normalizer", state.rule);
  add(views, "first_moment.normalizer", state.rule_first_moment);
  add(views, "second_moment.normalizer", state.rule_second_moment);
  add(views, "loss_sums", checkpoint.loss_sums);
  write_sealed_tensors(path, views, metadata_of(kCheckpointFormat, plan, state));
}

Checkpoint load_checkpoint(const std::filesystem::path& path, const TrainingPlan& plan) {
  Reader reader(path);
  if (reader.word("format") != kCheckpointFormat)
    reader.fail(
        fmt::format("the format is {}; expected {}", in_quotes(reader.word("format")), kCheckpointFormat));
  reader.check();
  if (reader.word("plan") != plan_text(plan))
    reader.fail(fmt::format(
        "it is of another training than seed {} of arm {}; delete it to train this model from the "
        "beginning",
        plan.seed, plan.arm.name));
  Checkpoint checkpoint;
  TrainingState& state = checkpoint.state;
  state.step = reader.whole_number("step");
  state.tokens = reader.whole_number("tokens");
  const Course course(plan.optimizer, plan.arm);
  if (state.step > course.steps()) reader.fail(fmt::format("step is {} of {}", state.step, course.steps()));
  const Layout layout = layout_of(plan);
  reader.parts(layout, "", state.parameters);
  reader.parts(layout, "first_moment.", state.first_moment);
  reader.parts(layout, "second_moment.", state.second_moment);
  const std::int64_t last = std::max<std::int64_t>(course.steps() - 1, 0);
  const LearnedRule rule(course.normalizer_at(std::min(state.step, last)), plan.decoder.layers,
                         plan.decoder.global_heads());
  const std::size_t learned = rule.first_values().size();
  reader.row("normalizer", learned, state.rule);
  reader.row("first_moment.normalizer", learned, state.rule_first_moment);
  reader.row("second_moment.normalizer", learned, state.rule_second_moment);
  reader.row("loss_sums", to_size(learning::LossCurve::stretches(course.steps())), checkpoint.loss_sums);
  reader.finish();
  return checkpoint;
}

}  // namespace sharpmax::train
