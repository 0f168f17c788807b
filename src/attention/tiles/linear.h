// `linear` by running state: with phi = elu + 1, the rows that see the same keys share S = sum of phi(k) v^T and
// z = sum of phi(k), and a row is phi(q) S / phi(q) z. Keys come in chunks. A row meets the chunk in which its keys end
// score by score, and all chunks before by their state.
//
// Backward, with m = phi(q) z, o the row's output and D = dO . o:
//   dphi(q) = (S dO - z D) / m
//   dphi(k) = H v - h, dv = H^T phi(k), where H = sum of phi(q) dO^T / m and h = sum of phi(q) D / m over the rows that see k
// so that one walk over the chunks has S and z, and one in reverse has H and h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attention/rows/call.h"
#include "attention/tiles/block.h"

namespace sharpmax {

// Keys, and rows, of a chunk. A multiple of every vector length.
inline constexpr std::size_t kLinearChunk = 64;

// The memory of one thread. `d`: features in whole vectors, `v`: value features, c: kLinearChunk.
struct LinearScratch {
  float* keys = nullptr;        // [c][d], phi
  float* keys_turned = nullptr;  // [d][c]
  float* values = nullptr;      // [c][v]
  float* queries = nullptr;     // [c][d], phi
  float* scores = nullptr;      // [row][key]: phi(q) . phi(k), 0 where a row does not see a key
  float* out = nullptr;         // [row][v]
  float* state = nullptr;       // [d][v]: S, then H
  float* mass = nullptr;        // [d]: z, then h
  // Backward only.
  float* values_turned = nullptr;  // [v][c]
  float* d_out = nullptr;          // [c][v]
  float* d_scores = nullptr;       // [row][key]
  float* d_queries = nullptr;      // [row][d]
  float* d_keys = nullptr;         // [c][d]
  float* d_values = nullptr;       // [c][v]
  float* state_turned = nullptr;   // [v][d]
  float* row_scales = nullptr;     // [head of the group][query]: 1 / m
  float* row_means = nullptr;      // likewise: D
};

struct LinearItem {
  const Segment* segment = nullptr;
  std::int64_t kv_head = 0;
};

// Every row of the item. `outcome`: this thread's.
void linear_forward(const ForwardJob& job, const LinearItem& item, const LinearScratch& scratch, RowOutcome& outcome);
// Gradients of the item's queries, keys and values. They have been cleared.
void linear_backward(const BackwardCall& call, const LinearItem& item, const LinearScratch& scratch);

}  // namespace sharpmax
