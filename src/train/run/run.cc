#include "train/run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "base/numbers.h"
#include "job/json_members.h"
#include "job/saved_results.h"
#include "machine/blas.h"
#include "statistics/significance.h"
#include "storage/files.h"
#include "train/task/task.h"

namespace sharpmax::train {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The normalizer of the training first, with what it learned; then those of the test, except itself if it
// learned nothing; then the table that was chosen.
std::vector<TestedRule> rules_of(const Trained& trained, const RunSettings& settings) {
  const Arm& arm = trained.plan.arm;
  const std::string& last = arm.later.empty() ? arm.normalizer : arm.later;
  std::vector<TestedRule> rules = {{last, true, rule_of_layers(trained.normalizers)}};
  for (const std::string& text : settings.test.normalizers) {
    const AnyNormalizer normalizer = AnyNormalizer::parse(text);
    const bool same = std::all_of(trained.normalizers.begin(), trained.normalizers.end(),
                                  [&](const AnyNormalizer& own) { return own == normalizer; });
    if (!same)
      rules.push_back(
          {text, false, rule_of_layers(std::vector<AnyNormalizer>(trained.normalizers.size(), normalizer))});
  }
  if (trained.table) rules.push_back({kPerHead, false, rule_of_table(trained.table->heads, settings.decoder)});
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

// Places that are read in a test.
double test_cost(const Task& task, std::int64_t n, const TestSettings& test) {
  double cost = 0.0;
  for (const Task* one : task.subtasks()) {
    const auto places = one->places(n, Asking::test);
    cost += static_cast<double>(answers_at(n, test)) / static_cast<double>(places.size()) *
            static_cast<double>(places.back() + 1);
  }
  return cost;
}

class Testing {
 public:
  Testing(const RunSettings& settings, const Directory& directory, const RunOptions& options)
      : settings_(settings),
        directory_(directory),
        options_(options),
        deal_(directory.claims(), run_pieces(settings, directory).back().second, options.launch),
        task_(task_kind(settings.task.task).make(settings.task)) {}

  // Of the models that are there, what nobody works on. Returns how many tests are left to others, or wait for models.
  std::size_t test_free(const std::vector<Trained>& models) {
    const std::size_t sizes = settings_.test.sizes.size();
    const auto ready = [&](std::size_t piece) { return !models[piece / sizes].parameters.empty(); };
    begin(models);
    while (const std::optional<Deal::Taken> taken = deal_.next(ready)) {
      const std::int64_t n = settings_.test.sizes[taken->index % sizes];
      test(models[taken->index / sizes], n);
      done_ += cost(n);
    }
    return deal_.left();
  }

  // What all processes have measured, model by model.
  std::vector<TrainMeasurement> measurements(const std::vector<Trained>& models) const {
    std::vector<TrainMeasurement> all;
    for (const Trained& trained : models)
      for (const std::int64_t n : settings_.test.sizes)
        for (TrainMeasurement& measurement :
             load_tested(directory_.tested(trained.model.arm, trained.model.seed, n)))
          all.push_back(std::move(measurement));
    return all;
  }

 private:
  void begin(const std::vector<Trained>& models) {
    done_ = total_ = 0.0;
    for (const Trained& trained : models) {
      for (const std::int64_t n : settings_.test.sizes) {
        total_ += cost(n);
        if (std::filesystem::exists(directory_.tested(trained.model.arm, trained.model.seed, n)))
          done_ += cost(n);
      }
    }
  }

  double cost(std::int64_t n) const { return test_cost(*task_, n, settings_.test); }

  void test(const Trained& trained, std::int64_t n) const {
    const std::vector<TestedRule> rules = rules_of(trained, settings_);
    const std::vector<const Task*> subtasks = task_->subtasks();
    std::vector<TrainMeasurement> measurements;
    double finished = 0.0;
    EvaluationRequest request{.task = nullptr,
                              .decoder = settings_.decoder,
                              .size = n,
                              .answers = answers_at(n, settings_.test),
                              .rules = rules,
                              .threads = options_.threads};
    request.progress = [&](double share) {
      if (options_.progress)
        options_.progress(fmt::format("testing: {} items, arm {}, {:.0f} %", grouped(n), trained.model.arm,
                                      100.0 * (done_ + (finished + share) / static_cast<double>(subtasks.size()) * cost(n)) / total_));
    };
    for (const Task* task : subtasks) {
      request.task = task;
      for (TrainMeasurement& measurement : evaluate(trained.parameters, request))
        measurements.push_back(std::move(measurement));
      finished += 1.0;
    }
    for (TrainMeasurement& measurement : measurements) {
      measurement.arm = trained.model.arm;
      measurement.seed = trained.model.seed;
    }
    write_text(directory_.tested(trained.model.arm, trained.model.seed, n), json_of(measurements).dump() + "\n");
  }

  const RunSettings& settings_;
  const Directory& directory_;
  const RunOptions& options_;
  Deal deal_;
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
                   {.settings = begun_with(settings),
                    .folders = {"checkpoints", "models", "chosen", "tested"},
                    .engine = engine_of(blas_description())},
                   existing),
      RunFiles(root) {
  if (existing != Existing::overwrite) return;
  std::error_code ignored;  // models are folders, which may be of arms that this run has not
  for (const auto& entry : std::filesystem::directory_iterator(root / "models", ignored))
    std::filesystem::remove_all(entry.path(), ignored);
}

PiecesByKind run_pieces(const RunSettings& settings, const RunFiles& files) {
  const auto task = task_kind(settings.task.task).make(settings.task);
  std::vector<Piece> models, tests;
  for (const Arm& arm : settings.arms) {
    for (const std::uint64_t seed : settings.seeds) {
      const std::filesystem::path model = files.model(arm.name, seed);
      models.push_back({.name = fmt::format("train-{}-{}", arm.name, seed),
                        .cost = static_cast<double>(Course(settings.optimizer, arm).steps()),
                        .file = model / "config.json",
                        .before = {files.checkpoint(arm.name, seed), model / "model.safetensors",
                                   model / "tokenizer.json", model / "normalizers.json",
                                   files.chosen(arm.name, seed), model / kPerHeadFile}});
      for (const std::int64_t n : settings.test.sizes)
        tests.push_back({.name = fmt::format("test-{}-{}-{}", arm.name, seed, n),
                         .cost = test_cost(*task, n, settings.test),
                         .file = files.tested(arm.name, seed, n)});
    }
  }
  return {{"models", std::move(models)}, {"tests", std::move(tests)}};
}

std::filesystem::path RunFiles::checkpoint(const std::string& arm, std::uint64_t seed) const {
  return root_ / "checkpoints" / fmt::format("{}-{}.safetensors", arm, seed);
}
std::filesystem::path RunFiles::model(const std::string& arm, std::uint64_t seed) const {
  return root_ / "models" / fmt::format("{}-{}", arm, seed);
}
std::filesystem::path RunFiles::chosen(const std::string& arm, std::uint64_t seed) const {
  return root_ / "chosen" / fmt::format("{}-{}.json", arm, seed);
}
std::filesystem::path RunFiles::tested(const std::string& arm, std::uint64_t seed, std::int64_t n) const {
  return root_ / "tested" / fmt::format("{}-{}-{}.json", arm, seed, n);
}

std::vector<TrainSummary> summary_of(const std::vector<TrainMeasurement>& results) {
  std::vector<TrainSummary> all;
  for (const TrainMeasurement& first : results) {
    const auto same = [&](const auto& other) {
      return other.arm == first.arm && other.subtask == first.subtask && other.normalizer == first.normalizer &&
             other.own == first.own && other.n == first.n;
    };
    if (std::any_of(all.begin(), all.end(), same)) continue;
    TrainSummary sum{.arm = first.arm, .subtask = first.subtask, .normalizer = first.normalizer, .own = first.own, .n = first.n};
    std::vector<double> accuracies, weights;
    for (const TrainMeasurement& m : results) {
      if (!same(m)) continue;
      const auto answers = static_cast<double>(m.answers);
      sum.answers += m.answers;
      accuracies.push_back(m.accuracy);
      weights.push_back(largest_right_weight(m));
      sum.dispersion += static_cast<double>(m.hard_right_rule_wrong) / answers;
      sum.ranking += static_cast<double>(m.hard_wrong_rule_wrong - m.binding) / answers;
      sum.binding += static_cast<double>(m.binding) / answers;
      sum.averaging += static_cast<double>(m.hard_wrong_rule_right) / answers;
    }
    sum.seeds = static_cast<std::int64_t>(accuracies.size());
    const Interval interval =
        sum.seeds > 1 ? mean_interval(accuracies) : Interval{first.accuracy_low, first.accuracy_high};
    sum.accuracy = mean_of(accuracies);
    sum.accuracy_low = interval.low;
    sum.accuracy_high = interval.high;
    for (double* share : {&sum.dispersion, &sum.ranking, &sum.binding, &sum.averaging})
      *share /= static_cast<double>(sum.seeds);
    sum.right_weight = mean_of(weights);
    all.push_back(std::move(sum));
  }
  return all;
}

TrainResult run(const RunSettings& settings, const Directory& directory, const RunOptions& options) {
  TrainResult result{.settings = settings};
  const auto task = task_kind(settings.task.task).make(settings.task);
  const std::vector<const Task*> subtasks = task->subtasks();
  for (const Task* one : subtasks) {
    result.chance += one->chance() / static_cast<double>(subtasks.size());
    if (!one->subtask().empty()) result.subtasks.push_back({std::string(one->subtask()), one->chance()});
  }
  ModelTraining training(settings, directory, options);
  Testing testing(settings, directory, options);
  std::vector<Trained> models;
  bool warned = false;
  for (std::size_t left = 1; left > 0;) {
    const auto began = std::chrono::steady_clock::now();
    left = training.train_free();
    if (options.remark && !directory.claims().locks_kept() && !std::exchange(warned, true))
      options.remark(no_locks_sentence(directory.root()));
    training.load(models);
    result.training_seconds += seconds_since(began);
    const auto trained = std::chrono::steady_clock::now();
    left += testing.test_free(models);
    result.testing_seconds += seconds_since(trained);
    if (left == 0) break;
    if (options.progress) options.progress(fmt::format("waiting for other processes: {} pieces left", left));
    wait_for_others();
  }
  result.results = testing.measurements(models);
  for (const Trained& one : models) {
    result.models.push_back(one.model);
    if (one.table) result.tables.push_back(*one.table);
  }
  result.summary = summary_of(result.results);
  return result;
}

}  // namespace sharpmax::train
