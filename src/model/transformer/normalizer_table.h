// Which normalizer each head of each layer runs under.
#pragma once

#include <cstdint>
#include <vector>

#include "sharpmax/normalizer.h"

namespace sharpmax::model {

class NormalizerTable {
 public:
  // The same for every layer; parameters with one value a head are dealt out to the heads.
  NormalizerTable(std::int64_t layers, std::int64_t heads, const AnyNormalizer& normalizer);

  std::int64_t layers() const noexcept { return layers_; }
  std::int64_t heads() const noexcept { return heads_; }
  const AnyNormalizer& at(std::int64_t layer, std::int64_t head) const { return cells_[index(layer, head)]; }
  // Error{bad_argument} for a head that is not there, or parameters with more than one value.
  void set(std::int64_t layer, std::int64_t head, const AnyNormalizer& normalizer);
  // Parameters may have one value a head.
  void set_layer(std::int64_t layer, const AnyNormalizer& normalizer);
  bool operator==(const NormalizerTable&) const = default;

 private:
  std::size_t index(std::int64_t layer, std::int64_t head) const {
    return static_cast<std::size_t>(layer * heads_ + head);
  }
  std::int64_t layers_, heads_;
  std::vector<AnyNormalizer> cells_;
};

// Heads that one call of attend() can serve: they lie side by side, share keys evenly, and have one
// normalizer.
struct HeadRun {
  std::int64_t first = 0, count = 0;        // query heads
  std::int64_t kv_first = 0, kv_count = 0;  // the key heads that they use
  AnyNormalizer normalizer;
};
std::vector<HeadRun> head_runs(const NormalizerTable& table, std::int64_t layer, std::int64_t kv_heads);

}  // namespace sharpmax::model
