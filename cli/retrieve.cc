// `sharpmax retrieve`: train one head on small sets, test it on large ones, and say why it fails or holds.
#include "cli/retrieve.h"

#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/outputs.h"
#include "cli/table.h"
#include "report/results_page.h"
#include "retrieval/run/results.h"
#include "retrieval/task/settings_fields.h"
#include "retrieval/training/head_file.h"
#include "sharpmax/error.h"
#include "sharpmax/machine.h"
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

constexpr const char* kTraining = "Training (of every arm)";

void add_training(CLI::App& words, const std::shared_ptr<RetrieveOptions>& o) {
  retrieval::TrainingSettings defaults;
  retrieval::each_field(defaults, [&](const char* name, const auto&, const char* meaning) {
    words
        .add_option_function<std::string>(
            flag_of(name), [o, name](const std::string& text) { o->training[name] = text; }, meaning)
        ->option_text("X")
        ->group(kTraining);
  });
}

void add_run(CLI::App& words, RetrieveOptions& o) {
  const auto text = [&](const char* flag, std::string& into, const char* shape, const char* what) {
    words.add_option(flag, into, what)->option_text(shape)->group("Run");
  };
  text("--preset", o.preset, "NAME", "quick (default), paper or sharp");
  text("--arms", o.arms, "NAMES",
       "Ways of training, of paper, sharp, sharp-mlp, crowded-softmax (default: the preset's)");
  words.add_option("--seeds", o.seeds, "How many heads of each arm: seeds 0, 1, ...")
      ->option_text("N")
      ->check(CLI::Range(1, 100'000))
      ->group("Run");
  text("--seed-list", o.seed_list, "N,N...", "These seeds");
  words.add_option("--threads", o.threads, "How many (default: OpenMP's); the results do not depend on it")
      ->option_text("N")
      ->check(CLI::Range(1, 4096))
      ->group("Run");
  text("--directory", o.directory, "DIR", "Where the run is kept (default ./retrieve-PRESET)");
  words.add_flag("--resume", o.resume, "Go on with the run in the directory")->group("Run");
  words
      .add_flag("--overwrite", o.overwrite,
                "Begin again in a directory that holds a run; replace existing files of another kind. An input "
                "is never replaced")
      ->group("Run");
  words.add_option("--checkpoint-seconds", o.checkpoint_seconds, "Time between checkpoints (default 10)")
      ->option_text("X")
      ->check(CLI::Range(0.0, 86400.0))
      ->group("Run");
  text("--head", o.head, "FILE", "Train nothing: test this head again");
}

void add_testing(CLI::App& words, RetrieveOptions& o) {
  constexpr const char* kGroup = "Testing";
  words.add_option("--sizes", o.sizes, "Items in a test set")->option_text("N,N...")->group(kGroup);
  words
      .add_option("--normalizers", o.normalizers,
                  "Tested on the same scores, e.g. 'softmax;top_k:k=4,beta=2'; the one of training is tested "
                  "with what it learned")
      ->option_text("TEXT;...")
      ->allow_extra_args(false)
      ->group(kGroup);
  words
      .add_option("--sets-scale", o.sets_scale,
                  "Times 8192 sets up to 2,048 items, 2048 up to 16,384, 512 up to 131,072, 128 beyond")
      ->option_text("X")
      ->check(CLI::Range(1e-9, 1024.0))
      ->group(kGroup);
  words.add_option("--heat-map-sets", o.heat_map_sets, "Sets whose weights are kept (default 32)")
      ->option_text("N")
      ->check(CLI::Range(0, 1 << 16))
      ->group(kGroup);
  words.add_option("--heat-map-items", o.heat_map_items, "The largest items of each (default 16)")
      ->option_text("N")
      ->check(CLI::Range(1, 1 << 16))
      ->group(kGroup);
}

void add_results(CLI::App& words, RetrieveOptions& o) {
  add_json_option(words, o.json, retrieval::kResultsSchema, "Results");
  words.add_option("--csv", o.csv, "Write one line for each head, size and normalizer; -: standard output")
      ->option_text("FILE")
      ->group("Results");
  add_report_files(words, o.report);
}

std::filesystem::path directory_of(const RetrieveOptions& o) {
  return o.directory.empty() ? "retrieve-" + o.preset : o.directory;
}

// The run makes its directory itself, so what goes there cannot be tried before.
bool goes_into_the_run(const std::string& target, const RetrieveOptions& o) {
  return o.head.empty() && std::filesystem::path(target).parent_path().lexically_normal() ==
                               (directory_of(o) / "").lexically_normal().parent_path();
}

void check_files(const RetrieveOptions& o) {
  CallFiles call(o.overwrite);
  call.reads("--head", o.head);
  call.writes("--json", o.json, results_kind(retrieval::kResultsSchema));
  call.writes("--csv", o.csv, csv_kind(retrieval::kCsvHeader));
  if (o.head.empty()) {
    call.writes("--directory", (directory_of(o) / "results.json").string(),
                results_kind(retrieval::kResultsSchema));
    call.writes("--directory", (directory_of(o) / "report.html").string(), page_kind());
  }
  declare_report_files(call, o.report);
  call.check();
}

void check_together(const RetrieveOptions& o, const CLI::App& words) {
  const auto refuse = [](const std::string& sentence) { throw Error(ErrorCode::bad_argument, sentence); };
  if (o.resume && o.overwrite) refuse("--resume and --overwrite are two different things; give one");
  if (o.json == "-" && o.csv == "-") refuse("--json - and --csv - cannot both have standard output");
  check_files(o);
  // Now, not after an hour of training. Nothing is left behind.
  ReportFiles files = o.report;
  if (goes_into_the_run(files.page, o)) files.page.clear();
  check_report_files(files);
  for (const std::string& target : {o.json, o.csv})
    if (!target.empty() && target != "-" && !goes_into_the_run(target, o)) AtomicFile probe(target);
  if (o.head.empty()) return;
  for (const CLI::Option* option : words.get_options()) {
    const std::string name = option->get_name();
    const bool of_training =
        option->get_group() == kTraining ||
        (option->get_group() == "Run" && name != "--threads" && name != "--head" && name != "--preset" &&
         name != "--overwrite");
    if (of_training && option->count() > 0)
      refuse(fmt::format("{} does not go with --head: nothing is trained", name));
  }
}

retrieval::RunOutcome carry_out(const RetrieveOptions& o, const std::string& directory) {
  Progress progress(Progress::Elsewhere::lines);
  const retrieval::RunSettings settings = settings_of(o);
  const retrieval::RunOptions options{
      .directory = directory,
      .existing = o.resume      ? retrieval::Existing::resume
                  : o.overwrite ? retrieval::Existing::overwrite
                                : retrieval::Existing::refuse,
      .threads = o.threads,
      .checkpoint_seconds = o.checkpoint_seconds,
      .standing =
          [&](const retrieval::RunStanding& before) {
            if (o.resume) narrate(sentence_of(before));
          },
      .progress = [&](const retrieval::RunProgress& now) { progress.show(sentence_of(now)); }};
  if (o.head.empty())
    can_resume("checkpoints and finished tests are saved", {"--directory", directory});
  else
    cannot_resume("a test of --head cannot be resumed, and what it measured so far is lost");
  if (!o.head.empty()) return test_again(retrieval::load_head(o.head), settings.test, options);
  return retrieval::run(settings, options);
}

Json results_of(const retrieval::RunOutcome& outcome) {
  Json results = {
      {"schema", retrieval::kResultsSchema},
      {"sharpmax", version()},
      {"command", command_line()},
      {"created", utc_now()},
      {"seconds", {{"training", outcome.training_seconds}, {"testing", outcome.testing_seconds}}}};
  results.update(retrieval::results_json(outcome));
  return results;
}

// What a run leaves in its directory beside what resuming needs.
void keep(const Json& results, const std::string& text, const std::filesystem::path& directory) {
  write_text(directory / "results.json", text);
  if (!report::has_page()) {
    narrate(fmt::format("everything but a report is in {}: this build has no uPlot", directory.string()));
    return;
  }
  write_text(directory / "report.html", report::results_page({&results, 1}));
  narrate(fmt::format("everything is in {}; open report.html there in a browser", directory.string()));
}

bool bound_is_broken(const Json& results) {
  for (const Json& result : results["results"])
    if (result["bound_violations"].get<std::int64_t>() > 0) return true;
  return false;
}

int run(const RetrieveOptions& o, const CLI::App& words) {
  check_together(o, words);
  const retrieval::RunOutcome outcome = carry_out(o, directory_of(o).string());
  const Json results = results_of(outcome);
  const std::string text = retrieval::text_of(results);
  deliver(o.json, text);
  deliver(o.csv, retrieval::csv_of(results));
  write_report_files(o.report, results);
  hand_over([&] { return results; });
  if (o.json != "-" && o.csv != "-") print(retrieval_report(results, colour_wanted()));
  if (o.head.empty()) keep(results, text, directory_of(o));
  if (!bound_is_broken(results)) return kOk;
  narrate("a measured row breaks the bound of its head: either the certificate or the measurement is wrong");
  return kCheckFailed;
}

}  // namespace

Command add_retrieve(CLI::App& program) {
  CLI::App* words = program.add_subcommand(
      "retrieve",
      "See softmax disperse, and see it fixed. Trains one attention head to name the class of the largest of "
      "at most 16 items, tests it on many more under every normalizer, and says why it fails or holds.");
  words->footer(kFooter);
  const auto options = std::make_shared<RetrieveOptions>();
  add_run(*words, *options);
  add_training(*words, options);
  add_testing(*words, *options);
  add_results(*words, *options);
  return {words, [options, words] { return run(*options, *words); }};
}

}  // namespace sharpmax::cli
