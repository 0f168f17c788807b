// How much weight each head lays on certain keys from certain rows, without the matrix of all weights.
#pragma once

#include <cstdint>
#include <vector>

#include "audit/measure/head_kind.h"
#include "model/transformer/session.h"

namespace sharpmax::audit {

// Looks on while a session reads. Rows of positions first .. end - 1 are watched; what they lay on the item's
// keys is kept.
struct WatchedRows {
  std::int64_t first = 0, end = 0;            // positions
  std::int64_t item_begin = 0, item_end = 0;  // keys
};
class ItemAttention : public model::AttentionObserver {
 public:
  ItemAttention(std::int64_t layers, std::int64_t heads);

  // What is watched from now on; forgets the sums.
  void watch(const WatchedRows& rows);

  // [layer, head], of the rows watched since: mean over rows of the weight on the item's tokens.
  std::vector<double> item_weight() const;
  // [layer, head]: share of rows whose heaviest key is one of the item's tokens.
  std::vector<double> item_first() const;
  // [layer, head]: means over rows of what a head's kind is told by, over the rows with weight outside the
  // first token.
  std::vector<KindSigns> signs() const;
  std::int64_t rows() const noexcept { return rows_; }  // of one head

  const RowStatistics* wanted(const model::AttentionBlock&) override { return nullptr; }
  void seen(const model::AttentionBlock& block) override;

 private:
  void watch_row(const model::AttentionBlock& block, std::int64_t row);

  std::int64_t heads_;
  WatchedRows watched_;
  std::int64_t rows_ = 0;
  std::vector<double> weight_, first_;  // [layer, head], sums
  std::vector<KindSigns> signs_;        // likewise
  std::vector<double> mass_;            // [head, key] of one row
  std::vector<float> out_;
};

}  // namespace sharpmax::audit
