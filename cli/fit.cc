// `fit`: adaptive temperature refitted to a trained head, and what comes of it.
#include "sharpmax/fit.h"

#include <fmt/format.h>

#include "cli/fit_report.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "retrieval/job/requests.h"
#include "retrieval/run/run.h"
#include "storage/files.h"

namespace sharpmax::cli {

namespace {

std::string next_of(const FitResult& result, const FitRequest& request) {
  return closing("", "To test the refitted rule at more sizes",
                 fmt::format("retrieve --head {} --normalizers {}", quoted_word(request.head),
                             quoted_word("softmax;" + result.refitted.normalizer)));
}

}  // namespace

const char* const FitVerb::kSummary =
    "Refit adaptive temperature to a trained head. Shows the fit, its residuals, where the published "
    "polynomial switches itself off, and how both and entropy_target do on other sets.";
const char* const FitVerb::kFooter =
    "HEAD is a head that `sharpmax retrieve` trained. Over sets that it gets wrong\n"
    "under softmax, the temperature of least loss is fitted as a polynomial of the\n"
    "entropy; the comparison is on other sets.\n"
    "\n"
    "Examples:\n"
    "  sharpmax retrieve --arms paper\n"
    "  sharpmax fit retrieve-quick/heads/paper-0.safetensors\n"
    "  sharpmax fit retrieve-quick/heads/paper-0.safetensors --degree 2 \\\n"
    "      --only mended --sizes 64,256,1024 --test-sizes 64,4096 --json fit.json \\\n"
    "      -o fit.html";

void FitVerb::check(const Given&) const {
  CallFiles call = retrieval::files_of(request, overwrite);
  declare_tables(call, tables, kFitSchema, retrieval::kFitCsvHeader);
  check_pictures(call, pictures);
  for (const std::string& target : {tables.json, tables.csv})
    if (!target.empty()) AtomicFile probe(target);  // leaves nothing behind
}

Outcome FitVerb::run(const Caller& caller) {
  request.command = caller.command;
  const FitResult result = fit(request, caller.listener);
  Outcome outcome{.results = to_json(result), .csv = to_csv(result), .written = retrieval::text_of};
  deliver_tables(tables, outcome);
  write_report_files(pictures, {&outcome.results, 1}, caller.listener);
  outcome.text = [result, next = next_of(result, request)](bool colour) { return fit_report(result, colour) + next; };
  return outcome;
}

}  // namespace sharpmax::cli
