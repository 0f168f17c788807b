// The parts of peak_range(): the formula a row follows, and the ranges that no line of peak_range.cc holds.
#pragma once

#include "normalizer/definition.h"
#include "theory/peak_range.h"

namespace sharpmax::theory {

// Which formula the rows of a normalizer follow.

// The kernels' rule at n keys, but by shape: rows that have no kernel of their own, for a negative beta or an
// alpha close to 1, are told as what they are. RuleKind::specification: a member of unknown shape.
Rule shape_of(const AnyNormalizer& normalizer, const HeadParameters& parameters, double n);

// Peak ranges of members that change when all scores move together, one function each; see peak_range.h.

PeakRange sink_range(double c, double n, const ScoreInterval& scores);
PeakRange sigmoid_range(double offset, double n, const ScoreInterval& scores);
PeakRange relu_range(double n, const ScoreInterval& scores);
PeakRange softpick_range(double n, const ScoreInterval& scores);
PeakRange scaled_self_adjust_range(double n, const ScoreInterval& scores);
PeakRange plain_self_adjust_range(double n, const ScoreInterval& scores);
PeakRange stick_breaking_range(double n, const ScoreInterval& scores);

// Peak ranges found by search, where no closed form is known; see peak_range.h.

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
