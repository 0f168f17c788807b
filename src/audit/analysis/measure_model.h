// From a model to sums per head: one block of rows at a time, all heads of a layer together.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "audit/analysis/row_geometry.h"
#include "audit/analysis/settings.h"
#include "audit/measure/findings.h"
#include "model/transformer/session.h"

namespace sharpmax::audit {

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

// Consecutive chunks from the start of the text, fewer where there is less (fitted()). Each is read from an
// empty cache, all of it as one block: the session must have blocks and room of at least L tokens, else
// Error{bad_argument}. pause: as in BlockJob.
HeadMeasurements measure_heads(model::Session& session, const AnalyzedText& text,
                               const AnalysisSettings& settings, int threads,
                               const AnalysisProgress& progress = {},
                               const std::function<void()>& pause = {});

}  // namespace sharpmax::audit
