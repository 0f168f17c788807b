#include "cli/door.h"

#include <fmt/format.h>

#include "cli/table.h"
#include "cli/verbs.h"
#include "storage/files.h"

namespace sharpmax::cli {
namespace {

// -o has long names too.
std::string names_of(const Field& field) {
  return field.name == "report" ? "-o,--report,--html" : option_of(field);
}

void annotate(const CLI::App& words, const CLI::Option* option, const Field& field) {
  OptionNote& note = note_of(words, option);
  note.common = field.common;
  note.choices.assign(field.domain.choices.begin(), field.domain.choices.end());
}

}  // namespace

CLI::Option* add_field(CLI::App& words, const Field& field, const std::string& otherwise,
                       std::function<void(const std::vector<std::string>&)> given) {
  const std::string meaning = otherwise.empty() ? std::string(field.meaning)
                                                : fmt::format("{} (default {})", field.meaning, otherwise);
  CLI::Option* const option =
      words.add_option_function<std::vector<std::string>>(names_of(field), std::move(given), meaning);
  const bool several = field.operand && field.shape.ends_with("...");
  option->option_text(field.operand && !several ? " " : std::string(field.shape));
  if (several)
    option->expected(0, CLI::detail::expected_max_vector_size);
  else
    option->expected(1)->allow_extra_args(false);
  if (!field.group.empty()) option->group(std::string(field.group));
  annotate(words, option, field);
  return option;
}

void add_flag_field(CLI::App& words, const Field& field, std::function<void()> given) {
  CLI::Option* const option = words.add_flag_callback(names_of(field), std::move(given), std::string(field.meaning));
  annotate(words, option, field);
  if (!field.group.empty()) option->group(std::string(field.group));  // CLI11 hides those of an empty group
}

bool takes_standard_output(std::string& file) {
  if (file != "-") return false;
  file.clear();
  return true;
}

void check_standard_output(const StandardOutput& output) {
  if (output.json && output.csv)
    throw RequestError(ErrorCode::bad_argument, named("json", "-") + " and " + named("csv", "-") +
                                                    " cannot both have standard output; give one of them a file");
}

int show(const Outcome& outcome, const StandardOutput& output) {
  if (outcome.interrupted) {
    if (output.json) print(outcome.written(outcome.results));
    throw Interrupted{};
  }
  print(output.json  ? outcome.written(outcome.results)
        : output.csv ? outcome.csv
                     : outcome.text(colour_wanted()));
  return exit_code_of(outcome);
}

void read_standard_input(TextRequest& text) {
  if (text.text != "-") return;
  text.text.clear();
  text.text_string = standard_input();
}

void read_standard_input(GenerateRequest& request) {
  if (request.prompt_file != "-" || !request.prompt.empty()) return;
  request.prompt_file.clear();
  request.prompt = {standard_input()};
}

void declare_tables(CallFiles& call, const Tables& tables, std::string_view schema, std::string_view csv_header) {
  call.writes(named("json"), tables.json, results_kind(std::string(schema)));
  call.writes(named("csv"), tables.csv, csv_kind(std::string(csv_header)));
}

void deliver_tables(const Tables& tables, const Outcome& outcome) {
  if (!tables.json.empty()) write_text(tables.json, outcome.written(outcome.results));
  if (!tables.csv.empty()) write_text(tables.csv, outcome.csv);
}

std::function<std::string(bool colour)> shown_text(Json results, std::string next, Rows rows) {
  return [results = std::move(results), next = std::move(next), rows](bool colour) {
    return report_text({&results, 1}, colour, rows) + next;
  };
}

Outcome status_outcome(const RunStatus& status) {
  return {.results = to_json(status), .text = [text = text_of(status)](bool) { return text; }};
}

void check_pictures(CallFiles call, const ReportFiles& files) {
  declare_report_files(call, files);
  call.check();
  check_report_files(files);
}

// `report`: results that were saved, as one page.

const char* const ReportVerb::kSummary = "Make one page of saved results, or compare several";
const char* const ReportVerb::kFooter =
    "RESULTS is what --json of `retrieve`, `train`, `fit`, `audit`, `bound`, `fix`,\n"
    "`perplexity`, `inspect` or `attend --demo` wrote. The page of one result is the\n"
    "page that -o of its command writes; several results share one page, side by side\n"
    "if they are of one kind.\n"
    "Nothing is measured again.\n"
    "\n"
    "Examples:\n"
    "  sharpmax report audit.json -o audit.html\n"
    "  sharpmax report before.json after.json -o compared.html\n"
    "  sharpmax report retrieve-quick/results.json --figures figures";

Outcome ReportVerb::run(const Caller& caller) {
  write_report(request, caller.listener);
  return {Json(), [paths = request.results](bool colour) {
            std::vector<Json> results;
            for (const std::string& path : paths) results.push_back(Json::parse(read_text(path)));
            const std::string text = report_text(results, colour);
            return text.substr(0, text.find("\n\n") + 1);  // the verdict
          }};
}

}  // namespace sharpmax::cli
