// `sharpmax audit`: every head of a model on a text, by length; or paper B's analyses of it; or a probe.
#include "sharpmax/audit.h"

#include <fmt/format.h>

#include "audit/job/audit_forms.h"
#include "cli/audit_report.h"
#include "cli/door.h"
#include "cli/fields.h"
#include "cli/table.h"

namespace sharpmax::cli {
namespace {

constexpr const char* kFooter =
    "Excerpts of the text are read once each, to the longest length; rows in the last\n"
    "quarter of every length are kept on the way. \"Outside\" leaves the first token\n"
    "out, on which many heads put their weight. With --json FILE results are saved as\n"
    "they come (kept rows in FILE.rows.npz); after an interrupt or a kill, --resume\n"
    "goes on from there.\n"
    "\n"
    "Examples:\n"
    "  sharpmax audit SmolLM2.gguf --text book.txt\n"
    "  sharpmax audit SmolLM2.gguf --text book.txt --lengths 128,512,2048,8192\n"
    "  sharpmax audit SmolLM2.gguf --text book.txt --head 12.3\n"
    "  sharpmax audit SmolLM2.gguf --text book.txt --analysis all\n"
    "  sharpmax audit SmolLM2.gguf --probe lookup --lengths 128,512,2048\n"
    "  sharpmax audit SmolLM2.gguf --text book.txt -o report.html\n"
    "  sharpmax audit SmolLM2.gguf --text book.txt --json audit.json --resume";

// What is printed of an audit by length.
struct View {
  bool all = false;
  std::string head;

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    visit({"all", "", "Results", "Print every head, not only the worst"}, self.all);
    visit(common({"head", "LAYER.HEAD", "Results", "Head to print at every length, counted from 0"}), self.head);
  }
};

// The options of all three forms. Those that forms have in common are in `audit`.
struct Words {
  AuditRequest audit;
  AnalysisChoices analysis;
  ProbeQuestions probe;
  View view;
  Pictures pictures;
};

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
                                                    quoted_word(request.text.text));
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

// Runs one form, and delivers its result; people get text(result).
template <class Request, class Job, class Text>
int run_form(const Words& words, Request& request, CallFiles files, const Job& job, const Text& text) {
  const Delivery delivery{takes_standard_output(request.saving.json), words.pictures.files};
  check_pictures(std::move(files), delivery.pictures);
  request.command = command_line();
  if constexpr (requires { request.text; }) read_standard_input(request.text);
  ConsoleListener listener;
  const auto result = job(request, listener);
  deliver(delivery, to_json(result), [&] { return text(result) + next_of(result, request); });
  return kOk;
}

int run_by_length(Words& words) {
  AuditRequest& request = words.audit;
  check_fields(request);  // as given
  std::optional<HeadPlace> head;
  if (!words.view.head.empty()) {  // a wrong head is known before the work
    const Model model(request.model);
    request.model.opened = model.request().opened;
    head = parse_head(words.view.head, model.layers(), model.heads());
  }
  const bool text_alone = request.saving.json.empty() && !words.pictures.files.wanted() && !is_heard();
  if (text_alone) request.sketch = 0;  // the text does not show them
  return run_form(words, request, files_of_audit(request), audit_model, [&](const AuditResult& result) {
    return head ? text_of(result, *head, colour_wanted()) : text_of(result, words.view.all, colour_wanted());
  });
}

int run(Words& words) {
  const AuditRequest& common = words.audit;
  const auto files = [](const auto& request) { return files_of(request, request.saving.overwrite, kAuditSchema); };
  const auto text = [](const auto& result) { return text_of(result, colour_wanted()); };
  if (!words.analysis.analysis.empty()) {
    AnalysisRequest request{.model = common.model,
                            .text = common.text,
                            .lengths = common.lengths,
                            .choices = words.analysis,
                            .saving = common.saving};
    return run_form(words, request, files(request), analyze_model, text);
  }
  if (!words.probe.probe.empty()) {
    ProbeRequest request{
        .model = common.model, .lengths = common.lengths, .questions = words.probe, .saving = common.saving};
    return run_form(words, request, files(request), probe_model, text);
  }
  return run_by_length(words);
}

// Options that only one form respects are refused beside another.
void exclude(CLI::App& app, const Words& words) {
  const auto option = [&](std::string_view name) { return app.get_option(std::string(name)); };
  option("--head")->excludes(option("--all"));
  for (const char* other : {"--excerpts", "--threshold", "--sketch", "--all", "--head", "--resume", "--block"})
    option("--analysis")->excludes(option(other));
  for (const char* other :
       {"--text", "--tokens", "--special", "--excerpts", "--threshold", "--sketch", "--all", "--head", "--analysis"})
    option("--probe")->excludes(option(other));
  const auto need = [&](std::string_view form) {
    return [&, form](const Field& field, const auto&) {
      if (field.name != form) option(option_of(field.name))->needs(option(option_of(form)));
    };
  };
  AnalysisChoices::each_field(words.analysis, need("analysis"));
  ProbeQuestions::each_field(words.probe, need("probe"));
}

}  // namespace

Command add_audit(CLI::App& program) {
  const auto words = std::make_shared<Words>();
  CLI::App* app = program.add_subcommand("audit", "Every head of a model, and where it goes blunt");
  app->footer(kFooter);
  add_fields(*app, words->audit);
  add_fields(*app, words->view);
  add_fields(*app, words->pictures);
  add_fields(*app, words->analysis);
  add_fields(*app, words->probe);
  exclude(*app, *words);
  return {app, [words] { return run(*words); }};
}

}  // namespace sharpmax::cli
