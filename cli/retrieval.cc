// `retrieve`: train one head on small sets, test it on large ones, and say why it fails or holds. `fit`: adaptive
// temperature refitted to such a head, and what comes of it.
#include <fmt/format.h>

#include <filesystem>

#include "cli/table.h"
#include "cli/verbs.h"
#include "cluster/launch.h"
#include "report/report_files.h"
#include "retrieval/job/requests.h"
#include "retrieval/run/run.h"
#include "storage/files.h"

namespace sharpmax::cli {
namespace {

std::filesystem::path page_of(const RetrievalRequest& request) {
  return std::filesystem::path(directory_of(request)) / "report.html";
}

// The run makes its directory itself, so a file there cannot be tried before.
bool goes_into_the_run(const std::string& target, const RetrievalRequest& request) {
  return request.head.empty() && std::filesystem::path(target).parent_path().lexically_normal() ==
                                     page_of(request).lexically_normal().parent_path();
}

// The page of a run in its directory.
void keep_page(const Json& results, const RetrievalRequest& request, Listener& listener) {
  const std::string directory = directory_of(request);
  if (!report::has_page())
    return listener.narrate(fmt::format("everything but a report is in {}: this build has no report page", directory));
  write_text(page_of(request), report::results_page({&results, 1}));
  listener.narrate(fmt::format("everything is in {}; open report.html there in a browser", directory));
}

std::string next_of() {
  return closing("", "To see whether heads of your own model do the same", "audit MODEL --text FILE");
}

}  // namespace

const char* const RetrieveVerb::kSummary =
    "Train a head on few items and test it on many. It names the class of the largest of at most 16 items. "
    "Tests go up to thousands of items under every normalizer, and show why the head fails or holds.";
const char* const RetrieveVerb::kFooter =
    "Normalizers contain commas, so they are separated by semicolons, or each has\n"
    "its own --normalizers. The directory keeps settings, checkpoints, heads and what\n"
    "was measured. After an interrupt or a kill at any moment, the same command with\n"
    "--resume ends in the same results.\n"
    "Any number of processes may work on one run: start them by srun, mpirun or\n"
    "torchrun, or by hand with --join. Those that end early cost nothing but their\n"
    "last steps.\n"
    "\n"
    "Examples:\n"
    "  sharpmax retrieve\n"
    "  sharpmax retrieve --preset paper --threads 2 --json results.json \\\n"
    "      -o report.html\n"
    "  sharpmax retrieve --preset sharp --resume\n"
    "  srun -n 64 sharpmax retrieve --preset sharp --seeds 32 --directory run\n"
    "  ssh box2 sharpmax retrieve --directory /shared/run --join\n"
    "  sharpmax retrieve --arms paper --steps 5000 --sizes 16,256,4096 \\\n"
    "      --normalizers 'softmax;entropy_target:nats=0.1;entmax:alpha=1.3'\n"
    "  sharpmax retrieve --train-normalizer ssmax --seeds 3 --directory ssmax\n"
    "  sharpmax retrieve --head retrieve-quick/heads/sharp-0.safetensors \\\n"
    "      --sizes 131072,1048576 --normalizers 'softmax;entropy_target:nats=0.1'";

// Before an hour of training, not after. Nothing is left behind.
void RetrieveVerb::check(const Given&) const {
  if (status) return;
  CallFiles call = retrieval::files_of(request);
  declare_tables(call, tables, kRetrievalSchema, retrieval::kCsvHeader);
  if (request.head.empty()) call.writes(named("directory"), page_of(request).string(), page_kind());
  ReportFiles tried = pictures;
  declare_report_files(call, tried);
  call.check();
  if (goes_into_the_run(tried.page, request)) tried.page.clear();
  check_report_files(tried);
  for (const std::string& target : {tables.json, tables.csv})
    if (!target.empty() && !goes_into_the_run(target, request)) AtomicFile probe(target);
}

Outcome RetrieveVerb::run(const Caller& caller) {
  request.command = caller.command;
  if (status) return status_outcome(status_of(request));
  const RetrievalResult result = retrieve(request, caller.listener);
  Outcome outcome{.results = to_json(result),
                  .ok = result.bounds_hold(),
                  .csv = to_csv(result),
                  .written = retrieval::text_of};
  deliver_tables(tables, outcome);
  write_report_files(pictures, {&outcome.results, 1}, caller.listener);
  outcome.text = shown_text(outcome.results, next_of());
  if (request.head.empty() && launch().rank == 0) keep_page(outcome.results, request, caller.listener);
  if (!outcome.ok)
    caller.listener.narrate(
        "a measured row breaks the bound of its head: either the certificate or the measurement is wrong");
  return outcome;
}

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
    "      --only mended --sizes 64,256,1024 --test-sizes 64,4096 \\\n"
    "      --json fit.json -o fit.html";

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
  outcome.text = shown_text(outcome.results, next_of(result, request));
  return outcome;
}

}  // namespace sharpmax::cli
