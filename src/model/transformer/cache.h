// Keys and values of the tokens seen so far, in float32 or float16.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>

#include "model/architecture/configuration.h"
#include "sharpmax/tensor.h"

namespace sharpmax::model {

enum class CacheType { float32, float16 };

// What a cache takes; nothing where it is more than can be counted.
std::optional<std::uint64_t> cache_bytes(const Configuration& configuration, std::int64_t tokens,
                                         CacheType type);

class KeyValueCache {
 public:
  // Room for `capacity` tokens. Pages are touched only as they are written. std::bad_alloc where there is no
  // room.
  KeyValueCache(const Configuration& configuration, std::int64_t capacity, CacheType type);

  std::int64_t capacity() const noexcept { return capacity_; }

  // Stores a token's keys and values, both [kv_head, feature].
  void store(std::int64_t layer, std::int64_t position, const float* keys, const float* values);
  // The first `count` tokens of some heads: [1, kv_head, token, feature].
  AnyTensor<4> keys(std::int64_t layer, std::int64_t first_head, std::int64_t heads,
                    std::int64_t count) const;
  AnyTensor<4> values(std::int64_t layer, std::int64_t first_head, std::int64_t heads,
                      std::int64_t count) const;

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::size_t element(std::int64_t layer, std::int64_t which, std::int64_t head, std::int64_t position) const;
  void put(std::size_t at, const float* features);
  AnyTensor<4> view(std::size_t at, std::int64_t heads, std::int64_t count) const;

  std::int64_t kv_heads_, head_width_, capacity_;
  CacheType type_;
  std::unique_ptr<std::byte, Free> memory_;  // [layer, key or value, kv_head, token, feature]
};

}  // namespace sharpmax::model
