// What was measured of all heads, as curves: a spread over heads at every L, N or temperature.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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

// The two-sample Kolmogorov-Smirnov test, for samples of one size.

struct KolmogorovSmirnov {
  double statistic = 0.0;  // the largest difference of the two empirical distribution functions
  double p = 1.0;  // two-sided, exact: the chance of at least this statistic if both are of one distribution
};

// As many of either, at least one. Equal values are taken together, which makes p an upper bound. NaN in, NaN
// out.
KolmogorovSmirnov kolmogorov_smirnov(std::span<const double> first, std::span<const double> second);

// p where the statistic is steps / size.
double kolmogorov_smirnov_p(std::int64_t steps, std::int64_t size);

// Critical N: from which N on a Kolmogorov-Smirnov test over the heads' mean distances no longer tells the N
// keys with most weight from N keys at random.

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
