// A rule against doing nothing, on the same tokens and the same questions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "audit/fix/trial.h"

namespace sharpmax::audit {

using sharpmax::Flips;
using sharpmax::LossChange;
using Comparison = FixComparison;

// Both of the same part of the same material. A part without text or questions has zeros.
Comparison compare(const Outcome& plain, const Outcome& rule);

// P(|B - n/2| >= |up - n/2|) for B binomial (n, 1/2), n = up + down; 1 where nothing flipped.
double sign_test(std::int64_t up, std::int64_t down);

}  // namespace sharpmax::audit
