// What was measured of all heads, as curves: a spread over heads at every L, N or temperature.
#pragma once

#include <cstdint>
#include <vector>

#include "audit/analysis/measure_model.h"

namespace sharpmax::audit {

// Over heads that have a value.
struct HeadSpread {
  double mean = 0.0, lower_quartile = 0.0, median = 0.0, upper_quartile = 0.0, highest = 0.0;  // NaN of none
};
HeadSpread spread_of(std::vector<double> values);

// One reading of the distance at one L and N.
struct DistancePoint {
  std::int64_t length = 0, top = 0;
  HeadSpread chosen, drawn, drawn_bound, chosen_bound;
};

// Distance-length: one a length, at settings.length_top.
std::vector<DistancePoint> by_length(const HeadMeasurements& found, Reading reading);
// Distance-top: one for each of settings.tops at L, over the rows that leave a key out at this N ...
std::vector<DistancePoint> by_top(const HeadMeasurements& found, Reading reading);
// ... and over those that do so at every N: as N grows the former lose their short rows, whose distances are
// small.
std::vector<DistancePoint> by_top_same_rows(const HeadMeasurements& found, Reading reading);

struct SeparabilityPoint {
  std::int64_t top = 0;
  HeadSpread share, bound, counted;
};
std::vector<SeparabilityPoint> separability_curve(const HeadMeasurements& found);

struct GradientPoint {
  double temperature = 0.0, step = 0.0;
  HeadSpread g;                  // the paper's curve is the highest
  double bound = 0.0;            // no row of softmax exceeds it; NaN where a head has another normalizer
  double published_bound = 0.0;  // as the paper states it, which rows can exceed
};
std::vector<GradientPoint> gradient_curve(const HeadMeasurements& found);  // by step, then temperature

// One head's distances: chosen at every length of distance-length; chosen at every N on the same rows.
std::vector<double> head_by_length(const HeadMeasurements& found, const HeadSums& head, Reading reading);
std::vector<double> head_by_top_same_rows(const HeadMeasurements& found, const HeadSums& head,
                                          Reading reading);

const Distance& read(const Distances& distances, Reading reading);
std::size_t index_of(const std::vector<std::int64_t>& ascending, std::int64_t value);

}  // namespace sharpmax::audit
