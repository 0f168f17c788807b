// Critical N: from which N on a Kolmogorov-Smirnov test over the heads' mean distances no longer tells the N
// keys with most weight from N keys at random.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "audit/analysis/kolmogorov_smirnov.h"
#include "audit/analysis/measure_model.h"

namespace sharpmax::audit {

// What the chosen keys are compared with.
enum class Against { drawn, drawn_bound };

struct CriticalTop {
  std::optional<std::int64_t> top;       // the first N with p >= level; none up to the largest tried
  std::vector<KolmogorovSmirnov> tests;  // one for every N tried
};

// The same for heads drawn without replacement, so that models with different numbers of heads compare: the
// power of the test grows with them.
struct CriticalSubsets {
  std::int64_t heads = 0;                         // of a subset; 0: the model has fewer than that
  std::vector<std::optional<std::int64_t>> tops;  // one a subset
};

struct CriticalAtLength {
  std::int64_t length = 0;
  std::vector<std::int64_t> tops;  // N tried, ascending
  CriticalTop all;
  CriticalSubsets subsets;
};

// At every one of settings.critical_lengths.
std::vector<CriticalAtLength> critical_tops(const HeadMeasurements& found, Reading reading, Against against);

// Of N that were found; those not found count as larger than any. None: the median was not found.
std::optional<std::int64_t> median_top(std::vector<std::optional<std::int64_t>> tops);

}  // namespace sharpmax::audit
