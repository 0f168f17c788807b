// Peak ranges found by search, where no closed form is known; see peak_range.h.
#pragma once

#include "normalizer/definition.h"
#include "theory/peak_range.h"

namespace sharpmax::theory {

// Of a softmax whose temperature, at least 1, is a function of the row's entropy (RuleKind::surveyed).
// share.high: one winner, and the others in two groups of any sizes at any gaps. The ceiling holds for every
// row, as far as 4,096 samples show how large the temperature gets.
PeakRange surveyed_range(const Rule& rule, const HeadParameters& parameters, double n, double spread);

// Of any normalizer, through its specification in double: rows of at most three distinct scores, then uphill
// along each of them. No ceiling is known: 1. Throws Error{unsupported} for more than kMostSearchedKeys.
inline constexpr double kMostSearchedKeys = 4096;
PeakRange searched_range(const AnyNormalizer& normalizer, double n, const ScoreInterval& scores,
                         std::size_t head = 0);

}  // namespace sharpmax::theory
