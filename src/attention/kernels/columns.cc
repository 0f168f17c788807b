#include "attention/kernels/columns.h"

#include <algorithm>

namespace sharpmax {
namespace {

// Which of `cells` blocks of `count` items item i falls in: block r is [ceil(r count / cells), ...).
std::int64_t cell_of(std::int64_t i, std::int64_t count, std::int64_t cells) {
  return static_cast<std::int64_t>(static_cast<__int128>(i) * cells / count);
}

}  // namespace

std::int64_t ColumnStatistics::map_row(std::int64_t query) const noexcept {
  if (!statistics_.map.present()) return 0;
  return cell_of(query, queries_, statistics_.map.shape[2]);
}

void ColumnStatistics::add(std::int64_t batch, std::int64_t head, std::int64_t query, std::int64_t first_key,
                           const ScoreRow& weights, float scale) {
  const std::int64_t row = map_row(query);
  if (batch != batch_ || head != head_ || row != row_) {
    flush();
    batch_ = batch, head_ = head, row_ = row;
    touched_begin_ = keys_, touched_end_ = 0;
  }
  std::int64_t key = first_key;
  for (std::size_t c = 0; c < weights.chunks && key < keys_; ++c) {
    const float* chunk = weights.data + c * weights.stride;
    const auto count = std::min<std::int64_t>(static_cast<std::int64_t>(weights.lanes), keys_ - key);
    for (std::int64_t l = 0; l < count; ++l) {
      sums_[static_cast<std::size_t>(key + l)] += static_cast<double>(scale * chunk[l]);
    }
    key += count;
  }
  touched_begin_ = std::min(touched_begin_, first_key);
  touched_end_ = std::max(touched_end_, key);
}

void ColumnStatistics::flush() {
  for (std::int64_t key = touched_begin_; key < touched_end_; ++key) {
    double& sum = sums_[static_cast<std::size_t>(key)];
    if (statistics_.column_mass.present()) statistics_.column_mass(batch_, head_, key) += sum;
    if (statistics_.map.present()) {
      statistics_.map(batch_, head_, row_, cell_of(key, keys_, statistics_.map.shape[3])) += sum;
    }
    sum = 0.0;
  }
  touched_begin_ = keys_, touched_end_ = 0;
}

void clear_columns(const RowStatistics& statistics) {
  const auto& mass = statistics.column_mass;
  if (mass.present()) {
    for (std::int64_t b = 0; b < mass.shape[0]; ++b)
      for (std::int64_t h = 0; h < mass.shape[1]; ++h)
        for (std::int64_t k = 0; k < mass.shape[2]; ++k) mass(b, h, k) = 0.0;
  }
  const auto& map = statistics.map;
  if (map.present()) {
    for (std::int64_t b = 0; b < map.shape[0]; ++b)
      for (std::int64_t h = 0; h < map.shape[1]; ++h)
        for (std::int64_t r = 0; r < map.shape[2]; ++r)
          for (std::int64_t c = 0; c < map.shape[3]; ++c) map(b, h, r, c) = 0.0;
  }
}

}  // namespace sharpmax
