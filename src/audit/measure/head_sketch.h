// What every head does with one short excerpt, small enough to be looked at: a coarse map of its weights, the
// heaviest keys of a few queries, and the scores of the last one.
//
// Weights are as attend() used them: under normalizers whose weights sum to one, so does every row of a map.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/transformer/session.h"

namespace sharpmax::audit {

inline constexpr std::int64_t kSketchTokens = 512;    // unless told
inline constexpr std::int64_t kSketchMap = 48;        // cells each way; as many as there are tokens if fewer
inline constexpr std::int64_t kSketchKeys = 5;        // of a row, the heaviest
inline constexpr std::int64_t kSketchQuantiles = 65;  // of the last row's scores

struct HeadSketch {
  // [row, column]: over the queries of block r the mean of the weight that lies on the keys of block c. Block
  // i of S holds tokens ceil(i n / S) to ceil((i + 1) n / S) - 1.
  std::vector<double> map;
  // [row, kSketchKeys], heaviest first; a row with fewer keys ends in key -1 and weight 0.
  std::vector<std::int64_t> top_keys;
  std::vector<double> top_weights;
  // Of the last query: how many keys it sees, and kSketchQuantiles quantiles of their scores, evenly spaced
  // from the least to the largest, as the normalizer gets them.
  std::int64_t keys = 0;
  std::vector<double> scores;
};

struct Sketches {
  std::vector<model::Token> tokens;  // the excerpt
  std::int64_t map_size = 0;
  std::vector<std::int64_t> rows;  // positions of the queries, ascending
  std::int64_t heads_per_layer = 0;
  std::vector<HeadSketch> heads;  // layer by layer
};

// Queries that are looked at, spread over n tokens and denser towards the end; the last is n - 1.
std::vector<std::int64_t> sketched_rows(std::int64_t n);

// Reads the excerpt from an empty cache in one block: Error{bad_argument} where the session's is shorter.
Sketches sketch_heads(model::Session& session, std::span<const model::Token> excerpt);

}  // namespace sharpmax::audit
