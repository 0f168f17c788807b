#include "cli/verbs.h"

#include "storage/files.h"

namespace sharpmax::cli {

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
    "RESULTS is what --json of `retrieve`, `audit`, `bound`, `fix`, `perplexity` or\n"
    "`attend --demo` wrote. The page of one result is the page that -o of its command\n"
    "writes; several results share one page, side by side if they are of one kind.\n"
    "Nothing is measured again.\n"
    "\n"
    "Examples:\n"
    "  sharpmax report audit.json -o audit.html\n"
    "  sharpmax report before.json after.json -o compared.html\n"
    "  sharpmax report retrieve-quick/results.json --figures figures";

Outcome ReportVerb::run(const Caller& caller) {
  write_report(request, caller.listener);
  return {Json(), [](bool) { return std::string(); }};
}

}  // namespace sharpmax::cli
