// `train`: train small transformers on small inputs, test them on large ones under every normalizer.
#include "sharpmax/train.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/table.h"
#include "cli/verbs.h"
#include "storage/files.h"

namespace sharpmax::cli {
namespace {

// The run makes its directory itself, so a file there cannot be tried before.
bool goes_into_the_run(const std::string& target, const TrainRequest& request) {
  return std::filesystem::path(target).parent_path().lexically_normal() ==
         (std::filesystem::path(directory_of(request)) / "").lexically_normal().parent_path();
}

std::string next_of(const TrainRequest& request, bool has_page) {
  const std::string results = quoted_word((std::filesystem::path(directory_of(request)) / "results.json").string());
  if (has_page) return closing("", "To have its tables as CSV and Markdown", fmt::format("report {} --tables tables", results));
  return closing("", "To see it as a page", fmt::format("report {} -o train.html", results));
}

}  // namespace

const char* const TrainVerb::kSummary =
    "Train small transformers on few items and test them on many. Test the same weights on up to 16,384 under "
    "other normalizers, and say what fails. One task takes about two minutes.";
const char* const TrainVerb::kFooter =
    "Tasks: lookup (value of a key among n pairs), member (is a key among n),\n"
    "recall (pairs in neighboring places), hops (two look-ups), minimum, sort,\n"
    "flipflop, majority (a control). The directory keeps settings, checkpoints,\n"
    "models and tests. After an interrupt or a kill at any moment, the same command\n"
    "with --resume ends in the same results. Any number of processes may work on one\n"
    "run: start them by srun, mpirun or torchrun, or by hand with --join.\n"
    "\n"
    "Examples:\n"
    "  sharpmax train lookup\n"
    "  sharpmax train recall --arms softmax,ssmax,late-target --seeds 3\n"
    "  sharpmax train lookup --steps 6000 -o lookup.html\n"
    "  sharpmax train member --preset thorough --json member.json --resume";

// Before the training, not after. Nothing is left behind.
void TrainVerb::check(const Given&) const {
  if (status) return;
  CallFiles call(request.overwrite);
  call.writes(named("json"), json, results_kind(kTrainSchema));
  ReportFiles tried = pictures;
  declare_report_files(call, tried);
  call.check();
  if (goes_into_the_run(tried.page, request)) tried.page.clear();
  check_report_files(tried);
  if (!json.empty() && !goes_into_the_run(json, request)) AtomicFile probe(json);
}

Outcome TrainVerb::run(const Caller& caller) {
  request.command = caller.command;
  if (status) return status_outcome(status_of(request));
  Outcome outcome{.results = to_json(train_models(request, caller.listener)), .text = {}};
  if (!json.empty()) write_text(json, outcome.written(outcome.results));
  write_report_files(pictures, {&outcome.results, 1}, caller.listener);
  outcome.text = shown_text(outcome.results, next_of(request, !pictures.page.empty()));
  caller.listener.narrate(fmt::format("everything is in {}", directory_of(request)));
  return outcome;
}

}  // namespace sharpmax::cli
