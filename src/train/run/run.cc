#include "train/run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "base/numbers.h"
#include "job/json_members.h"
#include "job/saved_results.h"
#include "statistics/significance.h"
#include "storage/files.h"
#include "train/task/task.h"

namespace sharpmax::train {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The normalizer of the training first, with what it learned; then those of the test, except itself if it
// learned nothing.
std::vector<TestedRule> rules_of(const Trained& trained, const RunSettings& settings) {
  const Arm& arm = trained.plan.arm;
  const std::string& last = arm.later.empty() ? arm.normalizer : arm.later;
  std::vector<TestedRule> rules = {{last, true, trained.normalizers}};
  for (const std::string& text : settings.test.normalizers) {
    const AnyNormalizer normalizer = AnyNormalizer::parse(text);
    const bool same = std::all_of(trained.normalizers.begin(), trained.normalizers.end(),
                                  [&](const AnyNormalizer& own) { return own == normalizer; });
    if (!same)
      rules.push_back({text, false, std::vector<AnyNormalizer>(trained.normalizers.size(), normalizer)});
  }
  return rules;
}

// A file that this run wrote before it was killed.
std::vector<TrainMeasurement> load_tested(const std::filesystem::path& path) {
  std::vector<TrainMeasurement> measurements;
  try {
    read_json(parse_json(read_text(path), path.string()), measurements);
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::bad_file, fmt::format("{}: not the results of a test: {}; delete it to test again",
                                                 path.string(), error.what()));
  }
  return measurements;
}

class Testing {
 public:
  Testing(const RunSettings& settings, const Directory& directory, const RunOptions& options)
      : settings_(settings),
        directory_(directory),
        options_(options),
        task_(task_kind(settings.task.task).make(settings.task)) {}

  std::vector<TrainMeasurement> run(const std::vector<Trained>& models) {
    for (const std::int64_t n : settings_.test.sizes) total_ += cost(n) * static_cast<double>(models.size());
    std::vector<TrainMeasurement> all;
    for (const Trained& trained : models) {
      for (const std::int64_t n : settings_.test.sizes) {
        for (TrainMeasurement& measurement : test(trained, n)) all.push_back(std::move(measurement));
        done_ += cost(n);
      }
    }
    return all;
  }

 private:
  double cost(std::int64_t n) const {
    const auto places = task_->places(n, Asking::test);
    return static_cast<double>(answers_at(n, settings_.test)) / static_cast<double>(places.size()) *
           static_cast<double>(places.back() + 1);
  }

  std::vector<TrainMeasurement> test(const Trained& trained, std::int64_t n) const {
    const auto file = directory_.tested(trained.model.arm, trained.model.seed, n);
    if (std::filesystem::exists(file)) return load_tested(file);
    const std::vector<TestedRule> rules = rules_of(trained, settings_);
    EvaluationRequest request{.task = task_.get(),
                              .decoder = settings_.decoder,
                              .size = n,
                              .answers = answers_at(n, settings_.test),
                              .rules = rules,
                              .threads = options_.threads};
    request.progress = [&](double share) {
      if (options_.progress)
        options_.progress(fmt::format("testing: {} items, arm {}, {:.0f} %", grouped(n), trained.model.arm,
                                      100.0 * (done_ + share * cost(n)) / total_));
    };
    std::vector<TrainMeasurement> measurements = evaluate(trained.parameters, request);
    for (TrainMeasurement& measurement : measurements) {
      measurement.arm = trained.model.arm;
      measurement.seed = trained.model.seed;
    }
    write_text(file, json_of(measurements).dump() + "\n");
    return measurements;
  }

  const RunSettings& settings_;
  const Directory& directory_;
  const RunOptions& options_;
  std::unique_ptr<const Task> task_;
  double done_ = 0.0, total_ = 0.0;
};

// What a run was begun with. A file of records may change while its name and its counts stay.
Json begun_with(const RunSettings& settings) {
  Json json = settings_json(settings);
  const std::string& task = settings.task.task;
  if (names_records(task) && std::filesystem::exists(task)) {
    const std::string text = read_text(std::filesystem::path(task));
    json["records"] = {{"sha256", sha256_of(std::as_bytes(std::span(text)))}};
  }
  return json;
}

double largest_right_weight(const TrainMeasurement& m) {
  double most = kNaN;
  for (const HeadMeasurement& head : m.heads)
    if (!(head.right_weight <= most)) most = std::isnan(head.right_weight) ? most : head.right_weight;
  return most;
}

}  // namespace

Directory::Directory(const std::filesystem::path& root, const RunSettings& settings, Existing existing)
    : RunDirectory(root,
                   {.settings = begun_with(settings), .folders = {"checkpoints", "models", "tested"}},
                   existing) {
  if (existing != Existing::overwrite) return;
  std::error_code ignored;  // models are folders, which may be of arms that this run has not
  for (const auto& entry : std::filesystem::directory_iterator(root / "models", ignored))
    std::filesystem::remove_all(entry.path(), ignored);
}

std::filesystem::path Directory::checkpoint(const std::string& arm, std::uint64_t seed) const {
  return root() / "checkpoints" / fmt::format("{}-{}.safetensors", arm, seed);
}
std::filesystem::path Directory::model(const std::string& arm, std::uint64_t seed) const {
  return root() / "models" / fmt::format("{}-{}", arm, seed);
}
std::filesystem::path Directory::tested(const std::string& arm, std::uint64_t seed, std::int64_t n) const {
  return root() / "tested" / fmt::format("{}-{}-{}.json", arm, seed, n);
}

std::vector<TrainSummary> summary_of(const std::vector<TrainMeasurement>& results) {
  std::vector<TrainSummary> all;
  for (const TrainMeasurement& first : results) {
    const auto same = [&](const auto& other) {
      return other.arm == first.arm && other.normalizer == first.normalizer && other.own == first.own &&
             other.n == first.n;
    };
    if (std::any_of(all.begin(), all.end(), same)) continue;
    TrainSummary sum{.arm = first.arm, .normalizer = first.normalizer, .own = first.own, .n = first.n};
    std::vector<double> accuracies, weights;
    for (const TrainMeasurement& m : results) {
      if (!same(m)) continue;
      const auto answers = static_cast<double>(m.answers);
      sum.answers += m.answers;
      accuracies.push_back(m.accuracy);
      weights.push_back(largest_right_weight(m));
      sum.dispersion += static_cast<double>(m.hard_right_rule_wrong) / answers;
      sum.ranking += static_cast<double>(m.hard_wrong_rule_wrong) / answers;
      sum.averaging += static_cast<double>(m.hard_wrong_rule_right) / answers;
    }
    sum.seeds = static_cast<std::int64_t>(accuracies.size());
    const Interval interval =
        sum.seeds > 1 ? mean_interval(accuracies) : Interval{first.accuracy_low, first.accuracy_high};
    sum.accuracy = mean_of(accuracies);
    sum.accuracy_low = interval.low;
    sum.accuracy_high = interval.high;
    for (double* share : {&sum.dispersion, &sum.ranking, &sum.averaging})
      *share /= static_cast<double>(sum.seeds);
    sum.right_weight = mean_of(weights);
    all.push_back(std::move(sum));
  }
  return all;
}

TrainResult run(const RunSettings& settings, const Directory& directory, const RunOptions& options) {
  TrainResult result{.settings = settings};
  const TaskShape shape = task_kind(settings.task.task).make(settings.task)->shape();
  result.chance = std::pow(1.0 / static_cast<double>(shape.classes), static_cast<double>(shape.parts));
  const auto began = std::chrono::steady_clock::now();
  const std::vector<Trained> models = train_all(settings, directory, options);
  result.training_seconds = seconds_since(began);
  const auto trained = std::chrono::steady_clock::now();
  result.results = Testing(settings, directory, options).run(models);
  result.testing_seconds = seconds_since(trained);
  for (const Trained& one : models) result.models.push_back(one.model);
  result.summary = summary_of(result.results);
  return result;
}

}  // namespace sharpmax::train
