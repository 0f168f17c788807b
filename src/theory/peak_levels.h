// Peak ranges of members that change when all scores move together, one function each; see peak_range.h.
#pragma once

#include "normalizer/definition.h"
#include "theory/peak_range.h"

namespace sharpmax::theory {

PeakRange sink_range(double c, double n, const ScoreInterval& scores);
PeakRange sigmoid_range(double offset, double n, const ScoreInterval& scores);
PeakRange relu_range(double n, const ScoreInterval& scores);
PeakRange softpick_range(double n, const ScoreInterval& scores);
PeakRange scaled_self_adjust_range(double n, const ScoreInterval& scores);
PeakRange plain_self_adjust_range(double n, const ScoreInterval& scores);
PeakRange stick_breaking_range(double n, const ScoreInterval& scores);

}  // namespace sharpmax::theory
