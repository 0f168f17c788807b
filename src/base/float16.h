// bfloat16 and float16 to and from float, one value at a time: round to nearest, ties to even.
// A NaN stays a NaN (its quiet bit is set, so that cutting the payload cannot make it infinite).
#pragma once

#include <bit>
#include <cstdint>

#include "sharpmax/tensor.h"

namespace sharpmax {

inline float to_float(bfloat16 value) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

inline bfloat16 to_bfloat16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return {static_cast<std::uint16_t>((bits >> 16) | 0x0040u)};
  }
  const std::uint32_t odd = (bits >> 16) & 1u;
  return {static_cast<std::uint16_t>((bits + 0x7fffu + odd) >> 16)};
}

inline float to_float(float16 value) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000u) << 16;
  const std::uint32_t exponent = (value.bits >> 10) & 0x1fu;
  const std::uint32_t fraction = value.bits & 0x3ffu;
  if (exponent == 0x1fu) {  // infinity or NaN
    const std::uint32_t quiet = fraction != 0 ? 0x00400000u : 0u;
    return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13) | quiet);
  }
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (fraction << 13));
  const float subnormal = static_cast<float>(fraction) * 0x1p-24f;  // exact
  return sign != 0 ? -subnormal : subnormal;
}

inline float16 to_float16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    return {static_cast<std::uint16_t>(sign | 0x7e00u | ((bits >> 13) & 0x3ffu))};
  }
  constexpr std::uint32_t kOverflow = 0x477ff000u;   // 65520: halfway from the largest to 2^16
  constexpr std::uint32_t kSmallestNormal = 0x38800000u;  // 2^-14
  if (magnitude >= kOverflow) return {static_cast<std::uint16_t>(sign | 0x7c00u)};
  if (magnitude < kSmallestNormal) {
    // Adding 1/2 moves the last place of the sum to 2^-24, float16's own: the sum rounds for us.
    const float rounded = std::bit_cast<float>(magnitude) + 0.5f;
    const std::uint32_t fraction = std::bit_cast<std::uint32_t>(rounded) - 0x3f000000u;
    return {static_cast<std::uint16_t>(sign | fraction)};
  }
  const std::uint32_t odd = (magnitude >> 13) & 1u;
  const std::uint32_t rebiased = magnitude - (112u << 23) + 0xfffu + odd;
  return {static_cast<std::uint16_t>(sign | (rebiased >> 13))};
}

}  // namespace sharpmax
