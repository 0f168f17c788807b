// `sharpmax fix`: candidates tried on one part of a text and of a task, and judged on the other.
#include "sharpmax/fix.h"

#include <fmt/format.h>

#include "base/in_quotes.h"
#include "cli/door.h"
#include "cli/fields.h"

namespace sharpmax::cli {
namespace {

constexpr const char* kFooter =
    "Candidates are tried on one part of the text and the questions. The best by\n"
    "--for is then tested once on the other part. Unless that shows it to be better,\n"
    "the answer is to leave the model as it is. With --json FILE every finished trial\n"
    "is saved immediately; after an interrupt or a kill, --resume goes on from there\n"
    "to the same answer.\n"
    "\n"
    "A RULE is NORMALIZER[@HEADS][;rope=HOW], HEADS all, steepest (the fifth whose\n"
    "entropy grows fastest), sink, local, sharp, dispersing, mixed, layers=A-B, or\n"
    "one of these after but-.\n"
    "\n"
    "Examples:\n"
    "  sharpmax fix SmolLM2.gguf --text book.txt --table table.json -o fix.html\n"
    "  sharpmax fix SmolLM2.gguf --text book.txt --for task --lengths 594 \\\n"
    "      --rule softmax:beta=1.35 --rule softmax:beta=1.35@but-steepest\n"
    "  sharpmax fix SmolLM2.gguf --text book.txt --task questions.jsonl\n"
    "  sharpmax run SmolLM2.gguf --normalizers table.json --prompt \"...\"";

struct Words {
  FixRequest request;
  Pictures pictures;
};

CallFiles files_of_fix(const FixRequest& request) {
  return files_of(request, request.saving.overwrite, kFixSchema)
      .writes(named("table"), request.table, results_kind("sharpmax.normalizers/1"));
}

int run(Words& words) {
  FixRequest& request = words.request;
  const Delivery delivery{takes_standard_output(request.saving.json), words.pictures.files};
  if (delivery.pictures.page.ends_with(".json"))
    throw Error(ErrorCode::bad_argument, fmt::format("-o {}: -o writes the report, a page; --table writes the table of "
                                                     "normalizers",
                                                     in_quotes(delivery.pictures.page)));
  check_pictures(files_of_fix(request), delivery.pictures);
  read_standard_input(request.text);
  request.command = command_line();
  ConsoleListener listener;
  const FixResult result = fix(request, listener);
  deliver(delivery, to_json(result));
  return kOk;
}

}  // namespace

Command add_fix(CLI::App& program) {
  const auto words = std::make_shared<Words>();
  CLI::App* app = program.add_subcommand("fix", "Try normalizers on a real model; say which helps, or that none does");
  app->footer(kFooter);
  add_fields(*app, words->request);
  add_fields(*app, words->pictures);
  return {app, [words] { return run(*words); }};
}

}  // namespace sharpmax::cli
