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

void check_pictures(CallFiles call, const ReportFiles& files) {
  declare_report_files(call, files);
  call.check();
  check_report_files(files);
}

}  // namespace sharpmax::cli
