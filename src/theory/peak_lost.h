// At which number of keys a peak weight is lost, and up to which it is sure.
//
// The largest share that any row of scores in an interval can have (peak_range.h) is a function of n. For
// softmax it falls; for rules whose temperature grows with n it may fall and rise again.
#pragma once

#include <optional>

#include "theory/peak_range.h"

namespace sharpmax::theory {

// Numbers of keys are looked at up to here: past 10^300 "never" is meant.
inline constexpr double kMostKeys = 1e300;

struct PeakLoss {
  // The least n at which no row can have the peak; nothing: never.
  std::optional<double> lost;
  // The least n above `lost` at which some row can have it again; nothing: never.
  std::optional<double> regained;
  // The largest n up to which every row with one first place has it, however bad; nothing: at any n.
  std::optional<double> sure;
};

// 0 < peak < 1. Whole numbers, exact up to 2^53. They are found on a grid of n and then by bisection: a loss
// that is made good between two neighbours of the grid (a factor 1.5 apart, 4 where the range is itself
// found by search) is not seen.
PeakLoss peak_loss(const AnyNormalizer& normalizer, double peak, const ScoreInterval& scores,
                   std::size_t head = 0);

}  // namespace sharpmax::theory
