// `inspect`: what a model file holds, whether it runs here, and whether its weights are numbers.
#include "sharpmax/inspect.h"

#include "cli/inspect_report.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "storage/files.h"

namespace sharpmax::cli {

namespace {

std::string next_of(const InspectResult& result, const InspectRequest& request) {
  const std::string model = quoted_word(request.model.model);
  if (!result.architecture.runs_here) return closing("In short: it does not run here.", "To see its tensors", "inspect " + model + " --tensors");
  return closing("In short: it runs here.", "To see which heads go blunt as a text grows", "audit " + model + " --text FILE");
}

}  // namespace

const char* const InspectVerb::kSummary =
    "What a model file holds, and whether it runs here. Reports architecture, shape, tokenizer, types, tensors and "
    "metadata.";
const char* const InspectVerb::kFooter =
    "MODEL is a GGUF file, a .safetensors file, the index of its shards, or a folder\n"
    "as Hugging Face saves it. Files are told apart by what is in them; pickles\n"
    "(.bin, .pt) are never read.\n"
    "\n"
    "Examples:\n"
    "  sharpmax inspect model.gguf\n"
    "  sharpmax inspect my-model/ --tensors\n"
    "  sharpmax inspect model.gguf --check     exit 1 if a weight is NaN or infinite\n"
    "  sharpmax inspect model.gguf --json - | jq .shape\n"
    "  sharpmax inspect model.gguf -o model.html";

void InspectVerb::check(const Given&) const {
  check_pictures(
      files_of(request, file.overwrite, kInspectSchema).writes(named("json"), file.json, results_kind(kInspectSchema)),
      pictures);
}

Outcome InspectVerb::run(const Caller& caller) {
  const InspectResult result = inspect(request, caller.listener);
  Outcome outcome{.results = to_json(result), .ok = !result.check || result.check->bad.empty(), .written = json_text};
  if (!file.json.empty()) write_text(file.json, outcome.written(outcome.results));
  write_report_files(pictures, {&outcome.results, 1}, caller.listener);
  outcome.text = [found = outcome.results, every = tensors, next = next_of(result, request)](bool colour) {
    return inspect_report(found, every, colour) + next;
  };
  return outcome;
}

}  // namespace sharpmax::cli
