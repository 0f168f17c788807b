#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "job/saved_results.h"
#include "job/words.h"
#include "retrieval/job/requests.h"
#include "retrieval/run/results.h"
#include "retrieval/training/head_file.h"
#include "storage/files.h"

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
