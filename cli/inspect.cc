// `sharpmax inspect`: what a model file holds, whether it runs here, and whether its weights are numbers.
#include "sharpmax/inspect.h"

#include "cli/door.h"
#include "cli/fields.h"
#include "cli/help.h"
#include "cli/inspect_report.h"
#include "cli/outputs.h"
#include "cli/table.h"

namespace sharpmax::cli {
namespace {

constexpr const char* kFooter =
    "MODEL is a GGUF file, a .safetensors file, the index of its shards, or a folder\n"
    "as Hugging Face saves it. Files are told apart by what is in them; pickles\n"
    "(.bin, .pt) are never read.\n"
    "\n"
    "Examples:\n"
    "  sharpmax inspect model.gguf\n"
    "  sharpmax inspect my-model/ --tensors\n"
    "  sharpmax inspect model.gguf --check     exit 1 if a weight is NaN or infinite\n"
    "  sharpmax inspect model.gguf --json - | jq .shape";

struct InspectWords {
  InspectRequest request;
  std::string json;
  bool tensors = false, overwrite = false;
};

std::string next_of(const InspectResult& result, const InspectRequest& request) {
  const std::string model = quoted_word(request.model.model);
  if (!result.architecture.runs_here) return closing("In short: it does not run here.", "To see its tensors", "inspect " + model + " --tensors");
  return closing("In short: it runs here.", "To see which heads go blunt as a text grows", "audit " + model + " --text FILE");
}

int run(const InspectWords& words) {
  files_of(words.request, words.overwrite, kInspectSchema)
      .writes("--json", words.json, results_kind(kInspectSchema))
      .check();
  ConsoleListener listener;
  const InspectResult result = inspect(words.request, listener);
  const Json found = to_json(result);
  hand_over([&] { return found; });
  if (!words.json.empty()) deliver(words.json, json_text(found));
  if (words.json != "-") print(inspect_report(found, words.tensors, colour_wanted()) + next_of(result, words.request));
  return result.check && !result.check->bad.empty() ? kCheckFailed : kOk;
}

}  // namespace

Command add_inspect(CLI::App& program) {
  const auto words = std::make_shared<InspectWords>();
  CLI::App* app = program.add_subcommand("inspect",
                                         "What a model file holds, and whether it runs here. Reports architecture, shape, "
                                         "tokenizer, types, tensors and metadata.");
  app->footer(kFooter);
  add_fields(*app, words->request);
  app->add_flag("--tensors", words->tensors,
                "Every tensor (default: one line for those that differ in the layer alone)");
  add_json_option(*app, words->json, kInspectSchema, "Results");
  add_overwrite_option(*app, words->overwrite, "Results");
  mark_common(*app, {"--tensors", "--json"});
  return {app, [words] { return run(*words); }};
}

}  // namespace sharpmax::cli
