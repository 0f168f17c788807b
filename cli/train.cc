// `sharpmax train`: train small transformers on small inputs, test them on large ones under every normalizer.
#include "sharpmax/train.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/door.h"
#include "cli/fields.h"
#include "cli/help.h"
#include "cli/outputs.h"
#include "cli/table.h"
#include "cli/train_report.h"
#include "job/saved_results.h"
#include "storage/files.h"

namespace sharpmax::cli {
namespace {

constexpr const char* kFooter =
    "Tasks: lookup (value of a key among n pairs), member (is a key among n),\n"
    "recall (pairs in neighboring places), majority (a control). The directory keeps\n"
    "settings, checkpoints, models and tests. After an interrupt or a kill at any\n"
    "moment, the same command with --resume ends in the same results.\n"
    "\n"
    "Examples:\n"
    "  sharpmax train lookup\n"
    "  sharpmax train recall --arms softmax,ssmax,late-target --seeds 3\n"
    "  sharpmax train lookup --steps 6000 --normalizers 'softmax;log_length:length=16'\n"
    "  sharpmax train member --preset thorough --json member.json --resume";

struct TrainWords {
  TrainRequest request;
  std::string json;
};

int run(TrainWords& words) {
  CallFiles call(words.request.overwrite);
  call.writes(named("json"), words.json, results_kind(kTrainSchema)).check();
  if (is_file(words.json)) AtomicFile probe(words.json);  // before the training, not after
  words.request.command = command_line();
  ConsoleListener listener;
  const TrainResult result = train_models(words.request, listener);
  const Json results = to_json(result);
  deliver(words.json, results_text(results));
  hand_over([&] { return results; });
  if (words.json != "-") print(train_report(result, colour_wanted()));
  narrate(fmt::format("everything is in {}", directory_of(words.request)));
  return kOk;
}

}  // namespace

Command add_train(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "train",
      "Train small transformers under any normalizer, on at most 16 items. Test the same weights on up to "
      "16,384 "
      "under other normalizers, and say what fails. One task takes about two minutes.");
  app->footer(kFooter);
  const auto words = std::make_shared<TrainWords>();
  add_fields(*app, words->request);
  add_json_option(*app, words->json, kTrainSchema, "Run");
  mark_common(*app, {"--json"});
  return {app, [words] { return run(*words); }};
}

}  // namespace sharpmax::cli
