#include "model/transformer/cache.h"

#include <algorithm>
#include <new>

#include "model/transformer/vector_parts.h"

namespace sharpmax::model {
namespace {

DType dtype_of(CacheType type) { return type == CacheType::float32 ? DType::float32 : DType::float16; }

}  // namespace

std::optional<std::uint64_t> cache_bytes(const Configuration& c, std::int64_t tokens, CacheType type) {
  const std::int64_t factors[] = {c.layers,     2,      c.kv_heads,
                                  c.head_width, tokens, static_cast<std::int64_t>(size_of(dtype_of(type)))};
  std::int64_t bytes = 1;
  for (const std::int64_t factor : factors)
    if (__builtin_mul_overflow(bytes, factor, &bytes)) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

KeyValueCache::KeyValueCache(const Configuration& c, std::int64_t capacity, CacheType type)
    : kv_heads_(c.kv_heads), head_width_(c.head_width), capacity_(capacity), type_(type) {
  const auto bytes = cache_bytes(c, capacity, type);
  if (!bytes) throw std::bad_alloc();
  // calloc: large blocks come as untouched pages, so that memory grows with the tokens, not with the room.
  memory_.reset(static_cast<std::byte*>(std::calloc(*bytes + 1, 1)));
  if (!memory_) throw std::bad_alloc();
}

std::size_t KeyValueCache::element(std::int64_t layer, std::int64_t which, std::int64_t head,
                                   std::int64_t position) const {
  return static_cast<std::size_t>((((layer * 2 + which) * kv_heads_ + head) * capacity_ + position) *
                                  head_width_);
}

void KeyValueCache::put(std::size_t at, const float* features) {
  if (type_ == CacheType::float32) {
    std::copy_n(features, head_width_, reinterpret_cast<float*>(memory_.get()) + at);
  } else {
    to_float16(features, head_width_, reinterpret_cast<float16*>(memory_.get()) + at);
  }
}

void KeyValueCache::store(std::int64_t layer, std::int64_t position, const float* keys, const float* values) {
  for (std::int64_t head = 0; head < kv_heads_; ++head) {
    put(element(layer, 0, head, position), keys + head * head_width_);
    put(element(layer, 1, head, position), values + head * head_width_);
  }
}

AnyTensor<4> KeyValueCache::view(std::size_t at, std::int64_t heads, std::int64_t count) const {
  const std::int64_t head_stride = capacity_ * head_width_;
  return {memory_.get() + at * size_of(dtype_of(type_)),
          dtype_of(type_),
          {1, heads, count, head_width_},
          {heads * head_stride, head_stride, head_width_, 1}};
}

AnyTensor<4> KeyValueCache::keys(std::int64_t layer, std::int64_t first, std::int64_t heads,
                                 std::int64_t count) const {
  return view(element(layer, 0, first, 0), heads, count);
}
AnyTensor<4> KeyValueCache::values(std::int64_t layer, std::int64_t first, std::int64_t heads,
                                   std::int64_t count) const {
  return view(element(layer, 1, first, 0), heads, count);
}

}  // namespace sharpmax::model
