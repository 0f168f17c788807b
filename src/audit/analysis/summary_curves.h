// What was measured of all heads, as curves: a spread over heads at every L, N or temperature.
#pragma once

#include <cstdint>
#include <vector>

#include "audit/analysis/measure_model.h"
#include "sharpmax/analysis.h"

namespace sharpmax::audit {

HeadSpread spread_of(std::vector<double> values);

// Distance-length: one per length, at settings.length_top.
std::vector<DistancePoint> by_length(const HeadMeasurements& found, Reading reading);
// Distance-top: one for each of settings.tops at L, over the rows that leave a key out at this N ...
std::vector<DistancePoint> by_top(const HeadMeasurements& found, Reading reading);
// ... and over those that do so at every N: as N grows the former lose their short rows, whose distances are
// small.
std::vector<DistancePoint> by_top_same_rows(const HeadMeasurements& found, Reading reading);

std::vector<SeparabilityPoint> separability_curve(const HeadMeasurements& found);

std::vector<GradientPoint> gradient_curve(const HeadMeasurements& found);  // by step, then temperature

// One head's distances: chosen at every length of distance-length; chosen at every N on the same rows.
std::vector<double> head_by_length(const HeadMeasurements& found, const HeadSums& head, Reading reading);
std::vector<double> head_by_top_same_rows(const HeadMeasurements& found, const HeadSums& head,
                                          Reading reading);

const Distance& read(const Distances& distances, Reading reading);
std::size_t index_of(const std::vector<std::int64_t>& ascending, std::int64_t value);

}  // namespace sharpmax::audit
