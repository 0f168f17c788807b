// What `sharpmax fix` is told and what it found, shared by its parts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "audit/fix/fix_run.h"
#include "cli/console.h"
#include "cli/model_options.h"
#include "cli/model_text.h"
#include "cli/report_files.h"

namespace sharpmax::cli {

struct FixOptions {
  ModelOptions model;
  TextOptions text;
  std::string task;
  std::vector<std::string> rules;
  std::vector<std::int64_t> lengths = {512, 1024};
  std::int64_t questions = 40, tokens = 4096, length = 2048, budget = 12;
  bool chat = false, no_search = false, resume = false, overwrite = false;
  std::uint64_t seed = 0;
  std::string goal = "both";
  double allow = audit::Criterion{}.allowed_loss;
  std::string json, table;
  ReportFiles report;
};

// What came of a run, as people and programs read it.
struct FixAnswer {
  const audit::FixRun& run;
  const model::Configuration& configuration;
  std::optional<std::size_t> chosen;  // on the tuning part
  std::optional<audit::Finding> finding;
  std::size_t use = 0;  // the trial to use: 0 is leaving it as it is
};
FixAnswer answer_of(const audit::FixRun& run, const model::Configuration& configuration);

// In one or two sentences, then the tables.
std::string report_of(const FixAnswer& answer, bool colour);
// Options for `sharpmax run` and for llama.cpp.
std::string how_to_use(const FixAnswer& answer, const FixOptions& options);
Json answer_json(const FixAnswer& answer);

}  // namespace sharpmax::cli
