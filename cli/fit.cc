// `sharpmax fit`: adaptive temperature refitted to a trained head, and what comes of it.
#include "cli/fit.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <memory>

#include "base/in_quotes.h"
#include "cli/attend.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/outputs.h"
#include "cli/table.h"
#include "retrieval/run/results.h"
#include "retrieval/training/head_file.h"
#include "sharpmax/error.h"
#include "sharpmax/machine.h"
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

void add_fitting(CLI::App& words, FitOptions& o) {
  constexpr const char* kGroup = "Fitting";
  words.add_option("--degree", o.degree, "Of the polynomial, 0 to 8 (default 4)")
      ->option_text("N")
      ->group(kGroup);
  words.add_option("--sizes", o.sizes, "Items in a set that is fitted (default 16 to 1,024, doubling)")
      ->option_text("N,N...")
      ->group(kGroup);
  words
      .add_option("--only", o.only,
                  "wrong (default): all that softmax gets wrong; mended: those that are right at their best "
                  "temperature")
      ->option_text("WHICH")
      ->group(kGroup);
  words.add_option("--least-beta", o.least_beta, "Best temperatures are looked for from here (default 0.25)")
      ->option_text("X")
      ->group(kGroup);
  words.add_option("--largest-beta", o.largest_beta, "... to here (default 16)")
      ->option_text("X")
      ->group(kGroup);
}

void add_others(CLI::App& words, FitOptions& o) {
  words
      .add_option("--test-sizes", o.test_sizes,
                  "Items in a set of the comparison (default 16 to 16,384, by fours)")
      ->option_text("N,N...")
      ->group("Comparison");
  words.add_option("--sets-scale", o.sets_scale, "Times 1,024 sets of every size, fitted and compared")
      ->option_text("X")
      ->check(CLI::Range(1e-9, 1024.0))
      ->group("Run");
  words.add_option("--threads", o.threads, "How many (default: OpenMP's); the results do not depend on it")
      ->option_text("N")
      ->check(CLI::Range(1, 4096))
      ->group("Run");
  add_json_option(words, o.json, kFitSchema, "Results");
  words.add_option("--csv", o.csv, "Write one line for each set that was fitted; -: standard output")
      ->option_text("FILE")
      ->group("Results");
  add_overwrite_option(words, o.overwrite, "Results");
}

void check_together(const FitOptions& o) {
  const auto refuse = [](const std::string& sentence) { throw Error(ErrorCode::bad_argument, sentence); };
  if (o.head.empty())
    refuse(
        "fit: no head was given; `sharpmax retrieve --arms paper` trains one and keeps it as "
        "retrieve-quick/heads/paper-0.safetensors");
  if (o.json == "-" && o.csv == "-") refuse("--json - and --csv - cannot both have standard output");
}

// Before the work. Nothing is left behind.
void check_files(const FitOptions& o) {
  CallFiles call(o.overwrite);
  call.reads("HEAD", o.head);
  call.writes("--json", o.json, results_kind(kFitSchema)).writes("--csv", o.csv, csv_kind(kFitCsvHeader));
  call.check();
  for (const std::string& target : {o.json, o.csv})
    if (!target.empty() && target != "-") AtomicFile probe(target);
}

// A line for each of the two phases, each with the time that it has left.
class FitProgress {
 public:
  void show(const char* phase, std::int64_t done, std::int64_t of) {
    constexpr auto kInterval = std::chrono::milliseconds(100);
    const auto now = Clock::now();
    if (phase != phase_) {
      phase_ = phase;
      began_ = now;
      before_ = done;
    } else if (now - told_ < kInterval) {
      return;
    }
    told_ = now;
    const double seconds = std::chrono::duration<double>(now - began_).count();
    const auto gone = static_cast<double>(done - before_), left = static_cast<double>(of - done);
    lines_.show(fmt::format("{}: {:.0f} %, {} left", phase,
                            100.0 * static_cast<double>(done) / static_cast<double>(of),
                            duration(gone > 0.0 ? seconds * left / gone : std::nan(""))));
  }

 private:
  using Clock = std::chrono::steady_clock;
  Progress lines_{Progress::Elsewhere::lines};
  const char* phase_ = nullptr;
  std::int64_t before_ = 0;
  Clock::time_point began_, told_;
};

retrieval::FitResult carry_out(const retrieval::Head& head, retrieval::FitRequest request, int threads) {
  FitProgress progress;
  static constexpr const char *kFitting = "looking for the best temperatures", *kComparing = "comparing";
  request.progress = [&](std::int64_t done, std::int64_t of) { progress.show(kFitting, done, of); };
  request.comparison_progress = [&](std::int64_t done, std::int64_t of) {
    progress.show(kComparing, done, of);
  };
  try {
    return retrieval::fit_temperature(head, request, {.threads = threads});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    throw Error(error.code(), fmt::format("{} (--sizes, --sets-scale, --degree)", error.what()));
  }
}

int run(const FitOptions& o) {
  check_together(o);
  const retrieval::FitRequest request = request_of(o);
  check_files(o);
  const retrieval::Head head = retrieval::load_head(o.head);
  cannot_resume("fit has no --resume, and what it fitted so far is lost");
  const auto began = std::chrono::steady_clock::now();
  const retrieval::FitResult result = carry_out(head, request, o.threads);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  Json found = {{"schema", kFitSchema},
                {"sharpmax", version()},
                {"command", command_line()},
                {"created", utc_now()},
                {"seconds", seconds.count()}};
  found.update(fit_json(head, o.head, request, result));
  deliver(o.json, retrieval::text_of(found));
  deliver(o.csv, fit_csv(result));
  hand_over([&] { return found; });
  if (o.json != "-" && o.csv != "-") print(fit_report(found, colour_wanted()));
  return kOk;
}

}  // namespace

retrieval::FitRequest request_of(const FitOptions& o) {
  retrieval::FitRequest request;
  if (!o.sizes.empty()) request.sizes = parse_integers(o.sizes, "--sizes");
  if (!o.test_sizes.empty()) request.comparison_sizes = parse_integers(o.test_sizes, "--test-sizes");
  const double sets = o.sets_scale * static_cast<double>(request.sets);
  request.sets = request.comparison_sets = std::max<std::int64_t>(1, std::llround(sets));
  if (o.only != "wrong" && o.only != "mended")
    throw Error(ErrorCode::bad_argument,
                fmt::format("--only: {} is neither wrong nor mended", in_quotes(o.only)));
  request.use = o.only == "wrong" ? retrieval::FitSets::wrong : retrieval::FitSets::mended;
  request.degree = o.degree;
  request.least_beta = o.least_beta;
  request.largest_beta = o.largest_beta;
  return request;
}

Command add_fit(CLI::App& program) {
  CLI::App* words = program.add_subcommand(
      "fit",
      "Refit adaptive temperature to a trained head. Shows the fit, its residuals, where the published "
      "polynomial switches itself off, and how both and entropy_target do on other sets.");
  words->footer(kFooter);
  const auto options = std::make_shared<FitOptions>();
  words->add_option("HEAD", options->head, "A trained head, .safetensors")->option_text(" ");
  add_fitting(*words, *options);
  add_others(*words, *options);
  return {words, [options] { return run(*options); }};
}

}  // namespace sharpmax::cli
