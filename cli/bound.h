// What `sharpmax bound` is asked and what it finds, shared by its parts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/bound_model.h"
#include "cli/console.h"
#include "cli/report_files.h"
#include "sharpmax/normalizer.h"
#include "theory/peak_range.h"

namespace sharpmax::cli {

struct BoundOptions {
  std::optional<double> spread, level, peak;
  double beta = 1.0;
  std::string sizes;                     // numbers of keys, with commas
  std::vector<std::string> normalizers;  // texts; none or "all": every member
  BoundModelOptions model;               // given: bounds of its heads instead
  std::string json;
  ReportFiles report;
  bool overwrite = false;
  bool attack = false;  // no spread: try to break every bound instead
  std::uint64_t seed = 1;
};

// One normalizer at every number of keys asked for.
struct NormalizerBounds {
  std::string normalizer;
  std::vector<theory::PeakRange> ranges;  // as `sizes`
  std::optional<theory::PeakLoss> loss;   // where a peak was asked for
  std::string refused;                    // why there is nothing above; else empty
};

struct BoundResults {
  double spread = 0.0;  // as given
  double beta = 1.0;
  theory::ScoreInterval scores;  // times beta
  std::optional<double> peak;
  std::vector<double> sizes;
  std::vector<NormalizerBounds> normalizers;

  double softmax_peak() const { return peak.value_or(0.5); }  // whose loss under softmax is always told
};

// Schema sharpmax.bound.spread/1. Not-a-number and infinities are null.
Json to_json(const BoundResults& results);
std::string report_of(const BoundResults& results, bool colour);

// Checks what the call writes, of this schema. Throws Error{bad_argument}.
void check_files(const BoundOptions& options, const char* schema);

// Tries to break every bound, tells how near it came; kCheckFailed if one broke that should hold.
int run_attacks(const BoundOptions& options);

}  // namespace sharpmax::cli
