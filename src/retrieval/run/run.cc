#include "retrieval/run/run.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/threads.h"
#include "job/json_members.h"
#include "machine/blas.h"
#include "normalizer/definition.h"
#include "retrieval/task/task.h"
#include "retrieval/training/training.h"
#include "sharpmax/error.h"
#include "storage/files.h"
#include "storage/safetensors.h"

namespace sharpmax::retrieval {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

bool is_there(const TestedHead& tested) { return !tested.head.parameters.empty(); }

// Those that are there and have no certificate yet.
void certify(std::vector<TestedHead>& heads, const RunOptions& options) {
  std::vector<TestedHead*> fresh;
  for (TestedHead& tested : heads)
    if (is_there(tested) && tested.spread.certified == 0.0) fresh.push_back(&tested);
  ProgressMeter meter(Phase::certifying, 0.0, static_cast<double>(fresh.size()), options.progress);
  parallel_for(threads_for(options.threads), static_cast<std::int64_t>(fresh.size()),
               [&](std::int64_t i, int) {
                 TestedHead& tested = *fresh[static_cast<std::size_t>(i)];
                 tested.spread = certify_spread(tested.head);
                 meter.add(1.0);
               });
}

// The normalizer a head was trained with is tested with what it learned.
std::vector<AnyNormalizer> normalizers_for(const Head& head, const TestSettings& test) {
  std::vector<AnyNormalizer> normalizers = test.normalizers;
  for (AnyNormalizer& normalizer : normalizers)
    if (normalizer == head.training.normalizer) normalizer = head.normalizer();
  return normalizers;
}

// Heat maps show one head of an arm, and those rules alone that are compared everywhere.
bool has_heat_map(const AnyNormalizer& normalizer, const TestSettings& test) {
  constexpr std::size_t kFew = 4;
  const std::string_view name = normalizer.name();
  return test.normalizers.size() <= kFew || name == "softmax" || name == "adaptive" ||
         name == "entropy_target";
}

class Testing {
 public:
  // directory: null, if nothing is kept.
  Testing(const RunSettings& settings, const RunDirectory* directory, const RunOptions& options)
      : settings_(settings), directory_(directory), options_(options) {
    if (directory) deal_.emplace(directory->claims(), run_pieces(settings, *directory).back().second, options.launch);
  }

  // The heads that are there, at every size.
  void test_all(std::vector<TestedHead>& heads) {
    ProgressMeter meter = begin(heads);
    for (std::size_t i = 0; i < test().sizes.size(); ++i)
      for (TestedHead& tested : heads) measure(tested, i, meter);
  }

  // Of the heads that are there, what nobody works on. Returns how many tests are left to others, or wait for heads.
  std::size_t test_free(std::vector<TestedHead>& heads) {
    ProgressMeter meter = begin(heads);
    const std::size_t sizes = test().sizes.size();
    const auto ready = [&](std::size_t piece) { return is_there(heads[piece / sizes]); };
    while (const std::optional<Deal::Taken> taken = deal_->next(ready))
      measure(heads[taken->index / sizes], taken->index % sizes, meter);
    return deal_->left();
  }

  // What was measured by others, or by this process before.
  void load(std::vector<TestedHead>& heads) const {
    for (TestedHead& tested : heads) {
      if (!is_there(tested)) continue;
      tested.by_size.resize(test().sizes.size());
      const std::vector<AnyNormalizer> normalizers = normalizers_for(tested.head, test());
      for (std::size_t i = 0; i < test().sizes.size(); ++i)
        if (tested.by_size[i].measurements.empty() && std::filesystem::exists(file_of(tested, i)))
          tested.by_size[i] = load_tested(file_of(tested, i), tested.head, request_for(i, normalizers));
    }
  }

 private:
  const TestSettings& test() const { return settings_.test; }
  double items_at(std::int64_t n) const {
    return static_cast<double>(n) * static_cast<double>(sets_at(n, test().sets_scale));
  }
  std::filesystem::path file_of(const TestedHead& tested, std::size_t i) const {
    return directory_->tested(tested.head.arm, tested.head.seed, test().sizes[i]);
  }
  EvaluationRequest request_for(std::size_t i, std::span<const AnyNormalizer> normalizers) const {
    const std::int64_t n = test().sizes[i];
    return {.n = n, .sets = sets_at(n, test().sets_scale), .normalizers = normalizers};
  }

  ProgressMeter begin(std::vector<TestedHead>& heads) const {
    double done = 0.0, total = 0.0;
    for (TestedHead& tested : heads) {
      tested.by_size.resize(test().sizes.size());
      for (std::size_t i = 0; i < test().sizes.size(); ++i) {
        total += items_at(test().sizes[i]);
        if (!tested.by_size[i].measurements.empty()) done += items_at(test().sizes[i]);
      }
    }
    return ProgressMeter(Phase::testing, done, total, options_.progress);
  }

  void measure(TestedHead& tested, std::size_t i, ProgressMeter& meter) {
    const std::vector<AnyNormalizer> normalizers = normalizers_for(tested.head, test());
    EvaluationRequest request = request_for(i, normalizers);
    if (tested.head.seed == settings_.seeds.front()) {
      request.heat_map_sets = std::min(test().heat_map_sets, request.sets);
      request.heat_map_items = std::min(test().heat_map_items, request.n);
    }
    request.certified_spread = tested.spread.certified;
    request.group = options_.group;
    double before = 0.0;
    request.progress = [&](double sets_done) {
      meter.add((sets_done - before) * static_cast<double>(request.n));
      before = sets_done;
    };
    Evaluation evaluation = evaluate(tested.head, request, {.threads = options_.threads});
    std::vector<HeatMap> kept;
    for (std::size_t k = 0; k < evaluation.heat_maps.size(); ++k)
      if (has_heat_map(test().normalizers[k], test())) kept.push_back(std::move(evaluation.heat_maps[k]));
    evaluation.heat_maps = std::move(kept);
    meter.add((static_cast<double>(request.sets) - before) * static_cast<double>(request.n));
    if (directory_) save_tested(file_of(tested, i), tested.head, evaluation);
    tested.by_size[i] = std::move(evaluation);
  }

  const RunSettings& settings_;
  const RunDirectory* directory_;
  const RunOptions& options_;
  std::optional<Deal> deal_;
};

// All pieces of a run: those that this process can have, and then those of others when they are done.
void complete(RunOutcome& outcome, const RunDirectory& directory, const RunOptions& options) {
  HeadTraining training(outcome.settings, directory, options);
  Testing testing(outcome.settings, &directory, options);
  bool warned = false;
  for (;;) {
    const auto began = Clock::now();
    std::size_t left = training.train_free();
    if (options.remark && !directory.claims().locks_kept() && !std::exchange(warned, true))
      options.remark(no_locks_sentence(directory.root()));
    training.load(outcome.heads);
    outcome.training_seconds += seconds_since(began);
    const auto trained = Clock::now();
    certify(outcome.heads, options);
    testing.load(outcome.heads);
    left += testing.test_free(outcome.heads);
    testing.load(outcome.heads);
    outcome.testing_seconds += seconds_since(trained);
    if (left == 0) return;
    if (options.waiting) options.waiting(left);
    wait_for_others();
  }
}

}  // namespace

RunOutcome run(const RunSettings& settings, const RunOptions& options) {
  validate(settings);
  const RunDirectory directory(settings, options);
  RunOutcome outcome{.settings = settings};
  complete(outcome, directory, options);
  const auto tested = Clock::now();
  outcome.rows = score_rows(outcome.heads, settings.test);
  outcome.testing_seconds += seconds_since(tested);
  return outcome;
}

RunOutcome test_again(const Head& head, const TestSettings& test, const RunOptions& options) {
  RunOutcome outcome{.settings = {.preset = "head",
                                  .arms = {{.name = head.arm, .training = head.training}},
                                  .seeds = {head.seed},
                                  .test = test},
                     .heads = {{.head = head}}};
  validate(outcome.settings);
  const auto began = Clock::now();
  certify(outcome.heads, options);
  Testing(outcome.settings, nullptr, options).test_all(outcome.heads);
  outcome.rows = score_rows(outcome.heads, test);
  outcome.testing_seconds = seconds_since(began);
  return outcome;
}

namespace {

RunContent content_of(const RunSettings& settings) {
  return {.settings = json_of(settings),
          .folders = {"checkpoints", "heads", "tested"},
          .check = [](const Json& found, const std::string& file) { run_from(found, file); },
          .engine = engine_of(blas_description())};
}

// Products of a step: four matrices of width squared for every item.
double cost_of(const TrainingSettings& training) {
  const auto square = static_cast<double>(training.width) * static_cast<double>(training.width);
  return static_cast<double>(training.steps) * static_cast<double>(training.batch) *
         static_cast<double>(training.least_size + training.largest_size) * square;
}

}  // namespace

PiecesByKind run_pieces(const RunSettings& settings, const RunFiles& files) {
  std::vector<Piece> heads, tests;
  for (const Arm& arm : settings.arms) {
    for (const std::uint64_t seed : settings.seeds) {
      heads.push_back({.name = fmt::format("train-{}-{}", arm.name, seed),
                       .cost = cost_of(arm.training),
                       .file = files.head(arm.name, seed),
                       .before = {files.checkpoint(arm.name, seed)}});
      for (const std::int64_t n : settings.test.sizes)
        tests.push_back({.name = fmt::format("test-{}-{}-{}", arm.name, seed, n),
                         .cost = static_cast<double>(n) * static_cast<double>(sets_at(n, settings.test.sets_scale)),
                         .file = files.tested(arm.name, seed, n)});
    }
  }
  return {{"heads", std::move(heads)}, {"tests", std::move(tests)}};
}

RunDirectory::RunDirectory(const RunSettings& settings, const RunOptions& options)
    : sharpmax::RunDirectory(options.directory, content_of(settings), options.existing), RunFiles(options.directory) {}

std::filesystem::path RunFiles::checkpoint(std::string_view arm, std::uint64_t seed) const {
  return root_ / "checkpoints" / fmt::format("{}-{}.safetensors", arm, seed);
}
std::filesystem::path RunFiles::head(std::string_view arm, std::uint64_t seed) const {
  return root_ / "heads" / fmt::format("{}-{}.safetensors", arm, seed);
}
std::filesystem::path RunFiles::tested(std::string_view arm, std::uint64_t seed, std::int64_t n) const {
  return root_ / "tested" / fmt::format("{}-{}-{}.json", arm, seed, n);
}

namespace {

constexpr const char* kSchema = "sharpmax.retrieval.tested/1";

}  // namespace

std::string fingerprint(const Head& head) {
  return fmt::format("{:016x}", Checksum()
                                    .add(json_of(head.training).dump())
                                    .add(std::as_bytes(std::span(head.parameters)))
                                    .add(std::as_bytes(std::span(head.normalizer_parameters)))
                                    .value());
}

namespace {

std::string checksum_of(const Json& body) {
  return fmt::format("{:016x}", Checksum().add(body.dump()).value());
}

Json body_of(const Head& head, const Evaluation& evaluation) {
  return {{"arm", head.arm},
          {"seed", head.seed},
          {"head", fingerprint(head)},
          {"bound_violations", evaluation.bound_violations},
          {"measurements", sharpmax::json_of(evaluation.measurements)},
          {"heat_maps", sharpmax::json_of(evaluation.heat_maps)}};
}

Evaluation evaluation_from(const Json& body) {
  Evaluation evaluation;
  read_json(body.at("bound_violations"), evaluation.bound_violations);
  read_json(body.at("measurements"), evaluation.measurements);
  read_json(body.at("heat_maps"), evaluation.heat_maps);
  return evaluation;
}

bool answers(const Evaluation& evaluation, const EvaluationRequest& request) {
  if (evaluation.measurements.size() != request.normalizers.size()) return false;
  for (std::size_t i = 0; i < request.normalizers.size(); ++i) {
    const Measurement& m = evaluation.measurements[i];
    if (m.normalizer != request.normalizers[i].text() || m.n != request.n || m.sets != request.sets)
      return false;
  }
  return true;
}

}  // namespace

void save_tested(const std::filesystem::path& path, const Head& head, const Evaluation& evaluation) {
  const Json body = body_of(head, evaluation);
  const Json file = {{"schema", kSchema}, {"checksum", checksum_of(body)}, {"tested", body}};
  write_text(path, file.dump() + "\n");
}

Evaluation load_tested(const std::filesystem::path& path, const Head& head,
                       const EvaluationRequest& request) {
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: {}; delete it to test this size again", path.string(), what));
  };
  Json file;
  try {
    file = parse_json(read_text(path), path.string());
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}; delete it to test this size again", error.what()));
  }
  try {
    if (file.at("schema") != kSchema) fail(fmt::format("the schema is not {}", kSchema));
    const Json& body = file.at("tested");
    if (file.at("checksum") != checksum_of(body)) fail("at byte 0: its checksum is wrong: it was damaged");
    if (body.at("head") != fingerprint(head)) fail("it is of another head");
    Evaluation evaluation = evaluation_from(body);
    if (!answers(evaluation, request)) fail("it is of other sizes, sets or normalizers");
    return evaluation;
  } catch (const Json::exception&) {
    fail("a value is missing or of another kind");
  }
  return {};
}

}  // namespace sharpmax::retrieval
