// Findings from kept rows: the kind of every head, how it changes with length, where it goes blunt.
#pragma once

#include "audit/measure/forecast.h"
#include "audit/measure/head_kind.h"
#include "audit/measure/reading.h"
#include "audit/measure/summary.h"

namespace sharpmax::audit {

// Of the lengths that every excerpt was read to; kinds are those at the longest within the trained length, or
// at the shortest if none is. softmax: every head runs under it, which peak_bound holds for. Error{bad_argument} if there is
// no such length.
Findings find(const ReadingPlan& plan, const Readings& readings, const model::Configuration& configuration,
              const Thresholds& thresholds, bool softmax = true);

}  // namespace sharpmax::audit
