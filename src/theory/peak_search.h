// Peak ranges found by search, where no closed form is known; see peak_range.h.
#pragma once

#include "normalizer/definition.h"
#include "theory/peak_range.h"

namespace sharpmax::theory {

// Of a softmax whose temperature is a function of the row's survey (RuleKind::surveyed): one winner, and the
// others in up to two groups of any size at any gap. The ceiling is softmax's at the largest temperature
// that any survey of n keys can ask for, looked for over entropies in [0, ln n].
PeakRange surveyed_range(const Rule& rule, const HeadParameters& parameters, double n, double spread);

// Of any normalizer, through its specification in double: rows of at most three distinct scores, then uphill
// along each of them. No ceiling is known: 1. Throws Error{unsupported} for more than kMostSearchedKeys.
inline constexpr double kMostSearchedKeys = 4096;
PeakRange searched_range(const AnyNormalizer& normalizer, double n, const ScoreInterval& scores,
                         std::size_t head = 0);

}  // namespace sharpmax::theory
