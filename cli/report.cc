// `sharpmax report`: results that were saved, as one page.
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "base/in_quotes.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/report_files.h"
#include "report/results_page.h"
#include "sharpmax/error.h"
#include "storage/files.h"

namespace sharpmax::cli {
namespace {

constexpr const char* kFooter =
    "RESULTS is what --json of `retrieve`, `audit`, `bound`, `fix`, `perplexity` or\n"
    "`attend --demo` wrote. The page of one result is the page that -o of its command\n"
    "writes; several results share one page, side by side if they are of one kind.\n"
    "Nothing is measured again.\n"
    "\n"
    "Examples:\n"
    "  sharpmax report audit.json -o audit.html\n"
    "  sharpmax report before.json after.json -o compared.html\n"
    "  sharpmax report retrieve-quick/results.json --figures figures";

struct ReportOptions {
  std::vector<std::string> results;
  ReportFiles files;
  bool overwrite = false;
};

Json results_of(const std::string& path) {
  const std::string text = read_text(path);
  Json results = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (results.is_discarded())
    throw Error(ErrorCode::bad_file,
                fmt::format("report: {} is not JSON; wanted results of --json", in_quotes(path)));
  return results;
}

// Told by its file: of several it is not plain which one is wrong.
void check_results(const std::string& path, const Json& results, const ReportFiles& files) {
  try {
    report::check_results(results);
    if (!files.figures.empty()) report::figures_of(results);
  } catch (const Error& error) {
    throw Error(ErrorCode::bad_file, fmt::format("{}: {}", in_quotes(path), error.what()));
  }
}

int run(const ReportOptions& o) {
  if (o.results.empty())
    throw Error(ErrorCode::bad_argument, "report: no results were given; wanted a JSON file");
  if (!o.files.wanted())
    throw Error(ErrorCode::bad_argument,
                "report: no -o was given; wanted a file for the page, or --figures and a directory");
  CallFiles call(o.overwrite);
  for (const std::string& path : o.results) call.reads("RESULTS", path);
  declare_report_files(call, o.files, o.results.size());
  call.check();
  check_report_files(o.files);
  std::vector<Json> results;
  for (const std::string& path : o.results) {
    results.push_back(results_of(path));
    check_results(path, results.back(), o.files);
  }
  write_report_files(o.files, results);
  if (!o.files.page.empty()) narrate(fmt::format("report: {}", o.files.page));
  if (!o.files.figures.empty()) narrate(fmt::format("figures: {}", o.files.figures));
  return kOk;
}

}  // namespace

Command add_report(CLI::App& program) {
  const auto o = std::make_shared<ReportOptions>();
  CLI::App* words =
      program.add_subcommand("report", "Results that were saved, as one page that needs nothing but itself");
  words->footer(kFooter);
  words->add_option("RESULTS", o->results, "JSON files of results")->option_text("FILE...");
  add_report_files(*words, o->files);
  add_overwrite_option(*words, o->overwrite, "Results");
  return {words, [o] { return run(*o); }};
}

}  // namespace sharpmax::cli
