// What `sharpmax bound MODEL` proves of the heads of a model, shared by its parts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "audit/certificate/certificate.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/report_files.h"

namespace sharpmax::cli {

inline constexpr const char* kBoundModelSchema = "sharpmax.bound.model/1";

struct BoundModelOptions {
  std::string model;
  double peak = 0.5;  // the share of the weight that is to be lost
  double beta = 1.0;
  std::string rope_scaling;
  std::optional<double> rope_base;
  int threads = 0;
  bool all = false;  // every head in the report
  std::string json;
  ReportFiles report;
};

// MODEL and what goes with it alone; --peak, --beta and where results go are shared with bounds of a given
// spread.
void add_bound_model_options(CLI::App& words, BoundModelOptions& options);

// Error{bad_argument} unless 0 < peak < 1 and beta > 0.
int bound_model(const BoundModelOptions& options);

struct BoundModelRun {
  BoundModelOptions options;
  const model::Model* model = nullptr;
  std::string sha256 = {};  // of the model
  std::vector<audit::HeadCertificate> heads = {};
  double seconds = 0.0;

  // Tokens up to which a length is worth a promise: what the model was trained on, or a million.
  double horizon() const;
  double log_length(const audit::HeadCertificate& head) const;
  bool useful(const audit::HeadCertificate& head) const;
};

// Schema sharpmax.bound.model/1.
Json to_json(const BoundModelRun& run);
// The verdict, two sentences.
std::string verdict_of(const BoundModelRun& run);
std::string report_of(const BoundModelRun& run, bool colour);

}  // namespace sharpmax::cli
