// A job run from the command line: its listener, and what is done with its result.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/report_files.h"
#include "job/call_files.h"
#include "sharpmax/job.h"
#include "sharpmax/model.h"

namespace sharpmax::cli {

// Hears a job for the console: progress and narration go to standard error, generated text to standard output.
class ConsoleListener : public sharpmax::Listener {
 public:
  explicit ConsoleListener(Progress::Elsewhere elsewhere = Progress::Elsewhere::lines) : progress_(elsewhere) {}
  void on_progress(std::string_view line) override;
  void on_pause() override;
  void on_narration(std::string_view sentence) override;
  void on_text(std::string_view text) override;
  void on_resumption(const Resumption& resumption) override;
  Speech speech() const override { return Speech::command_line; }

 private:
  Progress progress_;
};

// The page and the figures of a result, which a door writes when a job is done.
struct Pictures {
  ReportFiles files;

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    ReportFiles::each_field(self.files, visit);
  }
};

// Results of a job that saves none itself: a door writes them when it is done.
struct Tables {
  std::string json, csv;
  std::string_view lines = "File for the results as CSV; - is standard output";

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    visit({"json", "FILE", "Results", "File for the results as JSON; - is standard output", {}, Field::Kind::output},
          self.json);
    visit({"csv", "FILE", "Results", self.lines, {}, Field::Kind::output}, self.csv);
  }
};
// Before a job: adds them to the files of a call. Throws if both would go to standard output.
void declare_tables(CallFiles& call, const Tables& tables, std::string_view schema, std::string_view csv_header);
// After it. Whether neither went to standard output, so that the text for people may.
bool deliver_tables(const Tables& tables, const std::string& json, const std::string& csv);

// --json -: the results go to standard output instead of their text, and the job saves nothing.
bool takes_standard_output(std::string& json);
// --text -: the text is standard input.
void read_standard_input(TextRequest& text);

// Before a job: throws if its page or figures could not be written, or would replace one of its files.
void check_pictures(CallFiles call, const ReportFiles& files);

// After a job: its results to standard output, or its text, and its page and figures; an embedding program gets them too.
struct Delivery {
  bool json_to_standard_output = false;
  ReportFiles pictures;
};
void deliver(const Delivery& delivery, const Json& results, const std::function<std::string()>& text);
void deliver(const Delivery& delivery, const Json& results, Rows rows = Rows::first);
// The text for people of results that have a view.
std::string shown_text(const Json& results, Rows rows = Rows::first);

}  // namespace sharpmax::cli
