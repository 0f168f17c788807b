// What passes between the drivers (plain C++: plan, threads, workspace) and the kernels of each
// instruction set. Nothing here depends on the vector length but through TileShape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attention/kernels.h"
#include "attention/rows/row.h"
#include "attention/segments.h"
#include "sharpmax/attention.h"

namespace sharpmax {

struct RowWorkspace;  // rows/workspace.h

struct TileShape {
  std::size_t rows;   // queries of a tile
  std::size_t keys;   // keys of a tile: 2 vectors
  std::size_t lanes;  // floats of a vector
};

constexpr std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Keys of a block: weights of a row group against one block stay in L1, the block's keys and values
// in L2. By that reckoning, not by a sweep of sizes.
inline constexpr std::size_t kBlockKeys = 256;
// Rows of a block: how often the keys are streamed through L2. A multiple of every tile height.
inline constexpr std::size_t kBlockRows = 96;
// More parameters than any normalizer has.
inline constexpr std::size_t kMaxParameters = 8;

// One row of a block: one query of one query head, and the keys it may see.
struct BlockRow {
  std::int64_t head = 0;   // query head
  std::int64_t query = 0;  // absolute
  std::int64_t begin = 0;  // visible keys, counted from the segment's first
  std::int64_t end = 0;
  double beta = 1.0;  // folded into the packed query where the rule is known up front
};

// The rule of a row with `keys` unmasked keys. None: a row without keys has no rule to speak of.
inline Rule rule_for(const AnyNormalizer& normalizer, std::int64_t head, std::int64_t keys) {
  if (keys == 0) return {};
  return normalizer.definition().rule(HeadParameters(normalizer.parameters(), static_cast<std::size_t>(head)),
                                      static_cast<double>(keys));
}

// Keys and values of one segment and kv head, packed.
struct PackedHead {
  const Segment* segment = nullptr;
  std::int64_t kv_head = 0;
  std::size_t key_count = 0;
  float* keys = nullptr;            // [panel][feature][tile.keys]
  float* values = nullptr;          // [column panel][panel * tile.keys + key][width]
  float* keys_by_row = nullptr;     // backward: keys packed as values are
  float* values_by_panel = nullptr;  // backward: values packed as keys are
};

// Per-thread scratch, sized by the driver before any block runs.
struct BlockScratch {
  float* queries = nullptr;  // [group][feature][tile.rows]
  float* folded = nullptr;   // [block row][padded value_feature]
  float* tiles = nullptr;    // [group][panel][tile.rows][tile.keys]; one group, one block of keys if streaming
  float* line = nullptr;     // one unpacked row of features for each row or key of a tile
  RowWorkspace* rows = nullptr;
  RowOutcome outcome;  // its arrays point at this thread's buffers
};


}  // namespace sharpmax
