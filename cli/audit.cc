// Verbs of the heads of a model: `audit`, every head on a text, by length; or paper B's analyses of it; or a probe. `bound`, what no
// row of scores can do. `fix`, candidates tried and judged.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "audit/job/requests.h"
#include "base/in_quotes.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "job/field_values.h"
#include "sharpmax/audit.h"
#include "sharpmax/bound.h"
#include "sharpmax/fix.h"
#include "sweep/shared_job.h"

namespace sharpmax::cli {
namespace {

// A blunt head need not make answers wrong: only a probe shows that.
std::string next_of(const AuditResult& result, const AuditRequest& request) {
  const Findings& f = *result.findings;
  const auto length = [&](std::size_t i) { return grouped(static_cast<std::int64_t>(f.lengths[i])); };
  const std::size_t last = f.lengths.size() - 1;
  std::string answer =
      last == 0 ? fmt::format("In short: {} of {} heads are blunt at {} tokens.", f.blunt_heads[0], f.by_head.size(), length(0))
                : fmt::format("In short: {} of {} heads are blunt at {} tokens, {} at {}.", f.blunt_heads[last],
                              f.by_head.size(), length(last), f.blunt_heads[0], length(0));
  answer += " Blunt heads need not make answers wrong.";
  return closing(answer, "To see whether the model still finds one key among many",
                 "audit " + quoted_word(request.model.model) + " --probe lookup");
}

std::string next_of(const AnalysisResult& result, const AnalysisRequest& request) {
  std::int64_t hold = 0, open = 0;
  const auto& findings = result.analysis->findings;
  for (const PaperFinding& finding : findings) {
    hold += finding.holds.value_or(false) ? 1 : 0;
    open += finding.holds ? 0 : 1;
  }
  const std::string undecided = open == 0 ? "" : fmt::format(", {} not decided", open);
  return closing(fmt::format("In short: {} of the paper's {} findings hold for this model and text{}.", hold, findings.size(),
                             undecided),
                 "To see every head by length", "audit " + quoted_word(request.model.model) + " --text " +
                                                    text_word(request.text));
}

std::string next_of(const ProbeResult& result, const ProbeRequest& request) {
  if (result.lengths.empty()) return "";
  const ProbedLength &first = result.lengths.front(), &last = result.lengths.back();
  const std::string model = quoted_word(request.model.model);
  std::string answer = fmt::format("In short: {} of {} right at {} tokens", last.right, last.questions, grouped(last.length));
  if (result.lengths.size() > 1)
    answer += fmt::format(", {} of {} at {}: {}", first.right, first.questions, grouped(first.length),
                          last.high < first.low   ? "fewer with length"
                          : last.low > first.high ? "more with length"
                                                  : "no difference is shown");
  return closing(answer + ".", "To see whether a normalizer helps",
                 fmt::format("fix {} --text FILE --for task --lengths {}", model, last.length));
}

// Runs one form; people get the text of its view, or of one head.
template <class Request, class Job>
Outcome run_form(const Caller& caller, const ReportFiles& pictures, Request request, const Job& job,
                 Rows rows = Rows::first, std::optional<HeadPlace> head = {}) {
  request.command = caller.command;
  const auto result = job(request, caller.listener);
  Json results = to_json(result);
  write_report_files(pictures, {&results, 1}, caller.listener);
  const std::string next = next_of(result, request);
  if constexpr (std::is_same_v<Request, AuditRequest>)
    if (head) return {results, [=](bool colour) { return head_text(results, head->layer, head->head, colour) + next; }};
  return {results, shown_text(results, next, rows)};
}

[[noreturn]] void refuse_pair(std::string_view one, const char* verb, std::string_view other, const char* reason = "") {
  throw RequestError(ErrorCode::bad_argument, fmt::format("{} {} {}{}", named(one), verb, named(other), reason));
}

void exclude(const Given& given, std::string_view form, std::initializer_list<const char*> others) {
  if (!given.contains(form)) return;
  for (const char* other : others)
    if (given.contains(other))
      refuse_pair(form, "excludes", other, form == "probe" ? ": a probe asks questions of its own" : "");
}

// Fields that only one form respects are refused beside another.
void check_together(const Given& given) {
  exclude(given, "head", {"all"});
  exclude(given, "analysis", {"excerpts", "threshold", "sketch", "all", "head", "resume", "block", "directory", "join",
                              "status", "by_layer", "together", "patience", "checkpoint_seconds"});
  exclude(given, "probe",
          {"text", "text_string", "tokens", "special", "excerpts", "threshold", "sketch", "all", "head", "analysis", "by_layer",
           "together", "patience", "checkpoint_seconds"});
  const auto need = [&](std::string_view form) {
    return [&given, form](const Field& field, const auto&) {
      if (given.contains(field.name) && !given.contains(form)) refuse_pair(field.name, "requires", form);
    };
  };
  const AnalysisChoices analysis;
  AnalysisChoices::each_field(analysis, need("analysis"));
  const ProbeQuestions probe;
  ProbeQuestions::each_field(probe, need("probe"));
}

}  // namespace

const char* const AuditVerb::kSummary = "Measure every head of a model: at which length does it go blunt?";
const char* const AuditVerb::kFooter =
    "Excerpts of the text are read once each, to the longest length; rows in the last\n"
    "quarter of every length are kept on the way. \"Outside\" leaves the first token\n"
    "out, on which many heads put their weight. With --json FILE results are saved as\n"
    "they come (kept rows in FILE.rows.npz); after an interrupt or a kill, --resume\n"
    "goes on from there. With --directory DIR any number of processes share the\n"
    "excerpts: start them by srun, mpirun or torchrun, or by hand with --join.\n"
    "\n"
    "Examples:\n"
    "  sharpmax audit SmolLM2.gguf --text book.txt\n"
    "  sharpmax audit SmolLM2.gguf --text book.txt --lengths 128,512,2048,8192\n"
    "  sharpmax audit SmolLM2.gguf --text book.txt --head 12.3\n"
    "  sharpmax audit SmolLM2.gguf --text book.txt --analysis all\n"
    "  sharpmax audit SmolLM2.gguf --probe lookup --lengths 128,512,2048\n"
    "  sharpmax audit SmolLM2.gguf --text book.txt -o report.html\n"
    "  sharpmax audit SmolLM2.gguf --text book.txt --json audit.json --resume\n"
    "  srun -n 8 sharpmax audit SmolLM2.gguf --text book.txt --excerpts 8 \\\n"
    "      --directory run";

AnalysisRequest AuditVerb::analysis_request() const {
  return {.model = audit.model,
          .text = audit.text,
          .lengths = audit.lengths,
          .choices = analysis,
          .saving = audit.saving};
}

ProbeRequest AuditVerb::probe_request() const {
  return {.model = audit.model, .lengths = audit.lengths, .questions = probe, .saving = audit.saving, .sharing = audit.sharing};
}

void AuditVerb::check(const Given& given) const {
  check_together(given);
  if (status) return;
  const auto files = [](const auto& request) { return files_of(request, request.saving.overwrite, kAuditSchema); };
  check_pictures(!analysis.analysis.empty() ? files(analysis_request())
                 : !probe.probe.empty()     ? files(probe_request())
                                            : files_of_audit(audit),
                 pictures);
}

Outcome AuditVerb::run_by_length(const Caller& caller) {
  audit = joined(audit, kName);
  check_fields(audit);  // as given
  std::optional<HeadPlace> place;
  if (!head.empty()) {  // a wrong head is known before the work
    const Model model(audit.model);
    audit.model.opened = model.request().opened;
    place = parse_head(head, model.layers(), model.heads());
  }
  const bool text_alone =
      audit.saving.json.empty() && audit.sharing.directory.empty() && !pictures.wanted() && !caller.reads_results;
  if (text_alone) audit.sketch = 0;  // the text does not show them
  return run_form(caller, pictures, audit, audit_model, all ? Rows::all : Rows::first, place);
}

Outcome AuditVerb::run(const Caller& caller) {
  if (status) {
    audit.command = caller.command;
    return status_outcome(probe.probe.empty() ? status_of(audit) : status_of(probe_request()));
  }
  if (!analysis.analysis.empty()) return run_form(caller, pictures, analysis_request(), analyze_model);
  if (!probe.probe.empty()) return run_form(caller, pictures, probe_request(), probe_model);
  return run_by_length(caller);
}

// `bound`: what no row of scores can do, given how far scores spread, or the weights of a model.

namespace {

std::string next_of(const BoundResult& result) {
  const SoftmaxBound& most = result.softmax.back();
  constexpr double kWritableOut = 1e15;
  const std::string keys = most.n < kWritableOut ? grouped(std::llround(most.n)) : fmt::format("{:.4g}", most.n);
  return closing(fmt::format("In short: under softmax no key among {} can have more than {} of the weight.", keys,
                             short_number(most.tight.high)),
                 "To see what the weights of a model prove", "bound MODEL");
}

std::string next_of(const ModelBoundRequest& request) {
  return closing("", "To see what its heads do on a text",
                 "audit " + quoted_word(request.model.model) + " --text FILE");
}

[[noreturn]] void refuse(const std::string& sentence) { throw RequestError(ErrorCode::bad_argument, sentence); }

bool any_of(const Given& given, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return given.contains(name); });
}

}  // namespace

const char* const BoundVerb::kSummary = "Bound how sharp attention can be, from scores or from a model";
const char* const BoundVerb::kFooter =
    "arXiv 2410.01104 measured spreads of 5.69 on average in Gemma 2B and 14.78 at\n"
    "most.\n"
    "\n"
    "With a MODEL, the spread of every head is bounded from the weights, under\n"
    "softmax; --peak is then 0.5 unless it is given. With --directory DIR any number\n"
    "of processes share the heads: start them by srun, mpirun or torchrun, or by hand\n"
    "with --join.\n"
    "\n"
    "Examples:\n"
    "  sharpmax bound --spread 5.69 --n 16384 --normalizer all\n"
    "  sharpmax bound --spread 5.69 --n 128,8192,1e6 --peak 0.5 \\\n"
    "      --normalizer softmax --normalizer ssmax:s=0.4 -o bounds.html\n"
    "  sharpmax bound MODEL                 what the weights of a model prove";

ModelBoundRequest BoundVerb::model_request() const {
  ModelBoundRequest request = of_model;
  request.peak = spread.peak.value_or(request.peak);
  request.beta = spread.beta;
  request.file = spread.file;
  return request;
}

// A process that joins may take the model from the directory.
bool BoundVerb::is_of_model() const { return !of_model.model.model.empty() || of_model.sharing.join || status; }

void BoundVerb::check(const Given& given) const {
  if (status) return;
  if (!is_of_model()) {
    for (const char* const field : {"all", "rope_scaling", "rope_base", "threads", "directory", "resume"})
      if (given.contains(field)) refuse(fmt::format("{} goes with {}; none was given", named(field), named("model")));
    return check_pictures(files_of(spread, spread.file.overwrite, kBoundSchema), pictures);
  }
  if (any_of(given, {"spread", "n", "normalizer", "level"}))
    refuse(fmt::format("{}, {}, {} and {} do not go with {}: its spreads are found from the weights, under softmax",
                       named("spread"), named("n"), named("normalizer"), named("level"), named("model")));
  check_pictures(files_of(model_request(), spread.file.overwrite, kModelBoundSchema), pictures);
}

Outcome BoundVerb::run(const Caller& caller) {
  Outcome outcome;
  if (status) return status_outcome(status_of(model_request()));
  if (!is_of_model()) {
    spread.command = caller.command;
    const BoundResult result = bound(spread, caller.listener);
    outcome.results = to_json(result);
    outcome.text = shown_text(outcome.results, next_of(result));
  } else {
    ModelBoundRequest request = joined(model_request(), kName);
    request.command = caller.command;
    const ModelBoundResult result = bound_model(request, caller.listener);
    outcome.results = to_json(result);
    outcome.text = shown_text(outcome.results, next_of(request), all ? Rows::all : Rows::first);
  }
  write_report_files(pictures, {&outcome.results, 1}, caller.listener);
  return outcome;
}

// `fix`: candidates tried on one part of a text and of a task, and judged on the other.

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
