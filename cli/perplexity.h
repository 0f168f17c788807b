// What `sharpmax perplexity` measures, shared by its parts.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/model_options.h"
#include "cli/model_text.h"
#include "cli/report_files.h"
#include "model/generation/perplexity.h"

namespace sharpmax::cli {

inline constexpr const char* kPerplexitySchema = "sharpmax.perplexity/1";

struct PerplexityOptions {
  ModelOptions model;
  TextOptions text;
  std::optional<std::int64_t> length;
  bool resume = false, overwrite = false;
  std::string json;
  ReportFiles report;
};

// All that a run measured; chunks in the order of the text.
struct PerplexityRun {
  Json settings;  // what the answer depends on: a run is resumed only under the same
  std::int64_t tokens = 0;
  std::int64_t wanted_chunks = 0;
  std::vector<model::ChunkLosses> chunks;
};

// Schema sharpmax.perplexity/1. Not-a-number is null.
Json to_json(const PerplexityRun& run, double seconds);
// The chunks of an earlier run. Error{bad_file} where the file is not one of these settings.
std::vector<model::ChunkLosses> chunks_in(const std::string& file, const PerplexityRun& run);
std::string report_of(const PerplexityRun& run, bool colour);

}  // namespace sharpmax::cli
