// From a model to sums per head: one block of rows at a time, all heads of a layer together.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "audit/analysis/row_geometry.h"
#include "audit/measure/findings.h"
#include "model/transformer/session.h"
#include "sharpmax/analysis.h"

namespace sharpmax::audit {

// Settings of paper B's analyses. The defaults are the authors' (arXiv 2508.17821), if they are known.

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
// `notes`, a sentence each. Error{bad_argument} if nothing is left.
AnalysisSettings fitted(AnalysisSettings settings, const TextSize& text, std::vector<std::string>& notes);

// The N that critical-top tries: every one up to 100, beyond that in steps of 2 %.
std::vector<std::int64_t> tried_tops(std::int64_t most);

// What one pass over the rows has to measure for all requested analyses.
struct RowPlan {
  std::vector<std::int64_t> lengths;  // ascending; the last is L
  DistancePlan distances;             // no N: none is measured
  std::int64_t common_from = 0;       // rows from here on leave keys out at every N of settings.tops
  std::vector<std::int64_t> separability_tops;
  GradientPlan gradient;
  std::uint64_t seed = 1;
};
RowPlan plan_of(const AnalysisSettings& settings);

// What was measured of one head, summed over rows; and the means.

// Sums over some rows of one head.
struct RowSums {
  std::vector<Distances> distances;         // [top of plan.distances]
  std::vector<std::int64_t> distance_rows;  // [top] rows that leave a key out
  std::vector<Separability> separability;   // [top of plan.separability_tops]
  std::vector<std::int64_t> separability_rows;
  std::vector<double> gradient;  // [temperature, step]
  std::int64_t gradient_rows = 0;

  explicit RowSums(const RowPlan& plan);
  RowSums& operator+=(const RowSums& other);
};

// All rows of a head.
struct HeadSums {
  HeadPlace place;
  std::vector<RowSums> by_length;  // [length of the plan] rows below it
  RowSums common;                  // rows from plan.common_from on

  HeadSums(const HeadPlace& at, const RowPlan& plan);
};

// A run of rows, cut so that no length of the plan falls within.
struct Piece {
  std::int64_t first = 0, rows = 0;
};
std::vector<Piece> pieces_of(const RowPlan& plan);

// Adds what pieces gave, in their order: [piece], as pieces_of() cuts.
void add_pieces(const RowPlan& plan, std::span<const Piece> pieces, std::span<const RowSums> sums,
                HeadSums& head);

// The mean over the rows that there were; NaN of none.
Distances mean_distance(const RowSums& sums, std::size_t top);
Separability mean_separability(const RowSums& sums, std::size_t top);
double mean_gradient(const RowSums& sums, std::size_t at);

// All rows of some heads of one layer: scores and weights again from queries and keys, in double, and
// everything that the plan wants of them. n x n memory for the products of the vectors x, of one key head at
// a time.

struct BlockJob {
  const RowPlan* plan = nullptr;
  Vectors vectors = Vectors::values;
  std::int64_t chunk = 0;  // of the text: random numbers are its own
  int threads = 1;
  std::function<void()> pause;  // between pieces of work, on any thread; it may throw to end the analysis
};

// Adds to heads[0 .. block.heads). The block must hold all tokens of the plan's L and begin at position 0.
// Bitwise the same for any number of threads.
void analyze_block(const model::AttentionBlock& block, const BlockJob& job, std::span<HeadSums> heads);

// Runs a model over a text and measures every head: what all of paper B's analyses are made of.

struct HeadMeasurements {
  AnalysisSettings settings;  // as they were used
  RowPlan plan;
  std::vector<HeadSums> heads;     // by layer, then head
  bool plain_softmax = true;       // every head runs under softmax at temperature 1
  std::vector<std::string> notes;  // what the text did not allow, a sentence each
};

// How much is done, from 0 to 1.
using AnalysisProgress = std::function<void(double done)>;

struct AnalyzedText {
  std::span<const model::Token> tokens;
  std::optional<model::Token> begin;  // goes before every chunk; L counts it
};

// Consecutive chunks from the start of the text, fewer if there is less (fitted()). Each is read from an
// empty cache, all of it as one block: the session must have blocks and room of at least L tokens, else
// Error{bad_argument}. pause: as in BlockJob.
HeadMeasurements measure_heads(model::Session& session, const AnalyzedText& text,
                               const AnalysisSettings& settings, int threads,
                               const AnalysisProgress& progress = {},
                               const std::function<void()>& pause = {});

// What was measured of all heads, as curves: a spread over heads at every L, N or temperature.

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

// Critical N: from which N on a Kolmogorov-Smirnov test over the heads' mean distances no longer separates the N
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

// Which of paper B's findings hold on what was measured, by rules that are fixed here and not by eye.

// A straight line through logarithms: y = factor x^exponent.
struct PowerLaw {
  double exponent = 0.0;  // NaN for fewer than two points, or a value that is not positive
  double r2 = 0.0;        // share of the variance of ln y that it explains
};
PowerLaw fit_power_law(const std::vector<double>& x, const std::vector<double>& y);

// Findings of the analyses that were asked for, in the order of the paper. `critical`: against keys drawn, by the reading
// of the settings.
std::vector<PaperFinding> paper_findings(const HeadMeasurements& found,
                                         const std::vector<CriticalAtLength>& critical);

// The section "analysis" of schema sharpmax.audit/1: everything that paper B's analyses measured.

// Numbers are rounded to six digits.
AnalysisFindings findings_of(const HeadMeasurements& found);

Json to_json(const AnalysisFindings& findings);
// Throws Error{bad_file} for curves that do not fit together, and JSON's exceptions.
AnalysisFindings analysis_findings_in(const Json& json);

}  // namespace sharpmax::audit
