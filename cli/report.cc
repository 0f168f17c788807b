// `sharpmax report`: results that were saved, as one page.
#include "sharpmax/report.h"

#include <memory>

#include "cli/command.h"
#include "cli/door.h"
#include "cli/fields.h"

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

}  // namespace

Command add_report(CLI::App& program) {
  const auto request = std::make_shared<ReportRequest>();
  CLI::App* words = program.add_subcommand("report", "One page of saved results, or of several compared");
  words->footer(kFooter);
  words->add_option("RESULTS", request->results, "JSON files that --json of other commands wrote")->option_text("FILE...");
  add_fields(*words, request->files);
  words->add_flag("--overwrite", request->overwrite, "Replace existing files of another kind; an input is never replaced")
      ->group("Results");
  return {words, [request] {
            ConsoleListener listener;
            write_report(*request, listener);
            return kOk;
          }};
}

}  // namespace sharpmax::cli
