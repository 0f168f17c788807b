// `train`: train small transformers on small inputs, test them on large ones under every normalizer.
#include "sharpmax/train.h"

#include <fmt/format.h>

#include "cli/train_report.h"
#include "cli/verbs.h"
#include "storage/files.h"

namespace sharpmax::cli {

const char* const TrainVerb::kSummary =
    "Train small transformers under any normalizer, on at most 16 items. Test the same weights on up to 16,384 under "
    "other normalizers, and say what fails. One task takes about two minutes.";
const char* const TrainVerb::kFooter =
    "Tasks: lookup (value of a key among n pairs), member (is a key among n),\n"
    "recall (pairs in neighboring places), majority (a control). The directory keeps\n"
    "settings, checkpoints, models and tests. After an interrupt or a kill at any\n"
    "moment, the same command with --resume ends in the same results.\n"
    "\n"
    "Examples:\n"
    "  sharpmax train lookup\n"
    "  sharpmax train recall --arms softmax,ssmax,late-target --seeds 3\n"
    "  sharpmax train lookup --steps 6000 --normalizers 'softmax;log_length'\n"
    "  sharpmax train member --preset thorough --json member.json --resume";

// Before the training, not after.
void TrainVerb::check(const Given&) const {
  CallFiles(request.overwrite).writes(named("json"), json, results_kind(kTrainSchema)).check();
  if (!json.empty()) AtomicFile probe(json);
}

Outcome TrainVerb::run(const Caller& caller) {
  request.command = caller.command;
  const TrainResult result = train_models(request, caller.listener);
  Outcome outcome{.results = to_json(result), .text = [result](bool colour) { return train_report(result, colour); }};
  if (!json.empty()) write_text(json, outcome.written(outcome.results));
  caller.listener.narrate(fmt::format("everything is in {}", directory_of(request)));
  return outcome;
}

}  // namespace sharpmax::cli
