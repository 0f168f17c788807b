// The backward of one block of queries, for whichever instruction set is in use.
//
// Five products: scores again, dP = dO V^T, then dQ = dS K, dK = dS^T Q, dV = P^T dO. Exponential rules
// with what the forward saved run key block by key block; every other rule keeps the whole rows of
// scores and of dP, and lets the row turn them into weights and score gradients.
#pragma once

#include <span>

#include "attention/kernels/block.h"

namespace sharpmax {

struct BackwardJob {
  const BackwardCall* call = nullptr;
  bool streaming = false;
  bool feature_map = false;
  double scale = 1.0;
  std::size_t parameters = 0;  // gradients wanted; 0: none
  double* d_bias = nullptr;    // dense [batch, head, query, key] of the gradient's own shape; null: not wanted
};

// What a stripe (blocks run in order by one owner) sums into.
struct StripeSums {
  float* d_keys = nullptr;          // [padded key][padded feature]
  float* d_values = nullptr;        // [padded key][padded value_feature]
  double* d_parameters = nullptr;   // [parameter][query head]
};

struct BackwardScratch {
  float* queries = nullptr;           // [group][feature][tile.rows], scaled
  float* d_out = nullptr;             // [group][value_feature][tile.rows]
  float* queries_by_row = nullptr;    // [column panel][row][width], scaled
  float* d_out_by_row = nullptr;      // likewise
  float* d_queries = nullptr;         // [row][padded feature]
  float* weights = nullptr;           // tiles: P
  float* d_scores = nullptr;          // tiles: dP, then dS
  float* slopes = nullptr;            // tiles: of the soft cap; null: there is none
  float* line = nullptr;
  RowWorkspace* rows = nullptr;
};

void backward_block(const BackwardJob& job, const PackedHead& head, std::span<BlockRow> rows,
                    const BackwardScratch& scratch, const StripeSums& sums);

// Writes keys [begin, end) of a head's gradients from `stripes` sums, added in order.
void write_key_gradients(const BackwardJob& job, const PackedHead& head, std::span<const StripeSums> stripes,
                         std::size_t begin, std::size_t end);

}  // namespace sharpmax
