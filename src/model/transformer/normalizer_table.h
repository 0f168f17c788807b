// The normalizer that each head of each layer runs under.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string_view>
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
  // Error{bad_argument} for a head out of range, or parameters with more than one value.
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
// normalizer, whose parameters may differ from head to head.
struct HeadRun {
  std::int64_t first = 0, count = 0;        // query heads
  std::int64_t kv_first = 0, kv_count = 0;  // the key heads that they use
  AnyNormalizer normalizer;
};
// The normalizer of heads [first, end) of a layer, which differ in numbers alone: numbers that differ are given head by head.
AnyNormalizer normalizer_of_heads(const NormalizerTable& table, std::int64_t layer, std::int64_t first, std::int64_t end);
std::vector<HeadRun> head_runs(const NormalizerTable& table, std::int64_t layer, std::int64_t kv_heads);

// The table of normalizers as JSON, schema sharpmax.normalizers/1:
//
//   {"schema": "sharpmax.normalizers/1", "model": {"layers": 30, "heads": 9}, "default": "softmax",
//    "layers": [{"layer": 4, "normalizer": "ssmax:s=0.4"}],
//    "heads": [{"layer": 0, "head": 3, "normalizer": "entropy_target:nats=1"}]}
//
// Later words are stronger: a head's own, its layer's, the default. "own" is what a head was trained with, and the
// default if there is none. "model" may be left out; if it is there it must be the model's. Anything unknown,
// named twice or not there is refused.

// `name` opens every message. Error{bad_file} says which entry is wrong.
NormalizerTable parse_normalizer_table(std::string_view text, std::string_view name, const NormalizerTable& own);
// Of a model that was trained with softmax.
NormalizerTable parse_normalizer_table(std::string_view text, std::string_view name, std::int64_t layers,
                                       std::int64_t heads);
// The table that keeps every head's own.
nlohmann::ordered_json own_table_json(const NormalizerTable& own);

// The shortest that parses back to the same table.
nlohmann::ordered_json to_json(const NormalizerTable& table);

}  // namespace sharpmax::model
