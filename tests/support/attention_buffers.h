// Arrays for attention tests: any type, any layout, with canary bytes wherever no element is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "attention/oracle/elements.h"
#include "base/random.h"
#include "sharpmax/statistics.h"
#include "sharpmax/tensor.h"

namespace sharpmax::test {

// A stream of draws that depends on (seed, stream) alone.
class Draw {
 public:
  Draw(std::uint64_t seed, std::uint64_t stream) : random_(seed, stream) {}
  double normal() {
    const std::uint64_t at = next_++;
    return random_.normals(at / 4)[at % 4];
  }
  // Of [0, below).
  std::int64_t index(std::int64_t below) {
    return static_cast<std::int64_t>(random_.bits((std::uint64_t{1} << 40) + next_++)[0] %
                                     static_cast<std::uint64_t>(below));
  }

 private:
  CounterRandom random_;
  std::uint64_t next_ = 0;
};

enum class Layout {
  dense,
  padded,      // a few elements between rows
  transposed,  // [batch, row, head, element] in memory, as models lay out their projections
};

class Buffer {
 public:
  Buffer() = default;
  Buffer(DType type, const Extents<4>& shape, Layout layout = Layout::dense)
      : type_(type), shape_(shape), strides_(strides_for(shape, layout)) {
    std::int64_t last = 0;
    for (std::size_t i = 0; i < 4; ++i) last += std::max<std::int64_t>(shape[i] - 1, 0) * strides_[i];
    bytes_.assign((static_cast<std::size_t>(last) + 1 + 2 * kMargin) * size_of(type), kCanary);
  }

  DType type() const { return type_; }
  const Extents<4>& shape() const { return shape_; }
  AnyTensor<4> input() const { return {first(), type_, shape_, strides_}; }
  AnyMutableTensor<4> output() { return {const_cast<std::byte*>(first()), type_, shape_, strides_}; }

  // Calls f(index, place in the storage) for every element in order.
  template <class F>
  void for_each(const F& f) const {
    Extents<4> at{};
    for (at[0] = 0; at[0] < shape_[0]; ++at[0])
      for (at[1] = 0; at[1] < shape_[1]; ++at[1])
        for (at[2] = 0; at[2] < shape_[2]; ++at[2])
          for (at[3] = 0; at[3] < shape_[3]; ++at[3]) f(at, place(at));
  }

  void set(const Extents<4>& at, double value) {
    with_type_of(type_, [&]<class T>(T) {
      const T stored = from_double<T>(value);
      std::memcpy(bytes_.data() + place(at), &stored, sizeof stored);
    });
  }
  double get(const Extents<4>& at) const {
    return with_type_of(type_, [&]<class T>(T) {
      T stored;
      std::memcpy(&stored, bytes_.data() + place(at), sizeof stored);
      return to_double(stored);
    });
  }
  template <class F>
  Buffer& fill(const F& value_at) {
    for_each([&](const Extents<4>& at, std::size_t) { set(at, value_at(at)); });
    return *this;
  }
  std::vector<double> values() const {
    std::vector<double> all;
    for_each([&](const Extents<4>& at, std::size_t) { all.push_back(get(at)); });
    return all;
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

  // True while nobody has written where no element is.
  bool canaries_alive() const {
    std::vector<bool> element(bytes_.size(), false);
    for_each([&](const Extents<4>&, std::size_t at) {
      std::fill_n(element.begin() + static_cast<std::ptrdiff_t>(at), size_of(type_), true);
    });
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      if (!element[i] && bytes_[i] != kCanary) return false;
    }
    return true;
  }

 private:
  static constexpr std::byte kCanary{0xa5};
  static constexpr std::size_t kMargin = 64;  // elements before and after, wider than any vector

  static Extents<4> strides_for(const Extents<4>& shape, Layout layout) {
    if (layout == Layout::dense) return dense_strides<4>(shape);
    const std::int64_t row = shape[3] + 3;
    if (layout == Layout::padded) return {shape[1] * shape[2] * row + 5, shape[2] * row, row, 1};
    return {shape[2] * shape[1] * row, row, shape[1] * row, 1};
  }
  std::size_t place(const Extents<4>& at) const {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < 4; ++i) offset += at[i] * strides_[i];
    return (static_cast<std::size_t>(offset) + kMargin) * size_of(type_);
  }
  const std::byte* first() const { return bytes_.empty() ? nullptr : bytes_.data() + kMargin * size_of(type_); }

  DType type_ = DType::float32;
  Extents<4> shape_{};
  Extents<4> strides_{};
  std::vector<std::byte> bytes_;
};

// Every statistic there is, with room of its own. Starts full of rubbish: what is not written shows.
class AllStatistics {
 public:
  static constexpr std::int64_t kTop = 5;
  static constexpr std::int64_t kMapRows = 7, kMapColumns = 5;
  static constexpr double kRubbish = -12345.5;

  AllStatistics(std::int64_t batches, std::int64_t heads, std::int64_t queries, std::int64_t keys,
                std::span<const double> gaps = kGapOctaves) {
    const auto gap_count = static_cast<std::int64_t>(gaps.size());
    view.gaps = gaps;
    each_row_statistic([&]<class T>(const RowStatistic<T>& statistic) {
      if constexpr (std::is_same_v<T, double>)
        view.*statistic.view = {doubles(batches * heads * queries), {batches, heads, queries}};
      else
        view.*statistic.view = {integers(batches * heads * queries), {batches, heads, queries}};
    });
    view.top_keys = {integers(batches * heads * queries * kTop), {batches, heads, queries, kTop}};
    view.top_weights = {doubles(batches * heads * queries * kTop), {batches, heads, queries, kTop}};
    view.gap_counts = {integers(batches * heads * queries * gap_count), {batches, heads, queries, gap_count}};
    view.column_mass = {doubles(batches * heads * keys), {batches, heads, keys}};
    view.map = {doubles(batches * heads * kMapRows * kMapColumns), {batches, heads, kMapRows, kMapColumns}};
  }
  AllStatistics(const AllStatistics&) = delete;
  AllStatistics& operator=(const AllStatistics&) = delete;

  RowStatistics view;

  // Every number, for comparisons bit by bit.
  std::vector<std::uint64_t> bits() const {
    std::vector<std::uint64_t> all;
    for (const auto& array : doubles_) {
      for (const double x : array) all.push_back(std::bit_cast<std::uint64_t>(x));
    }
    for (const auto& array : integers_) {
      for (const std::int64_t x : array) all.push_back(static_cast<std::uint64_t>(x));
    }
    return all;
  }

 private:
  double* doubles(std::int64_t n) {
    return doubles_.emplace_back(static_cast<std::size_t>(std::max<std::int64_t>(n, 1)), kRubbish).data();
  }
  std::int64_t* integers(std::int64_t n) {
    return integers_.emplace_back(static_cast<std::size_t>(std::max<std::int64_t>(n, 1)), -12345).data();
  }

  std::vector<std::vector<double>> doubles_;
  std::vector<std::vector<std::int64_t>> integers_;
};

}  // namespace sharpmax::test
