// A row of scores of each arm, small enough to be kept: what the report's playground starts from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "retrieval/run/run.h"

namespace sharpmax::retrieval {

// At most so many numbers stand for a row. Odd, so that the median is one of them.
constexpr std::size_t kQuantiles = 65;

// `count` values evenly spaced over the sorted scores, the least and the largest among them, linear between
// two scores; all of the scores, sorted, if there are no more. Scores must not be empty.
std::vector<double> even_quantiles(std::vector<double> scores, std::size_t count);

// The first test set at the largest size, of the first seed of each arm.
std::vector<ScoreRow> score_rows(std::span<const TestedHead> heads, const TestSettings& test);

}  // namespace sharpmax::retrieval
