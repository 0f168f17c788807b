// Rows of one head at one length, in a few numbers.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "audit/measure/row_fields.h"

namespace sharpmax::audit {

struct FieldSummary {
  double median = 0, lower_quartile = 0, upper_quartile = 0;  // over rows; NaN where no row has a value
  // 95 % of the median, from the order of the medians of runs of kRunLength tokens: neighbours are not
  // independent, and rows of SmolLM2 that far apart are (docs/audit.md). NaN below six runs.
  double low = 0, high = 0;
};
inline constexpr std::int64_t kRunLength = 8;

struct HeadSummary {
  std::int64_t rows = 0;
  std::array<FieldSummary, kPlainFields> fields;
  std::array<double, kGapOctaves.size()> gap_counts{};  // medians

  const FieldSummary& operator[](RowField field) const { return fields[static_cast<std::size_t>(field)]; }
};

// Of the same length in every excerpt that was read so far.
HeadSummary summarise(std::span<const KeptRows* const> excerpts, std::int64_t heads, std::int64_t layer,
                      std::int64_t head);

// Of the values that are not NaN, the one at `share` of the order, between neighbours by straight lines; NaN
// of none. Reorders.
double quantile(std::span<double> values, double share);

}  // namespace sharpmax::audit
