// Rows of stored weights times a few tokens, without ever writing the weights down as floats.
#if defined(SHARPMAX_PRODUCT_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_PRODUCT_ROWS_INL_H_
#undef SHARPMAX_PRODUCT_ROWS_INL_H_
#else
#define SHARPMAX_PRODUCT_ROWS_INL_H_
#endif

#include <algorithm>

#include "attention/tiles/dot-inl.h"
#include "model/product/kernels.h"
#include "model/product/unpack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax::model {
namespace HWY_NAMESPACE {

// Rows at a time: enough independent sums to hide the latency of an addition, few enough for the registers.
template <std::size_t kTokens>
inline constexpr std::size_t kRowsAtOnce = kTokens <= 2                             ? 4
                                           : kTokens == 4 && HWY_TARGET <= HWY_AVX3 ? 4
                                           : kTokens == 4                           ? 2
                                           : HWY_TARGET <= HWY_AVX3                 ? 2
                                                                                    : 1;

// One token needs two sums a row to hide the latency.
template <std::size_t kRows, std::size_t kTokens>
struct Sums {
  static constexpr std::size_t kWays = kTokens == 1 ? 2 : 1;
  FloatVec at[kRows][kTokens][kWays];
};

// Rows of a group are short and read side by side, which the machine's own prefetching does not see through:
// without this, weights came at a quarter of the memory's speed and generation from SmolLM2 took 1.6 times as
// long. Groups lie one behind the other, so what is ahead will be read; past the end of the weights a
// prefetch does nothing.
template <std::size_t kBytesHere>
HWY_INLINE void PrefetchAhead(const Byte* from) {
  constexpr std::size_t kAhead = 4096, kLine = 64;  // of 1, 2, 4, 8 KB the best

  SHARPMAX_UNROLL
  for (std::size_t at = 0; at < kBytesHere; at += kLine) __builtin_prefetch(from + kAhead + at);
}

// Scales of some rows, where they lie apart.
template <std::size_t kRows>
struct RowScales {
  const StoredScales* all;
  std::int64_t row[kRows];
};

// Adds one block of every row: bytes from `byte` on, the weights of inputs from `element` on, whose scales are those of
// inputs from `scaled` on.
template <class Format, std::size_t kRows, std::size_t kTokens>
HWY_INLINE void AddBlock(const Byte* const (&rows)[kRows], const RowScales<kRows>& scales,
                         const float* const (&in)[kTokens], std::size_t byte, std::size_t element, std::size_t scaled,
                         Sums<kRows, kTokens>& sums) {
  const FloatTag d;
  typename Format::Opened opened[kRows];
  SHARPMAX_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    opened[r] = OpenBlock<Format>(rows[r] + byte, scaled, [&](std::size_t at) {
      return scale_at(*scales.all, scales.row[r], static_cast<std::int64_t>(at));
    });
  }
#pragma GCC unroll 1
  for (std::size_t c = 0; c < Format::kChunks; ++c) {
    SHARPMAX_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      FloatVec w[Format::kVectors];
      Format::Unpack(rows[r] + byte, opened[r], c, w);
      SHARPMAX_UNROLL
      for (std::size_t v = 0; v < Format::kVectors; ++v) {
        SHARPMAX_UNROLL
        for (std::size_t t = 0; t < kTokens; ++t) {
          FloatVec& sum = sums.at[r][t][v % Sums<kRows, kTokens>::kWays];
          const float* x = in[t] + element + Format::Base(c) + Format::Offset(v);
          sum = hn::MulAdd(w[v], hn::LoadU(d, x), sum);
        }
      }
    }
  }
}

// The last block of a row of floats, which may end anywhere: padded with zeros on both sides.
template <class Format, std::size_t kRows, std::size_t kTokens>
HWY_NOINLINE void AddRest(const Byte* const (&rows)[kRows], const RowScales<kRows>& scales,
                          const float* const (&in)[kTokens], std::size_t byte, std::size_t element, std::size_t count,
                          Sums<kRows, kTokens>& sums) {
  HWY_ALIGN Byte weights[kRows][Format::kBytes] = {};
  HWY_ALIGN float x[kTokens][Format::kBlock] = {};
  const Byte* padded_rows[kRows];
  const float* padded_in[kTokens];
  for (std::size_t r = 0; r < kRows; ++r) {
    std::memcpy(weights[r], rows[r] + byte, count * (Format::kBytes / Format::kBlock));
    padded_rows[r] = weights[r];
  }
  for (std::size_t t = 0; t < kTokens; ++t) {
    std::memcpy(x[t], in[t] + element, count * sizeof(float));
    padded_in[t] = x[t];
  }
  AddBlock<Format, kRows, kTokens>(padded_rows, scales, padded_in, 0, 0, element, sums);
}

#if HWY_TARGET != HWY_SCALAR
// The sum of a vector's blocks of four lanes.
template <class D, class V>
HWY_INLINE hn::Vec<hn::Full128<float>> SumOfBlocks(D d, V v) {
  if constexpr (hn::MaxLanes(d) == 4) {
    return v;
  } else {
    const hn::Half<D> half;
    return SumOfBlocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}
#endif

// to[i] = the sum of v[i]'s lanes, for four vectors.
HWY_INLINE void SumFour(const FloatVec* v, float* to) {
#if HWY_TARGET == HWY_SCALAR
  for (std::size_t i = 0; i < 4; ++i) to[i] = hn::GetLane(v[i]);
#else
  const FloatVec four = sharpmax::HWY_NAMESPACE::SumBlocksOfFour(v[0], v[1], v[2], v[3]);
  hn::StoreU(SumOfBlocks(FloatTag(), four), hn::Full128<float>(), to);
#endif
}

// to[t * kRows + r] = row r times token t.
template <class Format, std::size_t kRows, std::size_t kTokens>
HWY_INLINE void DotGroup(const Byte* const (&rows)[kRows], const RowScales<kRows>& scales,
                         const float* const (&in)[kTokens], std::size_t inputs, float* to) {
  using All = Sums<kRows, kTokens>;
  All sums;
  SHARPMAX_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    SHARPMAX_UNROLL
    for (std::size_t t = 0; t < kTokens; ++t) {
      SHARPMAX_UNROLL
      for (std::size_t w = 0; w < All::kWays; ++w) sums.at[r][t][w] = hn::Zero(FloatTag());
    }
  }
  std::size_t byte = 0, element = 0;
#pragma GCC unroll 1
  for (; element + Format::kBlock <= inputs; element += Format::kBlock, byte += Format::kBytes) {
    PrefetchAhead<kRows * Format::kBytes>(rows[0] + byte * kRows);
    AddBlock<Format, kRows, kTokens>(rows, scales, in, byte, element, element, sums);
  }
  if constexpr (Format::kEndsAnywhere) {
    if (element < inputs) AddRest<Format, kRows, kTokens>(rows, scales, in, byte, element, inputs - element, sums);
  }

  FloatVec each[kTokens * kRows];
  SHARPMAX_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    SHARPMAX_UNROLL
    for (std::size_t t = 0; t < kTokens; ++t) {
      each[t * kRows + r] =
          All::kWays == 2 ? hn::Add(sums.at[r][t][0], sums.at[r][t][All::kWays - 1]) : sums.at[r][t][0];
    }
  }
  static_assert(kTokens * kRows % 4 == 0);
  SHARPMAX_UNROLL
  for (std::size_t i = 0; i < kTokens * kRows; i += 4) SumFour(each + i, to + i);
}

// kTokens at least as many as there are: the last token stands in for those that are not, as the last row
// does, so that one kernel serves all.
template <class Format, std::size_t kTokens>
HWY_INLINE void DotRowsOf(const RowDots& dots) {
  constexpr std::size_t kRows = kRowsAtOnce<kTokens>;
  const ProductTerm& term = *dots.term;
  const auto inputs = static_cast<std::size_t>(term.weight.inputs);
  const auto tokens = static_cast<std::size_t>(dots.tokens);
  const std::int64_t row_bytes = bytes_of(term.weight.type, term.weight.inputs);
  const auto* data = reinterpret_cast<const Byte*>(term.weight.data);
  const float* in[kTokens];
  for (std::size_t t = 0; t < kTokens; ++t) {
    in[t] = dots.in + static_cast<std::int64_t>(std::min(t, tokens - 1)) * dots.in_stride;
  }
  for (std::int64_t row = dots.begin; row < dots.end; row += kRows) {
    const Byte* rows[kRows];
    RowScales<kRows> scales{&term.weight.scales, {}};
    for (std::size_t r = 0; r < kRows; ++r) {
      scales.row[r] = std::min(row + static_cast<std::int64_t>(r), dots.end - 1);
      rows[r] = data + scales.row[r] * row_bytes;
    }
    HWY_ALIGN float sums[kTokens * kRows];
    DotGroup<Format, kRows, kTokens>(rows, scales, in, inputs, sums);
    const auto count = static_cast<std::size_t>(std::min<std::int64_t>(kRows, dots.end - row));
    for (std::size_t t = 0; t < tokens; ++t) {
      float* out = term.out + static_cast<std::int64_t>(t) * term.out_stride + row;
      for (std::size_t r = 0; r < count; ++r) {
        out[r] = sums[t * kRows + r] +
                 (term.bias != nullptr ? term.bias[row + static_cast<std::int64_t>(r)] : 0.0f);
      }
    }
  }
}

template <class Format>
HWY_INLINE void DotRows(const RowDots& dots) {
  if (dots.tokens == 1) return DotRowsOf<Format, 1>(dots);
  if (dots.tokens == 2) return DotRowsOf<Format, 2>(dots);
  if (dots.tokens <= 4) return DotRowsOf<Format, 4>(dots);
  return DotRowsOf<Format, kMostShared>(dots);
}

// Rows as whole numbers.
template <class Format>
HWY_INLINE void UnpackWholeRows(const PanelPart& part) {
  const WeightMatrix& weight = *part.weight;
  const std::int64_t row_bytes = bytes_of(weight.type, weight.inputs);
  const std::int64_t skipped = bytes_of(weight.type, part.first);
  for (std::int64_t row = part.begin; row < part.end; ++row) {
    const std::int64_t place = row - part.begin;
    UnpackWholeLine<Format>(reinterpret_cast<const Byte*>(weight.data) + row * row_bytes + skipped,
                            static_cast<std::size_t>(part.count), part.whole->numbers + place * kWholeStride,
                            part.whole->scales + place * kWholeGroups, part.whole->offsets + place * kWholeGroups,
                            [&](std::size_t at) {
                              return scale_at(weight.scales, row, part.first + static_cast<std::int64_t>(at));
                            });
  }
}

// Rows as floats, for many tokens; or as whole numbers.
template <class Format>
HWY_INLINE void UnpackRows(const PanelPart& part) {
  if constexpr (kWhole<Format>) {
    if (part.whole != nullptr) return UnpackWholeRows<Format>(part);
  }
  const WeightMatrix& weight = *part.weight;
  const std::int64_t row_bytes = bytes_of(weight.type, weight.inputs);
  const std::int64_t skipped = bytes_of(weight.type, part.first);
  for (std::int64_t row = part.begin; row < part.end; ++row) {
    UnpackLine<Format>(reinterpret_cast<const Byte*>(weight.data) + row * row_bytes + skipped,
                       static_cast<std::size_t>(part.count), part.to + (row - part.begin) * kPanelStride,
                       [&](std::size_t at) {
                         return scale_at(weight.scales, row, part.first + static_cast<std::int64_t>(at));
                       });
  }
}

// A type and its format; of several the one that the weights have. False: they have none of these.
template <TensorType type, class F>
struct Stored {
  static constexpr TensorType kType = type;
  using Format = F;
};
template <class... Choices>
HWY_INLINE bool DotRowsOfAny(const RowDots& dots) {
  const TensorType type = dots.term->weight.type;
  return ((type == Choices::kType && (DotRows<typename Choices::Format>(dots), true)) || ...);
}
template <class... Choices>
HWY_INLINE bool UnpackRowsOfAny(const PanelPart& part) {
  const TensorType type = part.weight->type;
  return ((type == Choices::kType && (UnpackRows<typename Choices::Format>(part), true)) || ...);
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax::model
HWY_AFTER_NAMESPACE();

#endif  // SHARPMAX_PRODUCT_ROWS_INL_H_
