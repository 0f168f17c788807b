// `sharpmax retrieve`: train one head on small sets, test it on large ones, and say why it fails or holds.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/door.h"
#include "cli/fields.h"
#include "cli/retrieve_report.h"
#include "cli/table.h"
#include "report/results_page.h"
#include "retrieval/job/requests.h"
#include "retrieval/run/run.h"
#include "storage/files.h"

namespace sharpmax::cli {
namespace {

constexpr const char* kFooter =
    "Normalizers have commas within, so they are separated by semicolons, or each has\n"
    "its own --normalizers. The directory keeps settings, checkpoints, heads and what\n"
    "was measured. After an interrupt or a kill at any moment, the same command with\n"
    "--resume ends in the same results.\n"
    "\n"
    "Examples:\n"
    "  sharpmax retrieve\n"
    "  sharpmax retrieve --preset paper --threads 2 --json results.json \\\n"
    "      -o report.html\n"
    "  sharpmax retrieve --preset sharp --resume\n"
    "  sharpmax retrieve --arms paper --steps 5000 --sizes 16,256,4096 \\\n"
    "      --normalizers 'softmax;entropy_target:nats=0.1;entmax:alpha=1.3'\n"
    "  sharpmax retrieve --train-normalizer ssmax --seeds 3 --directory ssmax\n"
    "  sharpmax retrieve --head retrieve-quick/heads/sharp-0.safetensors \\\n"
    "      --sizes 131072,1048576 --normalizers 'softmax;entropy_target:nats=0.1'";

struct RetrieveWords {
  RetrievalRequest request;
  Tables tables{.lines = "File for one line per head, size and normalizer; - is standard output"};
  Pictures pictures;
};

std::filesystem::path page_of(const RetrievalRequest& request) {
  return std::filesystem::path(directory_of(request)) / "report.html";
}

// The run makes its directory itself, so a file there cannot be tried before.
bool goes_into_the_run(const std::string& target, const RetrievalRequest& request) {
  return request.head.empty() && std::filesystem::path(target).parent_path().lexically_normal() ==
                                     page_of(request).lexically_normal().parent_path();
}

// Before an hour of training, not after. Nothing is left behind.
void check_files(const RetrieveWords& words) {
  const RetrievalRequest& request = words.request;
  CallFiles call = retrieval::files_of(request);
  declare_tables(call, words.tables, kRetrievalSchema, retrieval::kCsvHeader);
  if (request.head.empty()) call.writes(named("directory"), page_of(request).string(), page_kind());
  ReportFiles pictures = words.pictures.files;
  declare_report_files(call, pictures);
  call.check();
  if (goes_into_the_run(pictures.page, request)) pictures.page.clear();
  check_report_files(pictures);
  for (const std::string& target : {words.tables.json, words.tables.csv})
    if (is_file(target) && !goes_into_the_run(target, request)) AtomicFile probe(target);
}

// The page of a run in its directory.
void keep_page(const Json& results, const RetrievalRequest& request) {
  if (!report::has_page()) {
    narrate(fmt::format("everything but a report is in {}: this build has no report page", directory_of(request)));
    return;
  }
  write_text(page_of(request), report::results_page({&results, 1}));
  narrate(fmt::format("everything is in {}; open report.html there in a browser", directory_of(request)));
}

std::string next_of() {
  return closing("", "To see whether heads of your own model do the same", "audit MODEL --text FILE");
}

int run(RetrieveWords& words) {
  check_files(words);
  words.request.command = command_line();
  ConsoleListener listener;
  const RetrievalResult result = retrieve(words.request, listener);
  const Json results = to_json(result);
  const bool text_wanted = deliver_tables(words.tables, retrieval::text_of(results), to_csv(result));
  write_report_files(words.pictures.files, results);
  hand_over([&] { return results; });
  if (text_wanted) print(retrieval_report(result, colour_wanted()) + next_of());
  if (words.request.head.empty()) keep_page(results, words.request);
  if (result.bounds_hold()) return kOk;
  narrate("a measured row breaks the bound of its head: either the certificate or the measurement is wrong");
  return kCheckFailed;
}

}  // namespace

Command add_retrieve(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "retrieve",
      "See softmax disperse, and see it fixed. Trains one attention head to name the class of the largest of "
      "at most 16 items, tests it on many more under every normalizer, and says why it fails or holds.");
  app->footer(kFooter);
  const auto words = std::make_shared<RetrieveWords>();
  add_fields(*app, words->request);
  add_fields(*app, words->tables);
  add_fields(*app, words->pictures);
  return {app, [words] { return run(*words); }};
}

}  // namespace sharpmax::cli
