// Heads and checkpoints as .safetensors files: one tensor for each part of the head, under its name, in the
// precision of training; how it was trained stands in the metadata.
//
// Loading checks all of it: the format's name, the settings, that the tensors are those of such a head and
// no others, their shapes, and that every number is one. Errors are {bad_file}, with the byte.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "retrieval/head/head.h"
#include "retrieval/training/training.h"

namespace sharpmax::retrieval {

// The loss over a training: its mean over each of at most 200 equal stretches of steps. Sums are kept step by
// step, so that a training that was interrupted and went on has the same curve, bit for bit.

inline constexpr std::int64_t kLossStretches = 200;

class LossCurve {
 public:
  explicit LossCurve(std::int64_t steps) : steps_(steps), sums_(static_cast<std::size_t>(stretches(steps))) {}
  LossCurve(std::int64_t steps, std::vector<double> sums) : steps_(steps), sums_(std::move(sums)) {}

  static std::int64_t stretches(std::int64_t steps) { return std::min(steps, kLossStretches); }

  void add(std::int64_t step, double loss) { sums_[static_cast<std::size_t>(stretch_of(step))] += loss; }
  const std::vector<double>& sums() const noexcept { return sums_; }

  // (steps done, mean loss) at the end of every stretch.
  std::vector<std::pair<std::int64_t, double>> points() const {
    std::vector<std::pair<std::int64_t, double>> points;
    const std::int64_t count = static_cast<std::int64_t>(sums_.size());
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t begin = begin_of(i), end = begin_of(i + 1);
      points.emplace_back(end, sums_[static_cast<std::size_t>(i)] / static_cast<double>(end - begin));
    }
    return points;
  }

 private:
  std::int64_t stretch_of(std::int64_t step) const {
    return step * static_cast<std::int64_t>(sums_.size()) / steps_;
  }
  // The first step of stretch i: the least s with s * stretches / steps >= i.
  std::int64_t begin_of(std::int64_t i) const {
    const auto count = static_cast<std::int64_t>(sums_.size());
    return (i * steps_ + count - 1) / count;
  }

  std::int64_t steps_;
  std::vector<double> sums_;
};

// FNV-1a in 64 bits: enough to notice damage, no defence against malice.
class Checksum {
 public:
  Checksum& add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) mix(std::to_integer<std::uint64_t>(byte));
    for (std::uint64_t length = bytes.size(), i = 0; i < 8; ++i) mix((length >> (8 * i)) & 0xff);
    return *this;
  }
  Checksum& add(std::string_view text) { return add(std::as_bytes(std::span(text.data(), text.size()))); }
  std::uint64_t value() const noexcept { return value_; }

 private:
  void mix(std::uint64_t byte) { value_ = (value_ ^ byte) * 0x100000001b3; }

  std::uint64_t value_ = 0xcbf29ce484222325;
};

void save_head(const std::filesystem::path& path, const Head& head);
Head load_head(const std::filesystem::path& path);

// A training that was interrupted, or has ended.
struct Checkpoint {
  std::string arm;
  TrainingSettings training;
  std::uint64_t seed = 0;
  TrainingState state;
  std::vector<double> loss_sums;  // LossCurve's
};

void save_state(const std::filesystem::path& path, const Checkpoint& checkpoint);
Checkpoint load_state(const std::filesystem::path& path);

}  // namespace sharpmax::retrieval
