// `sharpmax audit --analysis`: paper B's five analyses.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/model_options.h"
#include "cli/model_text.h"
#include "cli/report_files.h"

namespace sharpmax::cli {

struct AnalysisOptions {
  std::string analysis;  // names joined by commas; empty: this is not the job
  std::string vectors = "values", distance = "sum";
  std::int64_t chunks = 1, length_top = 5, critical_most = 100, subsets = 25;
  std::vector<std::int64_t> tops, critical_lengths;  // empty: the authors'
  double level = 0.01;
  int draws = 1;
  std::uint64_t seed = 1;
};
// After all other options of `audit`: those that only another of its jobs heeds are refused.
void add_analysis_options(CLI::App& words, AnalysisOptions& options);

// What `audit` was told besides.
struct AnalysisJob {
  const ModelOptions& model;
  const TextOptions& text;
  const std::vector<std::int64_t>& lengths;  // of distance-length, the largest is L; empty: the authors'
  const std::string& json;                   // a file; -: standard output; empty: print for people
  const ReportFiles& report;
};
int audit_analyses(const AnalysisJob& job, const AnalysisOptions& options);

// The section "analysis", for people.
std::string analysis_report(const Json& analysis, bool colour);

}  // namespace sharpmax::cli
