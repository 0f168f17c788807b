// `sharpmax report`: results that were saved, as one page.
#include <fmt/format.h>

#include <memory>

#include "base/atomic_file.h"
#include "base/in_quotes.h"
#include "base/text_file.h"
#include "cli/command.h"
#include "cli/console.h"
#include "report/audit_page.h"
#include "report/results_page.h"
#include "sharpmax/error.h"

namespace sharpmax::cli {
namespace {

constexpr const char* kFooter =
    "RESULTS is what --json of `sharpmax retrieve` or `sharpmax audit` wrote. The page\n"
    "is the one that -o of these commands writes; nothing is measured again.\n"
    "\n"
    "Examples:\n"
    "  sharpmax audit SmolLM2.gguf --text book.txt --json audit.json\n"
    "  sharpmax report audit.json -o audit.html\n"
    "  sharpmax report retrieve-quick/results.json -o retrieval.html";

struct ReportOptions {
  std::string results, html;
};

Json results_of(const std::string& path) {
  const std::string text = read_text(path);
  Json results = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (results.is_discarded())
    throw Error(ErrorCode::bad_file,
                fmt::format("report: {} is not JSON; wanted results of --json", in_quotes(path)));
  return results;
}

std::string page_of(const std::string& path, const Json& results) {
  try {
    return report::results_page(results);
  } catch (const Error& error) {
    throw Error(ErrorCode::bad_file, fmt::format("{}: {}", in_quotes(path), error.what()));
  }
}

int run(const ReportOptions& o) {
  if (o.results.empty())
    throw Error(ErrorCode::bad_argument, "report: no results were given; wanted a JSON file");
  if (o.html.empty())
    throw Error(ErrorCode::bad_argument, "report: no -o was given; wanted a file for the page");
  if (o.html == "-") throw Error(ErrorCode::bad_argument, "-o is '-'; a page needs a file");
  report::require_audit_page();
  write_text(o.html, page_of(o.results, results_of(o.results)));
  narrate(fmt::format("report: {}", o.html));
  return kOk;
}

}  // namespace

Command add_report(CLI::App& program) {
  const auto o = std::make_shared<ReportOptions>();
  CLI::App* words =
      program.add_subcommand("report", "Results that were saved, as one page that needs nothing but itself");
  words->footer(kFooter);
  words->add_option("RESULTS", o->results, "A JSON file of `retrieve` or `audit`")->option_text(" ");
  words->add_option("-o,--report,--html", o->html, "Write the page to this file")->option_text("FILE");
  return {words, [o] { return run(*o); }};
}

}  // namespace sharpmax::cli
