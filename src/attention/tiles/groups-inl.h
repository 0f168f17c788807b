// Row groups: kTileRows rows of a block at a time, and the panels of keys they see.
#if defined(SHARPMAX_GROUPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_GROUPS_INL_H_
#undef SHARPMAX_GROUPS_INL_H_
#else
#define SHARPMAX_GROUPS_INL_H_
#endif

#include <algorithm>
#include <limits>
#include <utility>

#include "attention/tiles/scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

using PanelRange = std::pair<std::size_t, std::size_t>;  // [first, second)

constexpr std::size_t kBlockPanels = kBlockKeys / kTileKeys;
constexpr std::size_t kMaxGroups = kBlockRows / kTileRows;

// The rows of group g.
HWY_INLINE std::span<BlockRow> GroupOf(std::span<BlockRow> rows, std::size_t g) {
  return rows.subspan(g * kTileRows, std::min(kTileRows, rows.size() - g * kTileRows));
}

using PanelRange = std::pair<std::size_t, std::size_t>;

// Panels that at least one row of the group sees: [first, second).
HWY_INLINE PanelRange VisiblePanels(std::span<const BlockRow> rows) {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = 0;
  for (const BlockRow& row : rows) {
    if (row.begin >= row.end) continue;
    begin = std::min(begin, row.begin);
    end = std::max(end, row.end);
  }
  if (begin >= end) return {0, 0};
  return {static_cast<std::size_t>(begin) / kTileKeys, (static_cast<std::size_t>(end) + kTileKeys - 1) / kTileKeys};
}

// The panels every group sees, and those that the whole block does.
HWY_INLINE PanelRange SeeBlock(std::span<BlockRow> rows, PanelRange* visible) {
  PanelRange all{std::numeric_limits<std::size_t>::max(), 0};
  for (std::size_t g = 0; g * kTileRows < rows.size(); ++g) {
    visible[g] = VisiblePanels(GroupOf(rows, g));
    if (visible[g].first == visible[g].second) continue;
    all.first = std::min(all.first, visible[g].first);
    all.second = std::max(all.second, visible[g].second);
  }
  return all.second == 0 ? PanelRange{0, 0} : all;
}

// out = out * row_scale + weights . values over panels [first_panel, first_panel + tiles).
HWY_INLINE void FoldGroup(const float* weights, std::size_t tiles, std::size_t first_panel, std::size_t padded,
                          const float* values, std::size_t features, const float* row_scale, float* out,
                          std::size_t out_stride) {
  const std::size_t columns = (features + kTileKeys - 1) / kTileKeys;
  for (std::size_t c = 0; c < columns; ++c) {
    const float* panel = values + c * padded * kTileKeys;
    if (ColumnVectors(features, c) == 2) {
      FoldTiles<2>(weights, tiles, panel + first_panel * kTileKeys * 2 * kLanes, row_scale, out + c * kTileKeys,
                   out_stride);
    } else {
      FoldTiles<1>(weights, tiles, panel + first_panel * kTileKeys * kLanes, row_scale, out + c * kTileKeys,
                   out_stride);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();

#endif  // SHARPMAX_GROUPS_INL_H_
