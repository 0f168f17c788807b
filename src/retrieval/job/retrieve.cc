#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "base/in_quotes.h"
#include "base/numbers.h"
#include "cluster/launched_group.h"
#include "job/saved_results.h"
#include "machine/blas.h"
#include "retrieval/job/requests.h"
#include "retrieval/run/run.h"
#include "retrieval/training/training.h"
#include "sharpmax/machine.h"
#include "storage/files.h"

namespace sharpmax::retrieval {
namespace {

[[noreturn]] void refuse(const std::string& sentence) { throw RequestError(ErrorCode::bad_argument, sentence); }

// The preset's own arm of that name, or the one that has it everywhere.
Arm arm_of(std::string_view name, const RunSettings& chosen) {
  for (const Arm& arm : chosen.arms)
    if (arm.name == name) return arm;
  return named_arm(name);
}

void place_arms(const RetrievalRequest& request, RunSettings& run) {
  if (request.arms.empty()) return;
  std::vector<Arm> arms;
  for (const std::string& names : request.arms) {
    for (const std::string_view name : pieces_of(names, ',')) {
      for (const Arm& arm : arms)
        if (arm.name == name) refuse(fmt::format("{}: {} is given twice", named("arms"), in_quotes(name)));
      arms.push_back(arm_of(name, run));
    }
  }
  run.arms = std::move(arms);
}

void place_seeds(const RetrievalRequest& request, RunSettings& run) {
  if (request.seeds && !request.seed_list.empty())
    refuse(fmt::format("{} counts seeds, {} names them; give one of the two", named("seeds"), named("seed_list")));
  if (!request.seed_list.empty()) run.seeds = request.seed_list;
  if (!request.seeds) return;
  run.seeds.clear();
  for (std::int64_t seed = 0; seed < *request.seeds; ++seed) run.seeds.push_back(static_cast<std::uint64_t>(seed));
}

void place_tests(const TestChanges& given, TestSettings& test) {
  const std::vector<AnyNormalizer>& all = given.normalizers;
  for (auto at = all.begin(); at != all.end(); ++at)
    if (std::find(all.begin(), at, *at) != at) refuse(fmt::format("{}: {} is given twice", named("normalizers"), at->text()));
  if (!given.sizes.empty()) test.sizes = given.sizes;
  if (!all.empty()) test.normalizers = all;
  test.sets_scale = given.sets_scale.value_or(test.sets_scale);
  test.heat_map_sets = given.heat_map_sets.value_or(test.heat_map_sets);
  test.heat_map_items = given.heat_map_items.value_or(test.heat_map_items);
}

// A normalizer that heads are trained with is tested too.
void add_training_normalizers(RunSettings& run) {
  for (const Arm& arm : run.arms) {
    auto& all = run.test.normalizers;
    if (std::find(all.begin(), all.end(), arm.training.normalizer) == all.end())
      all.push_back(arm.training.normalizer);
  }
}

// Fields that say how a head is trained or where that is kept.
bool is_of_training(const Field& field) {
  constexpr std::array<std::string_view, 5> kOthers = {"threads", "head", "preset", "overwrite", "patience"};
  return field.group != "Testing" && std::find(kOthers.begin(), kOthers.end(), field.name) == kOthers.end();
}

}  // namespace

RunSettings settings_of(const RetrievalRequest& request) {
  RunSettings run = preset(request.preset);
  place_arms(request, run);
  for (Arm& arm : run.arms)
    TrainingSettings::each_pair(arm.training, request.training, [](const Field&, auto& value, const auto& given) {
      if (given) value = *given;
    });
  place_seeds(request, run);
  place_tests(request.test, run.test);
  if (request.head.empty()) add_training_normalizers(run);
  validate(run);
  return run;
}

CallFiles files_of(const RetrievalRequest& request) {
  CallFiles call(request.overwrite);
  call.reads(named("head"), request.head);
  if (request.head.empty())
    call.writes(named("directory"), (std::filesystem::path(directory_of(request)) / "results.json").string(),
                results_kind(kRetrievalSchema));
  return call;
}

void check_together(const RetrievalRequest& request) {
  if (request.join && request.overwrite)
    refuse(fmt::format("{} and {} are two different things; give one", flagged("join"), flagged("overwrite")));
  if (request.resume && request.overwrite)
    refuse(fmt::format("{} and {} are two different things; give one", flagged("resume"), flagged("overwrite")));
  if (request.head.empty()) return;
  each_given(request, [](const Field& field, const auto&) {
    if (is_of_training(field))
      refuse(fmt::format("{} does not go with {}: nothing is trained", named(field.name), named("head")));
  });
}

}  // namespace sharpmax::retrieval

namespace sharpmax {
namespace {

using retrieval::Phase;

// Steps or items done, per second, time left.
std::string progress_sentence(const retrieval::RunProgress& progress) {
  const double percent = progress.total > 0.0 ? 100.0 * progress.done / progress.total : 100.0;
  const auto count = [](double value) { return grouped(std::llround(value)); };
  switch (progress.phase) {
    case Phase::training:
      return fmt::format("training: step {} of {} ({:.0f} %), {} steps/s, {} left", count(progress.done),
                         count(progress.total), percent, count(progress.per_second), duration(progress.seconds_left));
    case Phase::certifying:
      return fmt::format("certifying: head {} of {}, {} left", count(progress.done), count(progress.total),
                         duration(progress.seconds_left));
    case Phase::testing:
      break;
  }
  return fmt::format("testing: {:.0f} %, {:.3g} million items/s, {} left", percent, progress.per_second / 1e6,
                     duration(progress.seconds_left));
}

// "resuming: 1 of 4 heads trained, paper-1 at step 1,200 of 5,000; 3 of 44 tests done"
std::string standing_sentence(const retrieval::RunStanding& standing) {
  constexpr std::size_t kNamed = 3;
  std::size_t trained = 0, begun = 0;
  std::string heads;
  for (const auto& head : standing.heads) {
    if (head.step >= head.steps) {
      ++trained;
    } else if (head.step > 0 && ++begun <= kNamed) {
      heads += fmt::format(", {}-{} at step {} of {}", head.arm, head.seed, grouped(head.step), grouped(head.steps));
    }
  }
  if (begun > kNamed) heads += fmt::format(" and {} more begun", begun - kNamed);
  return fmt::format("resuming: {} of {} heads trained{}; {} of {} tests done", trained, standing.heads.size(), heads,
                     standing.tested, standing.tests);
}

// Fields that say how a process works, not what the run is.
bool is_of_settings(const Field& field) {
  constexpr std::array<std::string_view, 7> kOthers = {"threads",   "directory",          "resume",  "join",
                                                       "overwrite", "checkpoint_seconds", "patience"};
  return std::find(kOthers.begin(), kOthers.end(), field.name) == kOthers.end();
}

// What others began; settings that are given must be the same. A process with none begins nothing.
retrieval::RunSettings settings_to_join(const RetrievalRequest& request) {
  const std::filesystem::path root = directory_of(request);
  bool given = false;
  each_given(request, [&](const Field& field, const auto&) { given = given || is_of_settings(field); });
  if (given) return retrieval::settings_of(request);  // compared with those in the directory
  return retrieval::run_from(settings_in_directory(root), (root / kSettings).string());
}

void tell_resumption(const RetrievalRequest& request, Listener& listener) {
  if (request.head.empty())
    listener.on_resumption({true, "checkpoints and finished tests are saved", directory_of(request)});
  else
    listener.on_resumption(
        {false, fmt::format("a test of {} cannot be resumed, and what it measured so far is lost", named("head")), ""});
}

// Processes of a launcher share a run, and none can have it alone.
void check_launched(const RetrievalRequest& request, const Launch& launch) {
  if (request.overwrite && request.head.empty())
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("{} is for one process, and {} started {}; remove the directory before", flagged("overwrite"),
                                   launch.launcher, launch.size));
}

// A head that was trained before, tested by this process or by all that were started with it.
retrieval::RunOutcome test_head(const RetrievalRequest& request, const retrieval::RunSettings& settings,
                                retrieval::RunOptions options, Listener& listener) {
  const Launch launched = launch();
  const retrieval::Head head = retrieval::load_head(request.head);
  const std::unique_ptr<Group> group = launched_group(launched, request.patience);
  if (launched.several()) {
    agree_on_call(*group, retrieval::json_of(settings).dump() + retrieval::fingerprint(head) + blas_description());
    if (launched.rank == 0)
      listener.narrate(fmt::format("{} processes, started by {}, test one head together, {}", launched.size, launched.launcher,
                                   current_target()));
  }
  options.group = group.get();
  return test_again(head, settings.test, options);
}

void tell_company(const Launch& launch, const retrieval::RunSettings& settings, const RetrievalRequest& request,
                  Listener& listener) {
  if (const std::string unused = unused_tasks_sentence(); !unused.empty()) listener.narrate(unused);
  if (!launch.several() || launch.rank > 0) return;
  const std::string directory = directory_of(request);
  listener.narrate(fmt::format("{} processes, started by {}, share {}", launch.size, launch.launcher, directory));
  const std::string idle = idle_sentence(launch, retrieval::run_pieces(settings, retrieval::RunFiles(directory)));
  if (!idle.empty()) listener.narrate(idle);
}

retrieval::RunOutcome carry_out(const RetrievalRequest& request, const retrieval::RunSettings& settings, bool shared,
                                Listener& listener) {
  const retrieval::RunOptions options{
      .directory = directory_of(request),
      .existing = shared              ? retrieval::Existing::join
                  : request.resume    ? retrieval::Existing::resume
                  : request.overwrite ? retrieval::Existing::overwrite
                                      : retrieval::Existing::refuse,
      .threads = request.threads.value_or(0),
      .checkpoint_seconds = request.checkpoint_seconds,
      .launch = shared ? launch() : Launch{},
      .standing =
          [&](const retrieval::RunStanding& before) {
            if (request.resume) listener.narrate(standing_sentence(before));
          },
      .waiting =
          [&](std::size_t pieces) {
            listener.proceed(fmt::format("waiting for other processes: {} pieces left", grouped(static_cast<long long>(pieces))));
          },
      .remark =
          [&](const std::string& sentence) {
            if (shared) listener.narrate(sentence);
          },
      .progress = [&](const retrieval::RunProgress& now) { listener.proceed(progress_sentence(now)); }};
  tell_resumption(request, listener);
  if (!request.head.empty()) return test_head(request, settings, options, listener);
  return retrieval::run(settings, options);
}

}  // namespace

std::string directory_of(const RetrievalRequest& request) {
  return request.directory.empty() ? "retrieve-" + request.preset : request.directory;
}

RunStatus status_of(const RetrievalRequest& request) {
  const std::filesystem::path root = directory_of(request);
  const auto settings = retrieval::run_from(settings_in_directory(root), (root / kSettings).string());
  RunStatus status = sharpmax::status_of(root, retrieval::run_pieces(settings, retrieval::RunFiles(root)));
  status.provenance = provenance_of(request.command, command_of("retrieve", request) + " --status");
  return status;
}

namespace {

// Processes that share a run end with the same results.
RetrievalResult kept(const RetrievalResult& result, const RetrievalRequest& request, bool shared, Listener& listener) {
  const std::filesystem::path root = directory_of(request);
  const std::string text = retrieval::text_of(to_json(result));
  const auto pause = [&] { listener.on_pause(); };
  if (shared) {
    constexpr std::array<std::string_view, 3> kOfOneProcess = {"command", "created", "seconds"};
    return retrieval_result(agree_on_results(root, text, kOfOneProcess, pause));
  }
  keep_results(root, text, pause);
  return result;
}

}  // namespace

RetrievalResult retrieve(const RetrievalRequest& request, Listener& listener) {
  check_fields(request);
  retrieval::check_together(request);
  retrieval::files_of(request).check();
  const Launch launched = launch();
  const bool shared = request.head.empty() && (request.join || launched.several());
  if (launched.several()) check_launched(request, launched);
  const retrieval::RunSettings settings = request.join ? settings_to_join(request) : retrieval::settings_of(request);
  if (request.head.empty()) tell_company(launched, settings, request, listener);
  RetrievalResult result = retrieval::result_of(carry_out(request, settings, shared, listener));
  result.provenance = provenance_of(request.command, command_of("retrieve", request));
  if (request.head.empty()) result = kept(result, request, shared, listener);
  listener.on_progress("");
  return result;
}

}  // namespace sharpmax
