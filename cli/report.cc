// `report`: results that were saved, as one page.
#include "sharpmax/report.h"

#include "cli/verbs.h"


namespace sharpmax::cli {

const char* const ReportVerb::kSummary = "One page of saved results, or of several compared";
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
