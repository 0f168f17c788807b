// `sharpmax retrieve`: what was asked for, and the pieces that answer it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/report_files.h"
#include "retrieval/run/run.h"

namespace sharpmax::cli {

struct RetrieveOptions {
  std::string preset = "quick";
  std::string arms, seed_list, sizes;
  std::int64_t seeds = 0;
  std::vector<std::string> normalizers;
  double sets_scale = 0.0;  // 0: the preset's
  std::int64_t heat_map_sets = -1, heat_map_items = -1;
  std::map<std::string, std::string> training;  // setting's name: text; those that were given
  std::string head, directory, json, csv;
  ReportFiles report;
  bool resume = false, overwrite = false;
  double checkpoint_seconds = 10.0;
  int threads = 0;
};

// The preset with everything that was given in its place. Throws Error{bad_argument}.
retrieval::RunSettings settings_of(const RetrieveOptions& options);

// "--learning-rate" for "learning_rate"; the normalizer of training is --train-normalizer.
std::string flag_of(const std::string& setting);

// Steps or items done, per second, time left.
std::string sentence_of(const retrieval::RunProgress& progress);

// "resuming: 1 of 4 heads trained, paper-1 at step 1,200 of 5,000; 3 of 44 tests done"
std::string sentence_of(const retrieval::RunStanding& standing);

// The whole text for people, from the JSON of results.
std::string retrieval_report(const Json& results, bool colour);

}  // namespace sharpmax::cli
