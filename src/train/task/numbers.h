// Numbers as tokens: a place holds the high and the low digit of one, so that numbers near each other share a
// digit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "train/task/draw.h"

namespace sharpmax::train {

// Numbers of [0, count) in a base that makes two digits of each. Tokens: high digits, low digits, then three
// marks.
class TwoDigits {
 public:
  explicit TwoDigits(std::int64_t count)
      : base_(static_cast<std::int32_t>(std::ceil(std::sqrt(static_cast<double>(count))))) {}

  std::int32_t base() const noexcept { return base_; }
  std::int64_t vocabulary() const noexcept { return 2 * base_ + 3; }
  void put(std::int32_t number, std::span<std::int32_t> place) const {
    place[0] = number / base_;
    place[1] = base_ + number % base_;
  }
  void put_beginning(std::span<std::int32_t> place) const { put_mark(0, place); }
  void put_bar(std::span<std::int32_t> place) const { put_mark(1, place); }
  void put_answer(std::int32_t number, std::span<std::int32_t> parts) const {
    parts[0] = number / base_;
    parts[1] = number % base_;
  }

 private:
  void put_mark(std::int32_t mark, std::span<std::int32_t> place) const {
    place[0] = 2 * base_ + mark;
    place[1] = 2 * base_ + 2;
  }
  std::int32_t base_;
};

// n different numbers of a random window of [0, count): its width is log-uniform from n to count. Few numbers
// out of a wide window are easy to tell apart, so a task that orders them needs the narrow ones too.
inline std::vector<std::int32_t> crowded_numbers(std::int64_t n, std::int64_t count, Draw& draw) {
  const double least = std::log(static_cast<double>(n)), most = std::log(static_cast<double>(count));
  const auto width =
      std::clamp(static_cast<std::int64_t>(std::exp(least + draw.unit() * (most - least))), n, count);
  const std::int32_t low = draw.below(count - width + 1);
  std::vector<std::int32_t> numbers = draw.distinct(n, width);
  for (std::int32_t& number : numbers) number += low;
  return numbers;
}

}  // namespace sharpmax::train
