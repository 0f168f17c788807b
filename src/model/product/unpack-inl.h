// Stored weights to vectors of floats, in registers: the blocks of 32 and the float types.
//
// A format has blocks of kBlock weights in kBytes bytes, cut into kChunks chunks of kVectors vectors:
//   Open(block)                    what the whole block needs: its scales
//   Open(block, scale)             the same of formats with kScaled, whose scale lies apart
//   Unpack(block, open, chunk, w)  w[v] = the weights from Base(chunk) + Offset(v) on
// Every value is rounded as dequantize() rounds it, so both give the same bits (up to the sign and payload of
// NaN).
#if defined(SHARPMAX_UNPACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_UNPACK_INL_H_
#undef SHARPMAX_UNPACK_INL_H_
#else
#define SHARPMAX_UNPACK_INL_H_
#endif

#include <algorithm>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "attention/tiles/tile-inl.h"
#include "base/float16.h"
#include "model/tensor/stored_tensor.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax::model {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using sharpmax::HWY_NAMESPACE::FloatTag;
using sharpmax::HWY_NAMESPACE::FloatVec;
using sharpmax::HWY_NAMESPACE::kLanes;

using IntTag = hn::RebindToSigned<FloatTag>;
using IntVec = hn::Vec<IntTag>;
using Byte = std::uint8_t;

// A float16 anywhere, in every lane.
HWY_INLINE FloatVec HalfAt(const Byte* from) {
  std::uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
#if HWY_TARGET <= HWY_AVX2
  const hn::Rebind<std::uint16_t, FloatTag> d16;
  const hn::Rebind<hwy::float16_t, FloatTag> dh;
  return hn::PromoteTo(FloatTag(), hn::BitCast(dh, hn::Set(d16, bits)));
#else  // without F16C Highway's conversion takes inf and NaN for numbers
  return hn::Set(FloatTag(), to_float(float16{bits}));
#endif
}

HWY_INLINE IntVec BytesAt(const Byte* from) {
  return hn::PromoteTo(IntTag(), hn::LoadU(hn::Rebind<std::uint8_t, IntTag>(), from));
}

// From whole numbers to weights: (q - center) scale.
template <int kCenter>
struct Centered {
  FloatVec scale;
  HWY_INLINE FloatVec Of(IntVec q) const {
    if constexpr (kCenter != 0) q = hn::Sub(q, hn::Set(IntTag(), kCenter));
    return hn::Mul(hn::ConvertTo(FloatTag(), q), scale);
  }
};

// q scale + offset, rounded twice.
struct Affine {
  FloatVec scale, offset;
  HWY_INLINE FloatVec Of(IntVec q) const {
    return hn::Add(hn::Mul(hn::ConvertTo(FloatTag(), q), scale), offset);
  }
};

// Scale and offset, two float16 side by side: converted together (a tenth faster than one by one).
HWY_INLINE Affine AffineAt(const Byte* from) {
#if HWY_TARGET <= HWY_AVX2
  const FloatTag d;
  const hn::Full128<float> d4;
  const hn::Full64<hwy::float16_t> dh;
  std::uint32_t bits;
  std::memcpy(&bits, from, sizeof bits);
  const auto pair = hn::PromoteTo(d4, hn::BitCast(dh, hn::Set(hn::Full64<std::uint32_t>(), bits)));
  return {hn::Set(d, hn::GetLane(pair)), hn::Set(d, hn::GetLane(hn::Shuffle2301(pair)))};
#else
  return {HalfAt(from), HalfAt(from + 2)};
#endif
}

// Weights of the low halves of kCount bytes, and of the high ones.
template <std::size_t kCount, class Line>
HWY_INLINE void Nibbles(const Byte* from, const Line& low_line, const Line& high_line, FloatVec* low,
                        FloatVec* high) {
#if HWY_TARGET <= HWY_AVX3
  // Sixteen values fit one register: a permutation looks them up, by the low four bits of each index.
  const IntVec all = hn::Iota(IntTag(), 0);
  const FloatVec low_values = low_line.Of(all), high_values = high_line.Of(all);
  SHARPMAX_UNROLL
  for (std::size_t i = 0; i < kCount / kLanes; ++i) {
    const IntVec q = BytesAt(from + i * kLanes);
    low[i] = hn::TableLookupLanes(low_values, hn::Indices512<float>{q.raw});
    high[i] = hn::TableLookupLanes(high_values, hn::Indices512<float>{hn::ShiftRight<4>(q).raw});
  }
#else
  const IntVec mask = hn::Set(IntTag(), 15);
  SHARPMAX_UNROLL
  for (std::size_t i = 0; i < kCount / kLanes; ++i) {
    const IntVec q = BytesAt(from + i * kLanes);
    low[i] = low_line.Of(hn::And(q, mask));
    high[i] = high_line.Of(hn::ShiftRight<4>(q));
  }
#endif
}

// The same with a fifth bit each, from bits 0 .. 31 of the word at `high_bits`.
template <class Line>
HWY_INLINE void NibblesWithFifthBit(const Byte* from, const Byte* high_bits, const Line& line, FloatVec* low,
                                    FloatVec* high) {
  HWY_ALIGN static constexpr std::uint32_t kBits[32] = {
      1u << 0,  1u << 1,  1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,
      1u << 8,  1u << 9,  1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15,
      1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23,
      1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31};
  const hn::RebindToUnsigned<FloatTag> du;
  const IntTag di;
  std::uint32_t word;
  std::memcpy(&word, high_bits, sizeof word);
  const auto words = hn::Set(du, word);
  const IntVec mask = hn::Set(di, 15), sixteen = hn::Set(di, 16);
  SHARPMAX_UNROLL
  for (std::size_t i = 0; i < 16 / kLanes; ++i) {
    const IntVec q = BytesAt(from + i * kLanes);
    const auto in_low = hn::TestBit(words, hn::LoadU(du, kBits + i * kLanes));
    const auto in_high = hn::TestBit(words, hn::LoadU(du, kBits + 16 + i * kLanes));
    low[i] = line.Of(hn::Or(hn::And(q, mask), hn::IfThenElseZero(hn::RebindMask(di, in_low), sixteen)));
    high[i] = line.Of(hn::Or(hn::ShiftRight<4>(q), hn::IfThenElseZero(hn::RebindMask(di, in_high), sixteen)));
  }
}

// One chunk, in order.
template <std::size_t kElements, std::size_t kSize>
struct OneChunk {
  static constexpr std::size_t kBlock = kElements;
  static constexpr std::size_t kBytes = kSize;
  static constexpr std::size_t kChunks = 1;
  static constexpr bool kEndsAnywhere = false;
  static constexpr bool kScaled = false;
  static constexpr std::size_t kVectors = kElements / kLanes;
  static constexpr std::size_t Base(std::size_t) { return 0; }
  static constexpr std::size_t Offset(std::size_t v) { return v * kLanes; }
};
using BlockOf32 = OneChunk<32, 0>;  // for its kVectors

// Float types have no blocks in the file; ours are as long as the others', and the last is padded.
template <class Element>
struct Floats : OneChunk<32, 32 * sizeof(Element)> {
  static constexpr bool kEndsAnywhere = true;
  struct Opened {};
  static HWY_INLINE Opened Open(const Byte*) { return {}; }
  static HWY_INLINE void Unpack(const Byte* block, const Opened&, std::size_t, FloatVec* w) {
    const FloatTag d;
    SHARPMAX_UNROLL
    for (std::size_t v = 0; v < BlockOf32::kVectors; ++v) {
      const Byte* from = block + v * kLanes * sizeof(Element);
      if constexpr (sizeof(Element) == sizeof(float)) {
        w[v] = hn::LoadU(d, reinterpret_cast<const float*>(from));
      } else {
        w[v] = Promote(from);
      }
    }
  }

 private:
  static HWY_INLINE FloatVec Promote(const Byte* from) {
    const FloatTag d;
#if HWY_TARGET > HWY_AVX2
    if constexpr (std::is_same_v<Element, hwy::float16_t>) {
      HWY_ALIGN float wide[kLanes];
      for (std::size_t i = 0; i < kLanes; ++i) {
        float16 half;
        std::memcpy(&half, from + i * sizeof half, sizeof half);
        wide[i] = to_float(half);
      }
      return hn::Load(d, wide);
    } else
#endif
    {
      const hn::Rebind<Element, FloatTag> dh;
      return hn::PromoteTo(d, hn::LoadU(dh, reinterpret_cast<const Element*>(from)));
    }
  }
};

struct Q8_0 : OneChunk<32, 34> {
  using Opened = Centered<0>;
  static HWY_INLINE Opened Open(const Byte* block) { return {HalfAt(block)}; }
  static HWY_INLINE void Unpack(const Byte* block, const Opened& line, std::size_t, FloatVec* w) {
    const hn::Rebind<std::int8_t, IntTag> d8;
    SHARPMAX_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) {
      const auto q = hn::LoadU(d8, reinterpret_cast<const std::int8_t*>(block + 2 + v * kLanes));
      w[v] = line.Of(hn::PromoteTo(IntTag(), q));
    }
  }
};

struct Q4_0 : OneChunk<32, 18> {
  using Opened = Centered<8>;
  static HWY_INLINE Opened Open(const Byte* block) { return {HalfAt(block)}; }
  static HWY_INLINE void Unpack(const Byte* block, const Opened& line, std::size_t, FloatVec* w) {
    Nibbles<16>(block + 2, line, line, w, w + kVectors / 2);
  }
};

struct Q4_1 : OneChunk<32, 20> {
  using Opened = Affine;
  static HWY_INLINE Opened Open(const Byte* block) { return AffineAt(block); }
  static HWY_INLINE void Unpack(const Byte* block, const Opened& line, std::size_t, FloatVec* w) {
    Nibbles<16>(block + 4, line, line, w, w + kVectors / 2);
  }
};

struct Q5_0 : OneChunk<32, 22> {
  using Opened = Centered<16>;
  static HWY_INLINE Opened Open(const Byte* block) { return {HalfAt(block)}; }
  static HWY_INLINE void Unpack(const Byte* block, const Opened& line, std::size_t, FloatVec* w) {
    NibblesWithFifthBit(block + 6, block + 2, line, w, w + kVectors / 2);
  }
};

struct Q5_1 : OneChunk<32, 24> {
  using Opened = Affine;
  static HWY_INLINE Opened Open(const Byte* block) { return AffineAt(block); }
  static HWY_INLINE void Unpack(const Byte* block, const Opened& line, std::size_t, FloatVec* w) {
    NibblesWithFifthBit(block + 8, block + 4, line, w, w + kVectors / 2);
  }
};

// What four bits stand for by a table, times a scale.
template <const std::int8_t (&kTable)[16]>
struct Looked {
  FloatVec scale;
  HWY_INLINE FloatVec Of(IntVec q) const {
    const IntTag di;
#if HWY_TARGET == HWY_SCALAR
    const IntVec value = hn::Set(di, kTable[hn::GetLane(q)]);
#else
    // The lowest byte of a lane is looked up, and its sign spread over the lane.
    const hn::Repartition<std::int8_t, IntTag> d8;
    HWY_ALIGN static constexpr std::int8_t aligned[16] = {
        kTable[0], kTable[1], kTable[2],  kTable[3],  kTable[4],  kTable[5],  kTable[6],  kTable[7],
        kTable[8], kTable[9], kTable[10], kTable[11], kTable[12], kTable[13], kTable[14], kTable[15]};
    const auto bytes = hn::TableLookupBytes(hn::LoadDup128(d8, aligned), hn::BitCast(d8, q));
    const IntVec value = hn::ShiftRight<24>(hn::ShiftLeft<24>(hn::BitCast(di, bytes)));
#endif
    return hn::Mul(hn::ConvertTo(FloatTag(), value), scale);
  }
};

struct IQ4_NL : OneChunk<32, 18> {
  using Opened = Looked<kUnevenSteps>;
  static HWY_INLINE Opened Open(const Byte* block) { return {HalfAt(block)}; }
  static HWY_INLINE void Unpack(const Byte* block, const Opened& line, std::size_t, FloatVec* w) {
    Nibbles<16>(block + 2, line, line, w, w + kVectors / 2);
  }
};

struct MXFP4 : OneChunk<32, 17> {
  using Opened = Looked<kTwiceFloat4>;
  static HWY_INLINE Opened Open(const Byte* block) { return {hn::Set(FloatTag(), half_power_of_two(block[0]))}; }
  static HWY_INLINE void Unpack(const Byte* block, const Opened& line, std::size_t, FloatVec* w) {
    Nibbles<16>(block + 1, line, line, w, w + kVectors / 2);
  }
};

// Neighbors share a byte, the first in its low half.
struct MXFP4Pairs : OneChunk<32, 16> {
  static constexpr bool kScaled = true;
  using Opened = Looked<kTwiceFloat4>;
  static HWY_INLINE Opened Open(const Byte*, float scale) { return {hn::Set(FloatTag(), 0.5f * scale)}; }
  static HWY_INLINE void Unpack(const Byte* block, const Opened& line, std::size_t, FloatVec* w) {
    SHARPMAX_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) w[v] = line.Of(Halves(block, v * kLanes));
  }

 private:
  // Four bits each of the weights from `first` on.
  static HWY_INLINE IntVec Halves(const Byte* block, std::size_t first) {
#if HWY_TARGET == HWY_SCALAR
    return hn::Set(IntTag(), block[first / 2] >> 4 * (first % 2) & 15);
#else
    // A byte becomes two: x, and x moved up by four bits, each with its low half.
    const hn::Rebind<std::uint8_t, hn::Half<FloatTag>> d8;
    const hn::Rebind<std::uint16_t, hn::Half<FloatTag>> d16;
    const hn::Rebind<std::uint8_t, FloatTag> both;
    const auto x = hn::PromoteTo(d16, hn::LoadU(d8, block + first / 2));
    const auto pair = hn::And(hn::Or(x, hn::ShiftLeft<4>(x)), hn::Set(d16, 0x0f0f));
    return hn::PromoteTo(IntTag(), hn::BitCast(both, pair));
#endif
  }
};

struct F8E4M3 : OneChunk<32, 32> {
  static constexpr bool kScaled = true;
  static constexpr bool kEndsAnywhere = true;
  struct Opened {
    FloatVec scale;
  };
  static HWY_INLINE Opened Open(const Byte*, float scale) { return {hn::Set(FloatTag(), scale)}; }
  static HWY_INLINE void Unpack(const Byte* block, const Opened& opened, std::size_t, FloatVec* w) {
    const FloatTag d;
    const IntTag di;
    const IntVec seven = hn::Set(di, 0x7f);
    const FloatVec up = hn::Set(d, 0x1p120f);  // a float with the same digits is so much too small
    SHARPMAX_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) {
      const IntVec q = BytesAt(block + v * kLanes), magnitude = hn::And(q, seven);
      const FloatVec value = hn::Mul(hn::BitCast(d, hn::ShiftLeft<20>(magnitude)), up);
      const FloatVec or_nan = hn::IfThenElse(hn::RebindMask(d, hn::Eq(magnitude, seven)), hn::NaN(d), value);
      const FloatVec sign = hn::BitCast(d, hn::ShiftLeft<24>(hn::AndNot(seven, q)));
      w[v] = hn::Mul(hn::Or(or_nan, sign), opened.scale);
    }
  }
};

// A format's block opened; scale(element) is asked where scales lie apart.
template <class Format, class Scale>
HWY_INLINE typename Format::Opened OpenBlock(const Byte* block, std::size_t element, const Scale& scale) {
  if constexpr (Format::kScaled) {
    return Format::Open(block, scale(element));
  } else {
    static_cast<void>(element), static_cast<void>(scale);
    return Format::Open(block);
  }
}
struct NoScale {
  HWY_INLINE float operator()(std::size_t) const { return 1; }
};

// `count` weights from the block at `from` on; `to` has room up to the next whole block.
template <class Format, class Scale = NoScale>
HWY_INLINE void UnpackLine(const Byte* from, std::size_t count, float* HWY_RESTRICT to, const Scale& scale = {}) {
  const FloatTag d;
  HWY_ALIGN Byte padded[Format::kBytes];
  for (std::size_t at = 0; at < count; at += Format::kBlock, from += Format::kBytes, to += Format::kBlock) {
    const Byte* block = from;
    if (Format::kEndsAnywhere && count - at < Format::kBlock) {
      std::memset(padded, 0, sizeof padded);
      std::memcpy(padded, from, (count - at) * (Format::kBytes / Format::kBlock));
      block = padded;
    }
    const typename Format::Opened opened = OpenBlock<Format>(block, at, scale);
    for (std::size_t c = 0; c < Format::kChunks; ++c) {
      FloatVec w[Format::kVectors];
      Format::Unpack(block, opened, c, w);
      SHARPMAX_UNROLL
      for (std::size_t v = 0; v < Format::kVectors; ++v) {
        hn::StoreU(w[v], d, to + Format::Base(c) + Format::Offset(v));
      }
    }
  }
}

// The same as whole numbers, with a scale (and an offset) for every group of them. What a block needs is `Opened`: one
// line, or an array of lines by group.
template <class Opened>
inline constexpr bool kManyLines = std::is_array_v<decltype(Opened::scale)>;
template <class Opened>
inline constexpr bool kHasOffset = requires(Opened opened) { opened.offset; };
template <class Format>
inline constexpr bool kWhole = !std::is_same_v<Format, F8E4M3> && requires(typename Format::Opened opened) { opened.scale; };

template <class Format>
constexpr std::size_t GroupsOfBlock() {
  if constexpr (kManyLines<typename Format::Opened>) return std::extent_v<decltype(Format::Opened::scale)>;
  return 1;
}

// With it, Unpack() gives the whole numbers.
template <class Opened>
HWY_INLINE Opened ScaledByOne() {
  Opened opened;
  if constexpr (kManyLines<Opened>) {
    std::fill(std::begin(opened.scale), std::end(opened.scale), 1.0f);
    if constexpr (kHasOffset<Opened>) std::fill(std::begin(opened.offset), std::end(opened.offset), 0.0f);
  } else {
    opened.scale = hn::Set(FloatTag(), 1.0f);
    if constexpr (kHasOffset<Opened>) opened.offset = hn::Zero(FloatTag());
  }
  return opened;
}

template <class Lines>
HWY_INLINE float LineAt(const Lines& lines, std::size_t group) {
  if constexpr (std::is_array_v<Lines>) {
    return lines[group];
  } else {
    return hn::GetLane(lines);
  }
}

// `count` weights from the block at `from` on, as 16-bit integers; whole blocks of them.
template <class Format, class Scale>
HWY_INLINE void UnpackWholeLine(const Byte* from, std::size_t count, std::int16_t* HWY_RESTRICT to, float* HWY_RESTRICT scales,
                                float* HWY_RESTRICT offsets, const Scale& scale) {
  const hn::Rebind<std::int16_t, IntTag> d16;
  const auto plain = ScaledByOne<typename Format::Opened>();
  for (std::size_t at = 0; at < count; at += Format::kBlock, from += Format::kBytes, to += Format::kBlock) {
    const typename Format::Opened opened = OpenBlock<Format>(from, at, scale);
    for (std::size_t g = 0; g < GroupsOfBlock<Format>(); ++g) {
      *scales++ = LineAt(opened.scale, g);
      if constexpr (kHasOffset<typename Format::Opened>) *offsets++ = LineAt(opened.offset, g);
    }
    for (std::size_t c = 0; c < Format::kChunks; ++c) {
      FloatVec w[Format::kVectors];
      Format::Unpack(from, plain, c, w);
      SHARPMAX_UNROLL
      for (std::size_t v = 0; v < Format::kVectors; ++v) {
        hn::StoreU(hn::DemoteTo(d16, hn::ConvertTo(IntTag(), w[v])), d16, to + Format::Base(c) + Format::Offset(v));
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax::model
HWY_AFTER_NAMESPACE();

#endif  // SHARPMAX_UNPACK_INL_H_
