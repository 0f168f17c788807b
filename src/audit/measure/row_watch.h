// What an audit keeps of one row of attention.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/architecture/configuration.h"
#include "model/transformer/session.h"
#include "sharpmax/audit.h"

namespace sharpmax::audit {

inline constexpr std::size_t kRowFields = kPlainFields + kGapOctaves.size();  // RowField, in order
inline constexpr std::int64_t kTopKeys = 8;
inline constexpr std::int64_t kNear = 32;

// Rows of every head at the same places of one excerpt.
struct KeptRows {
  std::vector<std::int64_t> positions;  // of the queries, ascending
  std::vector<float> values;            // [layer, head, row, field]

  const float* row(std::int64_t heads, std::int64_t layer, std::int64_t head, std::size_t i) const {
    const std::size_t place = static_cast<std::size_t>(layer * heads + head) * positions.size() + i;
    return values.data() + place * kRowFields;
  }
  bool operator==(const KeptRows&) const = default;
};

// Looks on while a model reads an excerpt, and keeps what the picked rows of every head say of themselves.

class RowWatch final : public model::AttentionObserver {
 public:
  // `wanted[i]`: positions of the queries to keep, ascending, for the i-th length. Blocks hold at most
  // `block` tokens.
  RowWatch(const model::Configuration& configuration, std::int64_t block,
           std::vector<std::vector<std::int64_t>> wanted);

  const RowStatistics* wanted(const model::AttentionBlock& block) override;
  void seen(const model::AttentionBlock& block) override;

  // What was kept for the i-th length, once every layer has seen its last position.
  const KeptRows& kept(std::size_t i) const { return kept_[i]; }
  KeptRows take(std::size_t i) { return std::move(kept_[i]); }

 private:
  bool in(const KeptRows& kept, const model::AttentionBlock& block) const;
  void keep(const model::AttentionBlock& block, KeptRows& kept);
  // Fields of one row of the block's statistics.
  void fields_of(std::int64_t head, std::int64_t query, std::int64_t position, float* out) const;

  std::int64_t heads_, block_;
  std::vector<KeptRows> kept_;
  RowStatistics views_;
  std::vector<double> doubles_;
  std::vector<std::int64_t> integers_;
};

}  // namespace sharpmax::audit
