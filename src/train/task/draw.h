// Random draws of one sequence, one after another: a function of seed and stream alone.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/random.h"

namespace sharpmax::train {

class Draw {
 public:
  Draw(std::uint64_t seed, std::uint64_t stream) : random_(seed, stream) {}

  // Uniform in [0, bound), bound <= 2^31; biased by less than 2^-32.
  std::int32_t below(std::int64_t bound) {
    const std::uint64_t high = next(), low = next();
    const auto product = static_cast<unsigned __int128>(high << 32 | low) * static_cast<std::uint64_t>(bound);
    return static_cast<std::int32_t>(product >> 64);
  }
  double unit() { return (next() + 0.5) * 0x1p-32; }

  // `count` different numbers of [0, bound), in random order.
  std::vector<std::int32_t> distinct(std::int64_t count, std::int64_t bound);

  template <class T>
  void shuffle(std::span<T> values) {
    for (std::size_t i = values.size(); i > 1; --i)
      std::swap(values[i - 1], values[static_cast<std::size_t>(below(static_cast<std::int64_t>(i)))]);
  }

 private:
  std::uint32_t next() {
    if (at_ % 4 == 0) bits_ = random_.bits(at_ / 4);
    return bits_[at_++ % 4];
  }

  CounterRandom random_;
  std::uint64_t at_ = 0;
  std::array<std::uint32_t, 4> bits_{};
};

// Streams of one seed, apart from each other. Steps are below 2^40, sequences of a step below 2^21.
enum class Purpose : std::uint64_t { initial = 0, training = 1, test = 2 };
constexpr std::uint64_t stream_of(Purpose purpose, std::int64_t step, std::int64_t sequence) {
  return static_cast<std::uint64_t>(purpose) << 62 | static_cast<std::uint64_t>(step) << 21 |
         static_cast<std::uint64_t>(sequence);
}

}  // namespace sharpmax::train
