// `sharpmax fit`: adaptive temperature refitted to a trained head, and what comes of it.
#include "sharpmax/fit.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/door.h"
#include "cli/fields.h"
#include "cli/fit_report.h"
#include "cli/outputs.h"
#include "cli/table.h"
#include "retrieval/job/requests.h"
#include "retrieval/run/run.h"
#include "storage/files.h"

namespace sharpmax::cli {
namespace {

constexpr const char* kFooter =
    "HEAD is a head that `sharpmax retrieve` trained. Over sets that it gets wrong\n"
    "under softmax, the temperature of least loss is fitted as a polynomial of the\n"
    "entropy; the comparison is on other sets.\n"
    "\n"
    "Examples:\n"
    "  sharpmax retrieve --arms paper\n"
    "  sharpmax fit retrieve-quick/heads/paper-0.safetensors\n"
    "  sharpmax fit retrieve-quick/heads/paper-0.safetensors --degree 2 \\\n"
    "      --only mended --sizes 64,256,1024 --test-sizes 64,4096 --json fit.json";

struct FitWords {
  FitRequest request;
  Tables tables{.lines = "File for one line per fitted set; - is standard output"};
  bool overwrite = false;
};

// Before the work. Nothing is left behind.
void check_files(const FitWords& words) {
  CallFiles call = retrieval::files_of(words.request, words.overwrite);
  declare_tables(call, words.tables, kFitSchema, retrieval::kFitCsvHeader);
  call.check();
  for (const std::string& target : {words.tables.json, words.tables.csv})
    if (is_file(target)) AtomicFile probe(target);
}

std::string next_of(const FitResult& result, const FitRequest& request) {
  return closing("", "To test the refitted rule at more sizes",
                 fmt::format("retrieve --head {} --normalizers {}", quoted_word(request.head),
                             quoted_word("softmax;" + result.refitted.normalizer)));
}

int run(FitWords& words) {
  check_files(words);
  words.request.command = command_line();
  ConsoleListener listener;
  const FitResult result = fit(words.request, listener);
  const Json results = to_json(result);
  const bool text_wanted = deliver_tables(words.tables, retrieval::text_of(results), to_csv(result));
  hand_over([&] { return results; });
  if (text_wanted) print(fit_report(result, colour_wanted()) + next_of(result, words.request));
  return kOk;
}

}  // namespace

Command add_fit(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "fit",
      "Refit adaptive temperature to a trained head. Shows the fit, its residuals, where the published "
      "polynomial switches itself off, and how both and entropy_target do on other sets.");
  app->footer(kFooter);
  const auto words = std::make_shared<FitWords>();
  add_fields(*app, words->request);
  add_fields(*app, words->tables);
  add_overwrite_option(*app, words->overwrite, "Results");
  return {app, [words] { return run(*words); }};
}

}  // namespace sharpmax::cli
