#include "cli/door.h"

#include "cli/fields.h"
#include "cli/interrupt.h"
#include "cli/outputs.h"
#include "cli/table.h"
#include "job/saved_results.h"
#include "sharpmax/report.h"

namespace sharpmax::cli {

void ConsoleListener::on_progress(std::string_view line) { progress_.show(line); }
void ConsoleListener::on_pause() { pause(); }
void ConsoleListener::on_narration(std::string_view sentence) { cli::narrate(sentence); }  // not Listener::narrate()
void ConsoleListener::on_text(std::string_view text) { print_stream(text); }

void ConsoleListener::on_resumption(const Resumption& resumption) {
  const std::string sentence = spoken(resumption.sentence, speech());
  if (!resumption.possible) return cannot_resume(sentence);
  std::vector<std::string> more;
  if (!resumption.directory.empty()) more = {"--directory", resumption.directory};
  can_resume(sentence, more);
}

void declare_tables(CallFiles& call, const Tables& tables, std::string_view schema, std::string_view csv_header) {
  if (tables.json == "-" && tables.csv == "-")
    throw RequestError(ErrorCode::bad_argument, named("json", "-") + " and " + named("csv", "-") +
                                                    " cannot both have standard output; give one of them a file");
  call.writes(named("json"), tables.json, results_kind(std::string(schema)));
  call.writes(named("csv"), tables.csv, csv_kind(std::string(csv_header)));
}

bool deliver_tables(const Tables& tables, const std::string& json, const std::string& csv) {
  deliver(tables.json, json);
  deliver(tables.csv, csv);
  return tables.json != "-" && tables.csv != "-";
}

bool takes_standard_output(std::string& json) {
  if (json != "-") return false;
  json.clear();
  return true;
}

void read_standard_input(TextRequest& text) {
  if (text.text == "-") text.text_string = standard_input();
}

void add_report_files(CLI::App& words, ReportFiles& files, const char*) { add_fields(words, files); }

void write_report_files(const ReportFiles& files, const Json& results) {
  ConsoleListener listener;
  sharpmax::write_report_files(files, std::span(&results, 1), listener);
}

void check_pictures(CallFiles call, const ReportFiles& files) {
  declare_report_files(call, files);
  call.check();
  check_report_files(files);
}

std::string shown_text(const Json& results, Rows rows) {
  return report_text(std::span(&results, 1), colour_wanted(), rows);
}

void deliver(const Delivery& delivery, const Json& results, Rows rows) {
  deliver(delivery, results, [&] { return shown_text(results, rows); });
}

void deliver(const Delivery& delivery, const Json& results, const std::function<std::string()>& text) {
  write_report_files(delivery.pictures, results);
  hand_over([&] { return results; });
  print(delivery.json_to_standard_output ? results_text(results) : text());
}

}  // namespace sharpmax::cli
