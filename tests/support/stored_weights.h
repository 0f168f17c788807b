// Weights as files store them, drawn at random, ending where readable memory ends.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>
#include <vector>

#include "base/float16.h"
#include "model/tensor/stored_tensor.h"
#include "support/random.h"

namespace sharpmax::test {

// Bytes that begin at no particular alignment and end at a page that must not be touched.
class GuardedBytes {
 public:
  explicit GuardedBytes(std::size_t size) : size_(size) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    readable_ = (size + page - 1) / page * page;
    mapped_ = readable_ + page;
    void* memory = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(memory);
    mprotect(memory_ + readable_, page, PROT_NONE);
  }
  ~GuardedBytes() { munmap(memory_, mapped_); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  std::byte* data() { return memory_ + readable_ - size_; }
  const std::byte* data() const { return memory_ + readable_ - size_; }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_, readable_ = 0, mapped_ = 0;
  std::byte* memory_ = nullptr;
};

inline const std::vector<model::TensorType>& every_tensor_type() {
  static const std::vector<model::TensorType> all = [] {
    std::vector<model::TensorType> list;
    for (int i = 0; i < model::kTensorTypes; ++i) list.push_back(static_cast<model::TensorType>(i));
    return list;
  }();
  return all;
}

// Where a block has its float16 scales: their bits are not any bits, for those may be inf or NaN.
inline std::vector<std::size_t> scale_offsets(model::TensorType type) {
  using enum model::TensorType;
  switch (type) {
    case q8_0:
    case q4_0:
    case q5_0:
    case iq4_nl:
    case iq4_xs:
      return {0};
    case q4_1:
    case q5_1:
    case q4_k:
    case q5_k:
      return {0, 2};
    case q6_k:
      return {208};
    case q2_k:
      return {80, 82};
    case q3_k:
      return {108};
    default:
      return {};
  }
}

inline void put(std::byte* to, std::uint16_t bits) { std::memcpy(to, &bits, sizeof bits); }

// Random weights of about unit size: any bits, but for scales and floats, which are normal numbers.
inline void draw_weights(model::TensorType type, Random& random, GuardedBytes& bytes) {
  using enum model::TensorType;
  const auto size = static_cast<std::size_t>(model::layout_of(type).bytes);
  for (std::size_t i = 0; i < bytes.size(); i += size) {
    std::byte* block = bytes.data() + i;
    const auto value = static_cast<float>(random.normal());
    if (type == f32) {
      std::memcpy(block, &value, sizeof value);
    } else if (type == f16) {
      put(block, to_float16(value).bits);
    } else if (type == bf16) {
      put(block, to_bfloat16(value).bits);
    } else if (type == f8_e4m3) {
      block[0] = static_cast<std::byte>(random.size(0, 255) & ~0x08);  // not all ones, which is not a number
    } else {
      for (std::size_t b = 0; b < size; ++b) block[b] = static_cast<std::byte>(random.size(0, 255));
      for (const std::size_t offset : scale_offsets(type)) {
        put(block + offset, to_float16(static_cast<float>(random.normal()) / 16).bits);
      }
      if (type == mxfp4) block[0] = static_cast<std::byte>(random.size(118, 130));
    }
  }
}

}  // namespace sharpmax::test
