#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "base/in_quotes.h"
#include "base/numbers.h"
#include "job/saved_results.h"
#include "retrieval/job/requests.h"
#include "retrieval/run/run.h"
#include "retrieval/training/training.h"
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
  constexpr std::array<std::string_view, 4> kOthers = {"threads", "head", "preset", "overwrite"};
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

void tell_resumption(const RetrievalRequest& request, Listener& listener) {
  if (request.head.empty())
    listener.on_resumption({true, "checkpoints and finished tests are saved", directory_of(request)});
  else
    listener.on_resumption(
        {false, fmt::format("a test of {} cannot be resumed, and what it measured so far is lost", named("head")), ""});
}

retrieval::RunOutcome carry_out(const RetrievalRequest& request, const retrieval::RunSettings& settings, Listener& listener) {
  const retrieval::RunOptions options{
      .directory = directory_of(request),
      .existing = request.resume      ? retrieval::Existing::resume
                  : request.overwrite ? retrieval::Existing::overwrite
                                      : retrieval::Existing::refuse,
      .threads = request.threads.value_or(0),
      .checkpoint_seconds = request.checkpoint_seconds,
      .standing =
          [&](const retrieval::RunStanding& before) {
            if (request.resume) listener.narrate(standing_sentence(before));
          },
      .progress = [&](const retrieval::RunProgress& now) { listener.proceed(progress_sentence(now)); }};
  tell_resumption(request, listener);
  if (!request.head.empty()) return test_again(retrieval::load_head(request.head), settings.test, options);
  return retrieval::run(settings, options);
}

}  // namespace

std::string directory_of(const RetrievalRequest& request) {
  return request.directory.empty() ? "retrieve-" + request.preset : request.directory;
}

RetrievalResult retrieve(const RetrievalRequest& request, Listener& listener) {
  check_fields(request);
  retrieval::check_together(request);
  retrieval::files_of(request).check();
  const retrieval::RunSettings settings = retrieval::settings_of(request);
  RetrievalResult result = retrieval::result_of(carry_out(request, settings, listener));
  result.provenance = provenance_of(request.command, command_of("retrieve", request));
  if (request.head.empty())
    write_text(std::filesystem::path(directory_of(request)) / "results.json", retrieval::text_of(to_json(result)));
  listener.on_progress("");
  return result;
}

}  // namespace sharpmax
