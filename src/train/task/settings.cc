#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/in_quotes.h"
#include "job/field_values.h"
#include "job/json_members.h"
#include "sharpmax/normalizer.h"
#include "train/task/task.h"

namespace sharpmax::train {
namespace {

[[noreturn]] void refuse_settings(const std::string& sentence) {
  throw RequestError(ErrorCode::bad_argument, sentence);
}

constexpr std::array<std::string_view, 7> kArms = {"softmax",  "ssmax",       "entmax15",      "asentmax",
                                                   "adaptive", "late-target", "tuned-adaptive"};

// `trained`: places whose number grows, at the largest size of the training.
Arm arm_named(std::string_view name, std::int64_t trained) {
  const std::string of(name);
  if (name == "softmax" || name == "entmax15" || name == "adaptive") return {of, of, "", false};
  // Both begin as softmax or entmax at the trained size; what grows with the length is learned.
  const double at_trained = 1.0 / std::log(static_cast<double>(trained));
  if (name == "ssmax") return {of, fmt::format("ssmax:s={:.4g}", at_trained), "", false};
  if (name == "asentmax") return {of, "asentmax:beta=0", "", false};
  if (name == "late-target") return {of, "softmax", "entropy_target", false};
  if (name == "tuned-adaptive") return {of, "softmax", "adaptive", true};
  std::string known;
  for (const std::string_view arm : kArms) known += (known.empty() ? "" : ", ") + std::string(arm);
  refuse_settings(
      fmt::format("{}: there is no arm {}; the arms are {}", named("arms"), in_quotes(name), known));
}

std::vector<Arm> arms_of(const TrainRequest& request, std::int64_t trained) {
  std::vector<std::string> names;
  for (const std::string& element : request.arms)
    for (const std::string_view name : pieces_of(element, ',')) names.emplace_back(name);
  if (names.empty()) {
    if (request.preset == "quick")
      names = {"softmax", "ssmax"};
    else
      names.assign(kArms.begin(), kArms.end());
  }
  std::vector<Arm> arms;
  for (const std::string& name : names) {
    for (const Arm& arm : arms)
      if (arm.name == name)
        refuse_settings(fmt::format("{}: {} is given twice", named("arms"), in_quotes(name)));
    arms.push_back(arm_named(name, trained));
    for (std::string* text : {&arms.back().normalizer, &arms.back().later})
      if (!text->empty()) *text = AnyNormalizer::parse(*text).text();
  }
  return arms;
}

std::vector<std::string> normalizers_of(const TrainRequest& request, std::int64_t trained) {
  std::vector<std::string> texts = request.test.normalizers;
  if (texts.empty())
    texts = {"softmax", "adaptive", fmt::format("log_length:length={}", std::max<std::int64_t>(trained, 2)),
             "entropy_target", "hard"};
  std::vector<std::string> all;
  for (const std::string& text : texts) {
    std::string found;
    try {
      found = AnyNormalizer::parse(text).text();
    } catch (const Error& error) {
      refuse_settings(fmt::format("{}: {}", named("normalizers"), error.what()));
    }
    if (std::find(all.begin(), all.end(), found) != all.end())
      refuse_settings(fmt::format("{}: {} is given twice", named("normalizers"), found));
    all.push_back(found);
  }
  return all;
}

void check_decoder(const DecoderSettings& s) {
  if (s.local_heads > s.heads)
    refuse_settings(fmt::format("{} is more than {}", named("local_heads", std::to_string(s.local_heads)),
                                named("heads", std::to_string(s.heads))));
  if (s.local_layers >= s.layers)
    refuse_settings(fmt::format("{} must be below {}: the last layer reads the answer from all places",
                                named("local_layers", std::to_string(s.local_layers)),
                                named("layers", std::to_string(s.layers))));
  if (s.local_heads + s.local_layers > 0 && s.head_width % 2 != 0)
    refuse_settings(fmt::format("{} must be even, because local heads turn pairs of features",
                                named("head_width", std::to_string(s.head_width))));
}

// A table per head must have something to be chosen for, sequences to be chosen by, and sizes to be judged at.
void check_per_head(const RunSettings& run, const Task& task) {
  const std::int64_t trained = run.task.largest_size, up_to = kChosenUpTo * trained;
  if (run.decoder.global_heads() < 1)
    refuse_settings(fmt::format("{}: no head sees everything; {} must be below {}", named("per_head"),
                                named("local_heads"), named("heads")));
  if (sizes_to_choose_at(task, trained).empty())
    refuse_settings(fmt::format("{}: {} has no sequences of {} to {} items to choose by", named("per_head"), run.task.task,
                                trained, up_to));
  if (run.test.sizes.back() <= up_to)
    refuse_settings(fmt::format("{} chooses at sizes up to {}, {} times the trained one, and judges beyond; give a larger one "
                                "in {}",
                                named("per_head"), up_to, kChosenUpTo, named("sizes")));
}

template <class Settings, class Changes>
void place(Settings& settings, const Changes& changes) {
  Settings::each_pair(settings, changes, [](const Field&, auto& value, const auto& given) {
    if (given) value = *given;
  });
}

}  // namespace

RunSettings settings_of(const TrainRequest& request) {
  const TaskKind& kind = task_kind(request.task.task);
  RunSettings run;
  run.preset = request.preset;
  run.task = complete(kind, request.task);
  run.decoder = kind.decoder;
  place(run.decoder, request.decoder);
  run.decoder.hidden = run.decoder.hidden_width();
  check_decoder(run.decoder);
  run.optimizer.steps = kind.steps;
  run.optimizer.learning_rate = kind.learning_rate;
  place(run.optimizer, request.optimizer);
  if (run.optimizer.beta1 >= 1.0 || run.optimizer.beta2 >= 1.0)
    refuse_settings(fmt::format("{} and {} must be below 1", named("beta1"), named("beta2")));
  const auto task = kind.make(run.task);
  const std::int64_t trained = task->content(run.task.largest_size);
  run.arms = arms_of(request, trained);
  const std::int64_t seeds = request.seeds.value_or(request.preset == "quick" ? 1 : 3);
  for (std::int64_t seed = 0; seed < seeds; ++seed) run.seeds.push_back(static_cast<std::uint64_t>(seed));
  run.test = request.test;
  run.test.normalizers = normalizers_of(request, trained);
  if (run.test.sizes.empty()) {
    for (const std::int64_t n : kind.sizes)
      if (n <= task->largest_size()) run.test.sizes.push_back(n);
  }
  if (run.test.sizes.empty())
    refuse_settings(fmt::format("{} has sequences of at most {} items here, and is tested from {} on; give {}", run.task.task,
                                task->largest_size(), kind.sizes.front(), named("sizes")));
  std::sort(run.test.sizes.begin(), run.test.sizes.end());
  for (const std::int64_t n : run.test.sizes) check_size(*task, run.task, "sizes", n);
  if (const auto twice = std::adjacent_find(run.test.sizes.begin(), run.test.sizes.end());
      twice != run.test.sizes.end())
    refuse_settings(fmt::format("{}: {} is given twice", named("sizes"), *twice));
  if (run.test.per_head) check_per_head(run, *task);
  return run;
}

Json settings_json(const RunSettings& run) {
  return {{"preset", run.preset},
          {"task", json_of_fields(run.task)},
          {"decoder", json_of_fields(run.decoder)},
          {"optimizer", json_of_fields(run.optimizer)},
          {"arms", json_of(run.arms)},
          {"seeds", json_of(run.seeds)},
          {"test", json_of_fields(run.test)}};
}

RunSettings settings_in(const Json& json) {
  RunSettings run;
  read_json(json.at("preset"), run.preset);
  read_fields(json.at("task"), run.task);
  read_fields(json.at("decoder"), run.decoder);
  read_fields(json.at("optimizer"), run.optimizer);
  read_json(json.at("arms"), run.arms);
  read_json(json.at("seeds"), run.seeds);
  read_fields(json.at("test"), run.test);
  return run;
}

}  // namespace sharpmax::train
