// What the rows that were kept say of every head: its kind, how it changes with length, where it goes blunt.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "audit/measure/forecast.h"
#include "audit/measure/head_kind.h"
#include "audit/measure/reading.h"
#include "audit/measure/summary.h"

namespace sharpmax::audit {

// Where the median peak outside the sink falls below the threshold.
struct Blunting {
  enum class How {
    from_start,    // below already at the shortest length
    measured,      // between two measured lengths
    forecast,      // past the longest
    not_foreseen,  // nor within kFarthest tokens by the forecast
    unknown,       // nothing lies outside the sink
  };
  How how = How::unknown;
  double length = 0;  // measured: straight between neighbours in logarithms; forecast: damped power law
};
std::string_view name_of(Blunting::How how);
inline constexpr double kFarthest = 1 << 20;

struct HeadFindings {
  HeadPlace place;
  HeadKind kind = HeadKind::mixed;
  double entropy_slope = 0, entropy_slope_outside = 0;  // against ln n
  double peak_slope = 0;                                // of ln peak outside against ln n
  Blunting blunting;
  std::vector<HeadSummary> at;  // by length
};

struct Findings {
  std::vector<double> lengths;
  std::int64_t trained = 0;  // the model's own context
  std::int64_t layers = 0, heads = 0, excerpts = 0;
  bool softmax = true;  // in every head, as it is: what peak_bound() holds for
  Thresholds thresholds;
  std::vector<HeadFindings> by_head;      // [layer, head]
  double damping = 0;                     // of forecasts past the longest length
  std::vector<ForecastErrors> forecasts;  // from lengths that were measured to lengths that were measured

  // Medians over heads of a field's medians, by length.
  std::vector<double> typical(RowField field) const;
  std::vector<std::int64_t> blunt_heads() const;  // by length
  std::int64_t count(HeadKind kind) const;
};

// Of the lengths that every excerpt was read to; kinds are those at the longest within the trained length, or
// at the shortest where none is. Error{bad_argument} where there is no such length.
Findings find(const ReadingPlan& plan, const Readings& readings, const model::Configuration& configuration,
              const Thresholds& thresholds);

// The largest weight that n keys can have whose scores lie within the median spread that was measured: what
// softmax allows at best. NaN under other normalizers.
double peak_bound(const Findings& findings, const HeadSummary& summary);

}  // namespace sharpmax::audit
