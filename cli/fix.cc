// `sharpmax fix`: candidates tried on one part of a text and of a task, and judged on the other.
#include "sharpmax/fix.h"

#include <fmt/format.h>

#include "base/in_quotes.h"
#include "cli/door.h"
#include "cli/fields.h"
#include "cli/table.h"

namespace sharpmax::cli {

// fix_report.cc
std::string text_of(const FixResult& result, bool colour);
std::string how_to_use(const FixResult& result, const FixRequest& request);

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

std::string next_of(const FixResult& result, const FixRequest& request) {
  const std::string model = quoted_word(request.model.model), text = quoted_word(request.text.text);
  const std::string rule = quoted_word(result.trials[result.use()].rule);
  if (result.use() == 0 && !request.task.empty())
    return closing("In short: leave the model as it is.", "To see where its loss is",
                   fmt::format("perplexity {} --text {}", model, text));
  if (result.use() == 0)
    return closing("In short: leave the model as it is.", "To look for smaller gains, ask more questions",
                   fmt::format("fix {} --text {} --questions {}", model, text, 4 * request.questions));
  if (request.table.empty())
    return closing(fmt::format("In short: use {}.", result.trials[result.use()].rule), "To save it as a table for sharpmax run",
                   fmt::format("fix {} --text {} --rule {} --no-search --table table.json", model, text, rule));
  return closing(fmt::format("In short: use {}.", result.trials[result.use()].rule), "To run the model with it",
                 fmt::format("run {} --normalizers {} --prompt TEXT", model, quoted_word(request.table)));
}

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
  deliver(delivery, to_json(result), [&] { return text_of(result, colour_wanted()) + how_to_use(result, request) + next_of(result, request); });
  return kOk;
}

}  // namespace

Command add_fix(CLI::App& program) {
  const auto words = std::make_shared<Words>();
  CLI::App* app = program.add_subcommand("fix", "Test on held-out data whether a normalizer helps");
  app->footer(kFooter);
  add_fields(*app, words->request);
  add_fields(*app, words->pictures);
  return {app, [words] { return run(*words); }};
}

}  // namespace sharpmax::cli
