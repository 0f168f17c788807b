// What the demonstration found, as JSON or as two tables on one screen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/console.h"

namespace sharpmax::cli {

inline constexpr const char* kDemoSchema = "sharpmax.attend.demo/1";

struct DemoRow {
  std::string normalizer;
  std::int64_t n = 0;
  std::int64_t needle = 0;   // its key
  double needle_weight = 0;  // as used
  double peak_weight = 0;    // this and the rest as RowStatistics has them
  std::int64_t peak_key = -1;
  double entropy = 0;
  double effective_support = 0;
  std::int64_t support = 0;
  double mass = 0;
  double temperature = 0;
  double threshold = 0;

  // The part of all weight that is the needle's. Where it is the peak the statistics know it in double;
  // elsewhere the output does, in float.
  double needle_share() const noexcept {
    if (peak_key == needle) return peak_weight;
    return mass > 0 ? needle_weight / mass : 0.0;
  }
};

struct DemoSetting {
  double gap = 0;
  std::uint64_t seed = 0;
  std::int64_t features = 0;
};

// Schema sharpmax.attend.demo/1.
Json demo_json(const std::vector<DemoRow>& rows, const DemoSetting& setting);
// `rows`: every size of the first normalizer, then of the second, ...
void print_demo_tables(const std::vector<DemoRow>& rows, const std::vector<std::int64_t>& sizes,
                       const DemoSetting& setting);

}  // namespace sharpmax::cli
