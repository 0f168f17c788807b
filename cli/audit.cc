// `audit`: every head of a model on a text, by length; or paper B's analyses of it; or a probe.
#include "sharpmax/audit.h"

#include <fmt/format.h>

#include "audit/job/audit_forms.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "job/field_values.h"
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

[[noreturn]] void refuse_pair(std::string_view one, const char* verb, std::string_view other) {
  throw RequestError(ErrorCode::bad_argument, fmt::format("{} {} {}", named(one), verb, named(other)));
}

void exclude(const Given& given, std::string_view form, std::initializer_list<const char*> others) {
  if (!given.contains(form)) return;
  for (const char* other : others)
    if (given.contains(other)) refuse_pair(form, "excludes", other);
}

// Fields that only one form respects are refused beside another.
void check_together(const Given& given) {
  exclude(given, "head", {"all"});
  exclude(given, "analysis", {"excerpts", "threshold", "sketch", "all", "head", "resume", "block", "directory", "join",
                              "status", "by_layer", "checkpoint_seconds"});
  exclude(given, "probe",
          {"text", "text_string", "tokens", "special", "excerpts", "threshold", "sketch", "all", "head", "analysis", "by_layer",
           "checkpoint_seconds"});
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

}  // namespace sharpmax::cli
