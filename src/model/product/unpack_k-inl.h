// Stored weights to vectors of floats, in registers: the blocks of 256, whose scales are packed as well.
#if defined(SHARPMAX_UNPACK_K_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_UNPACK_K_INL_H_
#undef SHARPMAX_UNPACK_K_INL_H_
#else
#define SHARPMAX_UNPACK_K_INL_H_
#endif

#include "model/product/unpack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax::model {
namespace HWY_NAMESPACE {

// to[i] = factor * from[i] for kCount small whole numbers.
template <std::size_t kCount, class Small>
HWY_INLINE void ScaleAll(const Small* from, FloatVec factor, float* HWY_RESTRICT to) {
  const hn::CappedTag<float, 8> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<Small, decltype(d)> ds;
  const auto f = hn::Set(d, hn::GetLane(factor));
  SHARPMAX_UNROLL
  for (std::size_t i = 0; i < kCount; i += hn::MaxLanes(d)) {
    hn::StoreU(hn::Mul(hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(ds, from + i))), f), d, to + i);
  }
}

// Eight scales and eight offsets of 32 weights each: whole numbers of six bits in twelve bytes, times one
// scale for all scales and one for all offsets.
struct EightLines {
  HWY_ALIGN float scale[8];
  HWY_ALIGN float offset[8];
  HWY_INLINE Affine Line(std::size_t i) const {
    const FloatTag d;
    return {hn::Set(d, scale[i]), hn::Set(d, offset[i])};
  }
};

HWY_INLINE void OpenEightLines(const Byte* block, EightLines& lines) {
  std::uint32_t word[3];
  std::memcpy(word, block + 4, sizeof word);
  // Lines 0 .. 3 have their six bits together; of 4 .. 7 the upper two are in the first words' spare bits.
  constexpr std::uint32_t kSix = 0x3f3f3f3fu, kFour = 0x0f0f0f0fu, kUpperTwo = 0x30303030u;
  const std::uint32_t packed[4] = {word[0] & kSix, (word[2] & kFour) | ((word[0] >> 2) & kUpperTwo),
                                   word[1] & kSix, ((word[2] >> 4) & kFour) | ((word[1] >> 2) & kUpperTwo)};
  HWY_ALIGN Byte small[16];
  std::memcpy(small, packed, sizeof small);
  ScaleAll<8>(small, HalfAt(block), lines.scale);
  ScaleAll<8>(small + 8, hn::Neg(HalfAt(block + 2)), lines.offset);
}

// Chunks of 64: the low halves of 32 bytes, then the high ones.
template <std::size_t kSize>
struct FourChunks {
  static constexpr std::size_t kBlock = 256;
  static constexpr std::size_t kBytes = kSize;
  static constexpr std::size_t kChunks = 4;
  static constexpr bool kEndsAnywhere = false;
  static constexpr bool kScaled = false;
  static constexpr std::size_t kVectors = 64 / kLanes;
  static constexpr std::size_t Base(std::size_t chunk) { return chunk * 64; }
  static constexpr std::size_t Offset(std::size_t v) { return v * kLanes; }
};

struct Q4_K : FourChunks<144> {
  using Opened = EightLines;
  static HWY_INLINE Opened Open(const Byte* block) {
    EightLines lines;
    OpenEightLines(block, lines);
    return lines;
  }
  static HWY_INLINE void Unpack(const Byte* block, const Opened& lines, std::size_t chunk, FloatVec* w) {
    Nibbles<32>(block + 16 + chunk * 32, lines.Line(2 * chunk), lines.Line(2 * chunk + 1), w,
                w + kVectors / 2);
  }
};

struct Q5_K : FourChunks<176> {
  using Opened = EightLines;
  static HWY_INLINE Opened Open(const Byte* block) {
    EightLines lines;
    OpenEightLines(block, lines);
    return lines;
  }
  // Byte i of the 32 high ones has the fifth bit of weight i of every 32: bit 2 chunk, bit 2 chunk + 1.
  static HWY_INLINE void Unpack(const Byte* block, const Opened& lines, std::size_t chunk, FloatVec* w) {
    const IntTag di;
    const Affine low = lines.Line(2 * chunk), high = lines.Line(2 * chunk + 1);
    const IntVec mask = hn::Set(di, 15), sixteen = hn::Set(di, 16);
    SHARPMAX_UNROLL
    for (std::size_t i = 0; i < kVectors / 2; ++i) {
      const IntVec q = BytesAt(block + 48 + chunk * 32 + i * kLanes);
      const IntVec fifth =
          hn::ShiftRightSame(hn::ShiftLeft<4>(BytesAt(block + 16 + i * kLanes)), static_cast<int>(2 * chunk));
      w[i] = low.Of(hn::Or(hn::And(q, mask), hn::And(fifth, sixteen)));
      w[kVectors / 2 + i] = high.Of(hn::Or(hn::ShiftRight<4>(q), hn::And(hn::ShiftRight<1>(fifth), sixteen)));
    }
  }
};

// Eight scales; a chunk is two lines of 32, each of 16 bytes.
struct IQ4_XS : FourChunks<136> {
  struct Opened {
    HWY_ALIGN float scale[8];
    HWY_INLINE Looked<kUnevenSteps> Line(std::size_t i) const { return {hn::Set(FloatTag(), scale[i])}; }
  };
  static HWY_INLINE Opened Open(const Byte* block) {
    const unsigned high = block[2] | static_cast<unsigned>(block[3]) << 8;
    HWY_ALIGN std::int8_t small[8];
    for (unsigned i = 0; i < 8; ++i) {
      const unsigned low = block[4 + i / 2] >> 4 * (i % 2) & 15u;
      small[i] = static_cast<std::int8_t>(static_cast<int>(low | (high >> 2 * i & 3u) << 4) - 32);
    }
    Opened opened;
    ScaleAll<8>(small, HalfAt(block), opened.scale);
    return opened;
  }
  static HWY_INLINE void Unpack(const Byte* block, const Opened& opened, std::size_t chunk, FloatVec* w) {
    constexpr std::size_t kPart = kVectors / 4;  // vectors of 16 weights
    const Byte* from = block + 8 + chunk * 32;
    const auto first = opened.Line(2 * chunk), second = opened.Line(2 * chunk + 1);
    Nibbles<16>(from, first, first, w, w + kPart);
    Nibbles<16>(from + 16, second, second, w + 2 * kPart, w + 3 * kPart);
  }
};

// Sixteen scales of 16 weights. A chunk is what the same bytes hold: 16 weights from each of four 32s.
template <std::size_t kSize>
struct FourRows {
  static constexpr std::size_t kBlock = 256;
  static constexpr std::size_t kBytes = kSize;
  static constexpr std::size_t kChunks = 4;
  static constexpr bool kEndsAnywhere = false;
  static constexpr bool kScaled = false;
  static constexpr std::size_t kPart = 16 / kLanes;  // vectors of 16 weights
  static constexpr std::size_t kVectors = 4 * kPart;
  static constexpr std::size_t Base(std::size_t chunk) { return chunk / 2 * 128 + chunk % 2 * 16; }
  static constexpr std::size_t Offset(std::size_t v) { return v / kPart * 32 + v % kPart * kLanes; }
};

struct Q2_K : FourRows<84> {
  struct Opened {
    HWY_ALIGN float scale[16];
    HWY_ALIGN float offset[16];
    HWY_INLINE Affine Line(std::size_t i) const {
      return {hn::Set(FloatTag(), scale[i]), hn::Set(FloatTag(), offset[i])};
    }
  };
  static HWY_INLINE Opened Open(const Byte* block) {
    HWY_ALIGN Byte low[16], high[16];
    for (std::size_t i = 0; i < 16; ++i) {
      low[i] = block[i] & 15;
      high[i] = static_cast<Byte>(block[i] >> 4);
    }
    Opened opened;
    ScaleAll<16>(low, HalfAt(block + 80), opened.scale);
    ScaleAll<16>(high, hn::Neg(HalfAt(block + 82)), opened.offset);
    return opened;
  }
  static HWY_INLINE void Unpack(const Byte* block, const Opened& opened, std::size_t chunk, FloatVec* w) {
    const std::size_t half = chunk / 2, side = chunk % 2;
    const Byte* from = block + 16 + 32 * half + 16 * side;
    const IntVec mask = hn::Set(IntTag(), 3);
    SHARPMAX_UNROLL
    for (std::size_t i = 0; i < kPart; ++i) {
      const IntVec q = BytesAt(from + i * kLanes);
      SHARPMAX_UNROLL
      for (std::size_t row = 0; row < 4; ++row) {
        const IntVec two = hn::And(hn::ShiftRightSame(q, static_cast<int>(2 * row)), mask);
        w[row * kPart + i] = opened.Line(8 * half + 2 * row + side).Of(two);
      }
    }
  }
};

struct Q3_K : FourRows<110> {
  struct Opened {
    HWY_ALIGN float scale[16];
    HWY_INLINE Centered<4> Line(std::size_t i) const { return {hn::Set(FloatTag(), scale[i])}; }
  };
  static HWY_INLINE Opened Open(const Byte* block) {
    const Byte* packed = block + 96;
    HWY_ALIGN std::int8_t small[16];
    for (unsigned i = 0; i < 16; ++i) {
      const unsigned low = i < 8 ? packed[i] & 15u : packed[i - 8] >> 4;
      const unsigned high = packed[8 + i % 4] >> 2 * (i / 4) & 3u;
      small[i] = static_cast<std::int8_t>(static_cast<int>(low | high << 4) - 32);
    }
    Opened opened;
    ScaleAll<16>(small, HalfAt(block + 108), opened.scale);
    return opened;
  }
  static HWY_INLINE void Unpack(const Byte* block, const Opened& opened, std::size_t chunk, FloatVec* w) {
    const std::size_t half = chunk / 2, side = chunk % 2;
    const Byte* from = block + 32 + 32 * half + 16 * side;
    const IntVec mask = hn::Set(IntTag(), 3), four = hn::Set(IntTag(), 4);
    SHARPMAX_UNROLL
    for (std::size_t i = 0; i < kPart; ++i) {
      const IntVec q = BytesAt(from + i * kLanes);
      // Bit 4 half + row, moved to where a third bit belongs.
      const IntVec thirds = hn::ShiftLeft<2>(
          hn::ShiftRightSame(BytesAt(block + 16 * side + i * kLanes), static_cast<int>(4 * half)));
      SHARPMAX_UNROLL
      for (std::size_t row = 0; row < 4; ++row) {
        const IntVec two = hn::And(hn::ShiftRightSame(q, static_cast<int>(2 * row)), mask);
        const IntVec third = hn::And(hn::ShiftRightSame(thirds, static_cast<int>(row)), four);
        w[row * kPart + i] = opened.Line(8 * half + 2 * row + side).Of(hn::Or(two, third));
      }
    }
  }
};

struct Q6_K : FourRows<210> {
  struct Opened {
    HWY_ALIGN float scale[16];
    HWY_INLINE Centered<32> Line(std::size_t i) const { return {hn::Set(FloatTag(), scale[i])}; }
  };
  static HWY_INLINE Opened Open(const Byte* block) {
    Opened opened;
    ScaleAll<16>(reinterpret_cast<const std::int8_t*>(block + 192), HalfAt(block + 208), opened.scale);
    return opened;
  }
  static HWY_INLINE void Unpack(const Byte* block, const Opened& opened, std::size_t chunk, FloatVec* w) {
    const IntTag di;
    const std::size_t half = chunk / 2, side = chunk % 2;
    const Byte* low = block + 64 * half + 16 * side;
    const Byte* high = block + 128 + 32 * half + 16 * side;
    const std::size_t line = 8 * half + side;
    const IntVec mask = hn::Set(di, 15), upper = hn::Set(di, 0x30);
    SHARPMAX_UNROLL
    for (std::size_t i = 0; i < kPart; ++i) {
      const IntVec a = BytesAt(low + i * kLanes), b = BytesAt(low + 32 + i * kLanes);
      const IntVec h = BytesAt(high + i * kLanes);
      w[i] = opened.Line(line).Of(hn::Or(hn::And(a, mask), hn::And(hn::ShiftLeft<4>(h), upper)));
      w[kPart + i] = opened.Line(line + 2).Of(hn::Or(hn::And(b, mask), hn::And(hn::ShiftLeft<2>(h), upper)));
      w[2 * kPart + i] = opened.Line(line + 4).Of(hn::Or(hn::ShiftRight<4>(a), hn::And(h, upper)));
      w[3 * kPart + i] =
          opened.Line(line + 6).Of(hn::Or(hn::ShiftRight<4>(b), hn::And(hn::ShiftRight<2>(h), upper)));
    }
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax::model
HWY_AFTER_NAMESPACE();

#endif  // SHARPMAX_UNPACK_K_INL_H_
