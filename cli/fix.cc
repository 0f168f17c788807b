// `fix`: candidates tried on one part of a text and of a task, and judged on the other.
#include "sharpmax/fix.h"

#include <fmt/format.h>

#include "base/in_quotes.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "sweep/shared_job.h"

namespace sharpmax::cli {
namespace {

std::string next_of(const FixResult& result, const FixRequest& request) {
  const std::string model = quoted_word(request.model.model), text = text_word(request.text);
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

}  // namespace

const char* const FixVerb::kSummary = "Test on held-out data whether a normalizer helps";
const char* const FixVerb::kFooter =
    "Candidates are tried on one part of the text and the questions. The best by\n"
    "--for is then tested once on the other part. Unless that shows it to be better,\n"
    "the answer is to leave the model as it is. With --json FILE every finished trial\n"
    "is saved immediately; after an interrupt or a kill, --resume goes on from there\n"
    "to the same answer. With --directory DIR any number of processes share the\n"
    "trials: start them by srun, mpirun or torchrun, or by hand with --join.\n"
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

void FixVerb::check(const Given&) const {
  if (status) return;
  if (pictures.page.ends_with(".json"))
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("{}: {} writes the report, a page; {} writes the table of normalizers",
                                   named("report", escaped(pictures.page)), named("report"), named("table")));
  check_pictures(files_of(request, request.saving.overwrite, kFixSchema)
                     .writes(named("table"), request.table, results_kind("sharpmax.normalizers/1")),
                 pictures);
}

Outcome FixVerb::run(const Caller& caller) {
  request.command = caller.command;
  if (status) return status_outcome(status_of(request));
  request = joined(request, kName);
  const FixResult result = fix(request, caller.listener);
  Json results = to_json(result);
  write_report_files(pictures, {&results, 1}, caller.listener);
  return {results, shown_text(results, next_of(result, request))};
}

}  // namespace sharpmax::cli
