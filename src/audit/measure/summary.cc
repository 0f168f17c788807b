#include "audit/measure/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "statistics/significance.h"

namespace sharpmax::audit {
namespace {

// Rows of one head that one run holds, by excerpt and place.
struct Run {
  std::size_t excerpt;
  std::size_t first, count;
};

std::vector<Run> runs_of(std::span<const KeptRows* const> excerpts) {
  std::vector<Run> runs;
  for (std::size_t e = 0; e < excerpts.size(); ++e) {
    const auto& positions = excerpts[e]->positions;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      if (i == 0 || positions[i] / kRowsRunLength != positions[i - 1] / kRowsRunLength) runs.push_back({e, i, 0});
      ++runs.back().count;
    }
  }
  return runs;
}

}  // namespace

double quantile(std::span<double> values, double share) {
  const auto end = std::partition(values.begin(), values.end(), [](double x) { return !std::isnan(x); });
  const auto count = static_cast<std::size_t>(end - values.begin());
  if (count == 0) return std::numeric_limits<double>::quiet_NaN();
  const double place = share * static_cast<double>(count - 1);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), at, end);
  if (at + 1 == end) return *at;
  const double next = *std::min_element(at + 1, end);
  return *at + (place - std::floor(place)) * (next - *at);
}

HeadSummary summarise(std::span<const KeptRows* const> excerpts, std::int64_t heads, std::int64_t layer,
                      std::int64_t head) {
  HeadSummary summary;
  const std::vector<Run> runs = runs_of(excerpts);
  std::vector<double> all, part, medians;
  for (std::size_t field = 0; field < kRowFields; ++field) {
    all.clear();
    medians.clear();
    for (const Run& run : runs) {
      part.clear();
      for (std::size_t i = run.first; i < run.first + run.count; ++i)
        part.push_back(excerpts[run.excerpt]->row(heads, layer, head, i)[field]);
      all.insert(all.end(), part.begin(), part.end());
      if (const double median = quantile(part, 0.5); !std::isnan(median)) medians.push_back(median);
    }
    if (field >= kPlainFields) {
      summary.gap_counts[field - kPlainFields] = quantile(all, 0.5);
      continue;
    }
    const Interval interval = median_interval(medians);
    summary.fields[field] = {quantile(all, 0.5), quantile(all, 0.25), quantile(all, 0.75), interval.low,
                             interval.high};
  }
  return summary;
}

}  // namespace sharpmax::audit
