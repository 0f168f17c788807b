// What one thread needs beside the row itself: buffers sized once, from the longest row.
//
// The memory is not touched until a rule asks for it, so the doubles of the specification cost
// address space, not memory, under every normalizer that has a kernel of its own.
#pragma once

#include <hwy/aligned_allocator.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

namespace sharpmax {

struct RankedKey {
  float value;
  std::uint32_t index;  // within the row
};

struct RowWorkspace {
 public:
  // longest: floats in the longest row, lanes without a key included.
  explicit RowWorkspace(std::size_t longest)
      : capacity_(longest + kSlack),
        candidates_(hwy::AllocateAligned<float>(2 * capacity_)),
        ranked_(hwy::AllocateAligned<RankedKey>(2 * capacity_)),
        doubles_(hwy::AllocateAligned<double>(4 * capacity_)) {
    if (candidates_ == nullptr || ranked_ == nullptr || doubles_ == nullptr) throw std::bad_alloc();
  }

  std::size_t capacity() const noexcept { return capacity_; }

  // Room for every score of a row and one vector more.
  float* candidates() noexcept { return candidates_.get(); }
  // A copy of the scores, where the backward needs them after they have become weights.
  float* scores() noexcept { return candidates_.get() + capacity_; }

  RankedKey* ranked() noexcept { return ranked_.get(); }

  // Four rows in double, for the specification.
  std::span<double> exact(std::size_t which, std::size_t keys) noexcept {
    return {doubles_.get() + which * capacity_, keys};
  }

 private:
  static constexpr std::size_t kSlack = 128;  // two of the widest vectors Highway knows here

  std::size_t capacity_;
  hwy::AlignedFreeUniquePtr<float[]> candidates_;
  hwy::AlignedFreeUniquePtr<RankedKey[]> ranked_;
  hwy::AlignedFreeUniquePtr<double[]> doubles_;
};

}  // namespace sharpmax
