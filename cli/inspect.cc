// `sharpmax inspect`: what a model file holds, whether it runs here, and whether its weights are numbers.
#include "cli/inspect.h"

#include <memory>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/model_options.h"
#include "cli/outputs.h"
#include "cli/table.h"
#include "sharpmax/error.h"
#include "sharpmax/machine.h"

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

int run(const InspectOptions& o) {
  if (o.path.empty())
    throw Error(ErrorCode::bad_argument, "inspect: no model was given; wanted a file or a folder");
  CallFiles call(o.overwrite);
  call.reads_model(o.path).writes("--json", o.json, results_kind(kInspectSchema)).check();
  if (o.check) cannot_resume("inspect has no --resume, and its check begins again");
  const model::ModelFile file = model::open_model_file(o.path, model::ForeignTypes::keep);
  Json found = {{"schema", kInspectSchema}, {"sharpmax", version()}};
  found.update(inspect_json(file));
  if (o.check) {  // which reads all of it anyway
    found["sha256"] = model_checksum(file);
    found["check"] = check_json(file, o.threads);
  }
  found["metadata"] = metadata_json(file);
  hand_over([&] { return found; });
  if (!o.json.empty()) deliver(o.json, json_text(found));
  if (o.json != "-") print(inspect_report(found, o.tensors, colour_wanted()));
  return o.check && !found["check"]["bad"].empty() ? kCheckFailed : kOk;
}

}  // namespace

Command add_inspect(CLI::App& program) {
  CLI::App* words = program.add_subcommand("inspect",
                                           "What is in a model file: its architecture, shape, tokenizer, "
                                           "types, tensors and metadata, and whether it "
                                           "runs here.");
  words->footer(kFooter);
  const auto o = std::make_shared<InspectOptions>();
  words->add_option("MODEL", o->path, "A GGUF or safetensors file, or a folder")->option_text(" ");
  words->add_flag("--tensors", o->tensors,
                  "Every tensor (default: one line for those that differ in the layer alone)");
  words->add_flag("--check", o->check, "Look at every weight; exit 1 if one is NaN or infinite");
  words->add_option("--threads", o->threads, "For --check (default: OpenMP's)")
      ->option_text("N")
      ->check(CLI::Range(1, 4096));
  add_json_option(*words, o->json, kInspectSchema, "Results");
  add_overwrite_option(*words, o->overwrite, "Results");
  return {words, [o] { return run(*o); }};
}

}  // namespace sharpmax::cli
