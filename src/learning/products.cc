#include "learning/products.h"

#include <algorithm>
#include <cstring>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "learning/products.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sharpmax::learning {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
constexpr std::size_t kLanes = hn::MaxLanes(Tag());
constexpr std::size_t kRows = 6;
// Accumulators are 6 rows x kVectors: 24 of 32 registers, or 12 of 16.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM
constexpr std::size_t kVectors = 4;
#else
constexpr std::size_t kVectors = 2;
#endif
constexpr std::size_t kPanel = kVectors * kLanes;
constexpr std::size_t kDepth = 128;  // of the inner dimension at a time: a panel of it stays in the first cache

#define SHARPMAX_UNROLL _Pragma("GCC unroll 16")

std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }
std::size_t PanelsOf(std::size_t columns) { return (columns + kPanel - 1) / kPanel; }
std::size_t PackedSize(std::size_t inner, std::size_t columns) { return inner * round_up(columns, kPanel); }

// Layout: [block of kDepth][panel][k][kPanel].
float* place_of(float* packed, std::size_t block, std::size_t depth, std::size_t panel, std::size_t panels) {
  return packed + block * kDepth * panels * kPanel + panel * depth * kPanel;
}

using Four = hn::CappedTag<float, 4>;

// to[k][j] = from[j][k] for 4 x 4 elements.
HWY_INLINE void TurnFour(const float* HWY_RESTRICT from, std::size_t from_stride, float* HWY_RESTRICT to, std::size_t to_stride) {
#if HWY_TARGET == HWY_SCALAR
  for (std::size_t j = 0; j < 4; ++j)
    for (std::size_t k = 0; k < 4; ++k) to[k * to_stride + j] = from[j * from_stride + k];
#else
  const Four d;
  const hn::RepartitionToWide<Four> wide;
  const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + from_stride), c = hn::LoadU(d, from + 2 * from_stride),
             e = hn::LoadU(d, from + 3 * from_stride);
  const auto low_ab = hn::BitCast(wide, hn::InterleaveLower(d, a, b)), low_ce = hn::BitCast(wide, hn::InterleaveLower(d, c, e));
  const auto high_ab = hn::BitCast(wide, hn::InterleaveUpper(d, a, b)), high_ce = hn::BitCast(wide, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(wide, low_ab, low_ce)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(wide, low_ab, low_ce)), d, to + to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(wide, high_ab, high_ce)), d, to + 2 * to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(wide, high_ab, high_ce)), d, to + 3 * to_stride);
#endif
}

// A panel of `depth` rows out of memory that holds columns.
void TurnPanel(const float* from, std::size_t from_stride, std::size_t count, std::size_t depth, float* to) {
  const std::size_t whole_columns = count / 4 * 4, whole_depth = depth / 4 * 4;
  for (std::size_t j = 0; j < whole_columns; j += 4)
    for (std::size_t k = 0; k < whole_depth; k += 4) TurnFour(from + j * from_stride + k, from_stride, to + k * kPanel + j, kPanel);
  for (std::size_t j = 0; j < count; ++j)
    for (std::size_t k = j < whole_columns ? whole_depth : 0; k < depth; ++k) to[k * kPanel + j] = from[j * from_stride + k];
}

// memcpy of a length that the compiler knows, if all are there.
template <std::size_t kAll>
HWY_INLINE void copy_upto(const float* from, std::size_t count, float* to) {
  if (count == kAll)
    std::memcpy(to, from, kAll * sizeof(float));
  else
    std::memcpy(to, from, count * sizeof(float));
}

void PackPanels(const Operand& right, std::size_t inner, std::size_t columns, std::size_t first, std::size_t end, float* packed) {
  const std::size_t panels = PanelsOf(columns);
  for (std::size_t begin = 0; begin < inner; begin += kDepth) {
    const std::size_t depth = std::min(kDepth, inner - begin);
    for (std::size_t panel = first; panel < end; ++panel) {
      float* const to = place_of(packed, begin / kDepth, depth, panel, panels);
      const std::size_t column = panel * kPanel, count = std::min(kPanel, columns - column);
      const float* const from = right.data + begin * right.row + column * right.column;
      if (count < kPanel) std::memset(to, 0, depth * kPanel * sizeof(float));
      if (right.column == 1) {
        for (std::size_t k = 0; k < depth; ++k) copy_upto<kPanel>(from + k * right.row, count, to + k * kPanel);
      } else {
        TurnPanel(from, right.column, count, depth, to);
      }
    }
  }
}

// kCount rows of one panel. a: element (r, k) at r * row + k * column.
template <std::size_t kCount, std::size_t kWide>
HWY_INLINE void Tile(const Operand& a, const float* HWY_RESTRICT b, std::size_t depth, bool adds, float* HWY_RESTRICT c,
                     std::size_t stride) {
  const Tag d;
  hn::Vec<Tag> sum[kCount][kWide];
  SHARPMAX_UNROLL
  for (std::size_t r = 0; r < kCount; ++r) {
    SHARPMAX_UNROLL
    for (std::size_t v = 0; v < kWide; ++v) sum[r][v] = hn::Zero(d);
  }
  const float* left = a.data;
  for (std::size_t k = 0; k < depth; ++k) {
    hn::Vec<Tag> of_b[kWide];
    SHARPMAX_UNROLL
    for (std::size_t v = 0; v < kWide; ++v) of_b[v] = hn::LoadU(d, b + v * kLanes);
    SHARPMAX_UNROLL
    for (std::size_t r = 0; r < kCount; ++r) {
      const auto x = hn::Set(d, left[r * a.row]);
      SHARPMAX_UNROLL
      for (std::size_t v = 0; v < kWide; ++v) sum[r][v] = hn::MulAdd(x, of_b[v], sum[r][v]);
    }
    left += a.column;
    b += kPanel;
  }
  SHARPMAX_UNROLL
  for (std::size_t r = 0; r < kCount; ++r) {
    SHARPMAX_UNROLL
    for (std::size_t v = 0; v < kWide; ++v) {
      float* const at = c + r * stride + v * kLanes;
      hn::StoreU(adds ? hn::Add(hn::LoadU(d, at), sum[r][v]) : sum[r][v], d, at);
    }
  }
}

template <std::size_t kCount>
HWY_INLINE void WideTile(const Operand& a, const float* b, std::size_t depth, bool adds, float* c, std::size_t stride,
                         std::size_t columns) {
  if (columns == kPanel) return Tile<kCount, kVectors>(a, b, depth, adds, c, stride);
  float whole[kCount * kPanel];  // the last panel is not whole
  for (std::size_t r = 0; r < kCount; ++r) std::copy_n(c + r * stride, adds ? columns : 0, whole + r * kPanel);
  if (columns <= kLanes)
    Tile<kCount, 1>(a, b, depth, adds, whole, kPanel);
  else
    Tile<kCount, kVectors>(a, b, depth, adds, whole, kPanel);
  for (std::size_t r = 0; r < kCount; ++r) std::copy_n(whole + r * kPanel, columns, c + r * stride);
}

HWY_NOINLINE void SomeRows(std::size_t rows, const Operand& a, const float* b, std::size_t depth, bool adds, float* c, std::size_t stride,
                           std::size_t columns) {
  switch (rows) {
    case 6: return WideTile<6>(a, b, depth, adds, c, stride, columns);
    case 5: return WideTile<5>(a, b, depth, adds, c, stride, columns);
    case 4: return WideTile<4>(a, b, depth, adds, c, stride, columns);
    case 3: return WideTile<3>(a, b, depth, adds, c, stride, columns);
    case 2: return WideTile<2>(a, b, depth, adds, c, stride, columns);
    default: return WideTile<1>(a, b, depth, adds, c, stride, columns);
  }
}

// Strips of kRows rows whose elements lie together, if the memory of the left operand holds columns.
void PackStrips(const Operand& left, std::size_t rows, std::size_t depth, float* strips) {
  for (std::size_t r = 0; r < rows; r += kRows) {
    const std::size_t count = std::min(kRows, rows - r);
    for (std::size_t k = 0; k < depth; ++k) copy_upto<kRows>(left.data + r + k * left.column, count, strips + k * kRows);
    strips += depth * kRows;
  }
}

void MultiplyRows(const ProductRows& p) {
  const std::size_t panels = PanelsOf(p.columns);
  const bool strips = p.left.row == 1 && p.left.column != 1;
  static thread_local std::vector<float> packed;
  if (strips) packed.resize(std::max(packed.size(), round_up(p.rows, kRows) * kDepth));
  for (std::size_t begin = 0; begin < p.inner; begin += kDepth) {
    const std::size_t depth = std::min(kDepth, p.inner - begin);
    const Operand block{p.left.data + begin * p.left.column, p.left.row, p.left.column};
    if (strips) PackStrips(block, p.rows, depth, packed.data());
    for (std::size_t panel = 0; panel < panels; ++panel) {
      const float* const b = place_of(const_cast<float*>(p.packed), begin / kDepth, depth, panel, panels);
      const std::size_t column = panel * kPanel, count = std::min(kPanel, p.columns - column);
      for (std::size_t r = 0; r < p.rows; r += kRows) {
        const Operand a = strips ? Operand{packed.data() + r * depth, 1, kRows} : Operand{block.data + r * block.row, block.row, block.column};
        SomeRows(std::min(kRows, p.rows - r), a, b, depth, p.adds || begin > 0, p.c + r * p.stride + column, p.stride, count);
      }
    }
  }
  if (p.inner == 0 && !p.adds)
    for (std::size_t r = 0; r < p.rows; ++r) std::fill_n(p.c + r * p.stride, p.columns, 0.0f);
}

#undef SHARPMAX_UNROLL

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax::learning
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sharpmax::learning {

HWY_EXPORT(PackedSize);
HWY_EXPORT(PanelsOf);
HWY_EXPORT(PackPanels);
HWY_EXPORT(MultiplyRows);

std::size_t packed_size(std::size_t inner, std::size_t columns) { return HWY_DYNAMIC_DISPATCH(PackedSize)(inner, columns); }
std::size_t panels_of(std::size_t columns) { return HWY_DYNAMIC_DISPATCH(PanelsOf)(columns); }
void pack_panels(const Operand& right, std::size_t inner, std::size_t columns, std::size_t first, std::size_t end, float* packed) {
  HWY_DYNAMIC_DISPATCH(PackPanels)(right, inner, columns, first, end, packed);
}
void multiply_rows(const ProductRows& product) { HWY_DYNAMIC_DISPATCH(MultiplyRows)(product); }

}  // namespace sharpmax::learning
#endif  // HWY_ONCE
