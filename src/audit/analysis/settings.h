// What paper B's analyses are told. The defaults are the authors' (arXiv 2508.17821), where they are known.
#pragma once

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "audit/analysis/row_geometry.h"

namespace sharpmax::audit {

enum class Analysis { distance_length, distance_top, critical_top, separability, gradient };
inline constexpr Analysis kAnalyses[] = {Analysis::distance_length, Analysis::distance_top,
                                         Analysis::critical_top, Analysis::separability, Analysis::gradient};
std::string_view name_of(Analysis analysis);  // "distance-length"
// "all", or names joined by commas. Error{bad_argument} names what there is.
std::vector<Analysis> parse_analyses(std::string_view text);

// Which vectors x the weights are put on. The paper does not say.
enum class Vectors {
  values,  // the head's value vectors
  hidden,  // what entered the layer, before its norm
};
std::string_view name_of(Vectors vectors);

// Which reading of the distance is judged; both are measured.
enum class Reading {
  sum,   // sum over the keys left out of |s - y_i|
  norm,  // |sum over the keys left out of y_i - s|
};
std::string_view name_of(Reading reading);

struct AnalysisSettings {
  std::vector<Analysis> analyses{std::begin(kAnalyses), std::end(kAnalyses)};
  Vectors vectors = Vectors::values;
  Reading reading = Reading::sum;
  std::int64_t length = 1024;  // L, tokens of a chunk of the text
  std::int64_t chunks = 1;     // consecutive ones, each read from an empty cache; rows of all are averaged
  std::vector<std::int64_t> lengths = {32,  64,  128,
                                       256, 512, 1024};  // distance-length: the first so many rows
  std::int64_t length_top = 5;                           // its N
  std::vector<std::int64_t> tops = {1, 5, 10, 20, 100};  // distance-top: N
  std::int64_t critical_most = 100;                      // critical-top: N from 1 to this
  std::vector<std::int64_t> critical_lengths = {64, 128, 256, 512, 1024};
  double level = 0.01;
  std::int64_t subset_heads = 144, subsets = 25;
  std::vector<std::int64_t> separability_tops = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100};
  GradientPlan gradient = {{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10}, {1e-3, 1e-1, 10}};
  int draws = 1;  // random selections a row
  std::uint64_t seed = 1;

  bool wants(Analysis analysis) const;
};

// Error{bad_argument} for what cannot be: no analysis, N or lengths below 1, a level outside of (0, 1) ...
void check(const AnalysisSettings& settings);

struct TextSize {
  std::int64_t tokens = 0;
  std::int64_t before = 0;  // tokens that go before every chunk and count
};
// The same with what a text allows: a shorter L, lengths up to it, N below it. What was given up is said in
// `notes`, a sentence each. Error{bad_argument} where nothing is left.
AnalysisSettings fitted(AnalysisSettings settings, const TextSize& text, std::vector<std::string>& notes);

// The N that critical-top tries: every one up to 100, beyond that in steps of 2 %.
std::vector<std::int64_t> tried_tops(std::int64_t most);

// What one pass over the rows has to measure for all analyses that are wanted.
struct RowPlan {
  std::vector<std::int64_t> lengths;  // ascending; the last is L
  DistancePlan distances;             // no N: none is wanted
  std::int64_t common_from = 0;       // rows from here on leave keys out at every N of settings.tops
  std::vector<std::int64_t> separability_tops;
  GradientPlan gradient;
  std::uint64_t seed = 1;
};
RowPlan plan_of(const AnalysisSettings& settings);

}  // namespace sharpmax::audit
