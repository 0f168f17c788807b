#include "cli/audit_analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "audit/analysis/analysis_json.h"
#include "cli/audit.h"
#include "cli/interrupt.h"
#include "cli/table.h"
#include "sharpmax/error.h"
#include "sharpmax/machine.h"
#include "storage/files.h"

namespace sharpmax::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

audit::AnalysisSettings settings_of(const AnalysisJob& job, const AnalysisOptions& o, std::int64_t context) {
  audit::AnalysisSettings s;
  s.analyses = audit::parse_analyses(o.analysis);
  s.vectors = o.vectors == "hidden" ? audit::Vectors::hidden : audit::Vectors::values;
  s.reading = o.distance == "norm" ? audit::Reading::norm : audit::Reading::sum;
  if (job.lengths.empty()) {
    s.length = std::min(s.length, context);
    std::erase_if(s.lengths, [&](std::int64_t length) { return length > s.length; });
  } else {
    s.lengths = job.lengths;
    s.length = *std::max_element(s.lengths.begin(), s.lengths.end());
  }
  if (o.critical_lengths.empty()) {
    std::erase_if(s.critical_lengths, [&](std::int64_t length) { return length > s.length; });
  } else {
    s.critical_lengths = o.critical_lengths;
  }
  for (auto* const lengths : {&s.lengths, &s.critical_lengths})
    if (lengths->empty()) lengths->push_back(s.length);
  if (!o.tops.empty()) s.tops = o.tops;
  s.chunks = o.chunks;
  s.length_top = o.length_top;
  s.critical_most = o.critical_most;
  s.subsets = o.subsets;
  s.level = o.level;
  s.draws = o.draws;
  s.seed = o.seed;
  return s;
}

Json results_of(const AnalysisJob& job, const model::Model& model, std::size_t tokens) {
  return {{"schema", kAuditSchema},
          {"sharpmax", version()},
          {"command", command_line()},
          {"created", utc_now()},
          {"settings",
           {{"model", model_json(model, job.model)},
            {"text", job.text.text},
            {"text_tokens", tokens},
            {"special", job.text.special}}},
          {"complete", false}};
}

audit::HeadMeasurements measured(model::Session& session, const audit::AnalyzedText& text,
                                 const audit::AnalysisSettings& settings, int threads) {
  Progress progress(Progress::Elsewhere::lines);
  const auto start = Clock::now();
  const auto show = [&](double done) {
    progress.show(fmt::format("{:.0f} % of the heads, {} left", 100 * done,
                              duration(seconds_since(start) * (1 - done) / done)));
  };
  return audit::measure_heads(session, text, settings, threads, show, pause);
}

std::string heading(const AnalysisJob& job, const model::Model& model, double seconds) {
  return wrapped(fmt::format("{} on {}, measured in {}", model.name(), job.text.text, duration(seconds))) +
         "\n\n";
}

}  // namespace

int audit_analyses(const AnalysisJob& job, const AnalysisOptions& o) {
  audit::parse_analyses(o.analysis);  // known before a model is opened
  const model::Model model = open_model(job.model);
  const std::vector<model::Token> text = tokens_of(model, job.text, 2);
  audit::AnalyzedText analyzed{text, {}};
  if (tokens_before_text(model) > 0) analyzed.begin = model.tokenizer().ends().begin;
  std::vector<std::string> notes;
  const auto settings =
      audit::fitted(settings_of(job, o, job.model.context.value_or(model.configuration().context)),
                    {static_cast<std::int64_t>(text.size()), tokens_before_text(model)}, notes);
  for (const std::string& note : notes) narrate(note);
  ModelOptions whole = job.model;
  whole.block = settings.length;  // rows of a layer are looked at together
  const auto session = open_session(model, whole, settings.length);
  const bool saves = !job.json.empty() && job.json != "-";
  Json results = results_of(job, model, text.size());
  if (saves) write_text(job.json, results.dump(1) + "\n");  // that it cannot be written is known now
  cannot_resume("an analysis cannot be resumed, and what it measured so far is lost");
  const auto start = Clock::now();
  audit::HeadMeasurements found = measured(*session, analyzed, settings, job.model.threads);
  found.notes = notes;
  const double seconds = seconds_since(start);
  results["complete"] = true;
  results["seconds"] = std::round(seconds * 100) / 100;
  results["analysis"] = audit::analysis_json(found);
  if (saves) write_text(job.json, results.dump(1) + "\n");
  write_report_files(job.report, results);
  hand_over([&] { return results; });
  if (job.json == "-") {
    print(results.dump(1) + "\n");
  } else {
    print(heading(job, model, seconds) + analysis_report(results["analysis"], colour_wanted()));
  }
  return kOk;
}

void add_analysis_options(CLI::App& words, AnalysisOptions& o) {
  constexpr const char* kGroup = "Paper B's analyses";
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  CLI::Option* const analysis =
      words
          .add_option(
              "--analysis", o.analysis,
              "distance-length, distance-top, critical-top, separability, gradient, with commas; or all")
          ->option_text("LIST")
          ->group(kGroup);
  for (const char* other :
       {"--excerpts", "--threshold", "--sketch", "--all", "--head", "--resume", "--block"})
    analysis->excludes(words.get_option(other));
  const auto add = [&](const char* name, auto& value, const char* what, const char* shown) {
    return words.add_option(name, value, what)->option_text(shown)->group(kGroup)->needs(analysis);
  };
  const auto counts = CLI::Range(std::int64_t{1}, kMost);
  add("--vectors", o.vectors,
      "What weights are put on: values, or hidden states before the layer (default values)", "values|hidden")
      ->check(CLI::IsMember({"values", "hidden"}));
  add("--distance", o.distance,
      "Distances of what is left out, summed; or the distance of its sum (default sum)", "sum|norm")
      ->check(CLI::IsMember({"sum", "norm"}));
  add("--chunks", o.chunks, "Parts of the text that are read, L tokens each (default 1)", "N")->check(counts);
  add("--length-top", o.length_top, "Keys selected in distance-length (default 5)", "N")->check(counts);
  add("--tops", o.tops, "Keys selected in distance-top (default 1,5,10,20,100)", "N,…")
      ->delimiter(',')
      ->check(counts);
  add("--critical-most", o.critical_most, "Most keys that critical-top tries (default 100)", "N")
      ->check(counts);
  add("--critical-lengths", o.critical_lengths, "Lengths of critical-top (default 64, 128, … to L)", "N,…")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{2}, kMost));
  add("--level", o.level, "Level of its Kolmogorov-Smirnov test (default 0.01)", "P")
      ->check(CLI::Range(1e-9, 0.5));
  add("--subsets", o.subsets, "Subsets of 144 heads, the paper's number, that it is repeated on (default 25)",
      "N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{10000}));
  add("--draws", o.draws, "Random selections of keys for every row (default 1)", "N")
      ->check(CLI::Range(1, 10000));
  add("--seed", o.seed, "Seed of all that is drawn (default 1)", "N");
}

}  // namespace sharpmax::cli
