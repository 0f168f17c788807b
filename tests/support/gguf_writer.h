// GGUF files as tests want them: well-formed by default, and wrong in any one place that a test names.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/file/gguf.h"

namespace sharpmax::test {

template <typename T>
std::string raw(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}
inline std::string raw_text(std::string_view text) {
  return raw(std::uint64_t{text.size()}) + std::string(text);
}

class GgufWriter {
 public:
  using Type = model::GgufType;

  // The numbers of the types that tests write.
  enum Tensor : std::uint32_t { f32 = 0, f16 = 1, q4_0 = 2, q4_k = 12, iq2_s = 22, i32 = 26 };

  std::string magic = "GGUF";
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;  // what the places keep to, whatever the metadata say
  std::optional<std::uint64_t> tensor_count, entry_count;  // in place of the true ones

  GgufWriter& add_raw(std::string_view key, std::uint32_t type, const std::string& value) {
    entries_.push_back(raw_text(key) + raw(type) + value);
    return *this;
  }
  GgufWriter& add(std::string_view key, std::string_view text) {
    return add_raw(key, number(Type::string), raw_text(text));
  }
  GgufWriter& add(std::string_view key, const char* text) { return add(key, std::string_view(text)); }
  GgufWriter& add(std::string_view key, std::same_as<bool> auto value) {
    return add_raw(key, number(Type::boolean), raw(static_cast<std::uint8_t>(value)));
  }
  GgufWriter& add(std::string_view key, std::uint32_t value) {
    return add_raw(key, number(Type::uint32), raw(value));
  }
  GgufWriter& add(std::string_view key, float value) {
    return add_raw(key, number(Type::float32), raw(value));
  }
  GgufWriter& add_array(std::string_view key, Type element, std::uint64_t count,
                        const std::string& elements) {
    return add_raw(key, number(Type::array), raw(number(element)) + raw(count) + elements);
  }
  GgufWriter& add(std::string_view key, const std::vector<std::string>& texts) {
    std::string elements;
    for (const std::string& text : texts) elements += raw_text(text);
    return add_array(key, Type::string, texts.size(), elements);
  }
  template <typename T>
  GgufWriter& add(std::string_view key, Type element, const std::vector<T>& values) {
    std::string elements;
    for (const T value : values) elements += raw(value);
    return add_array(key, element, values.size(), elements);
  }

  // `shape` is innermost last; `data` are the tensor's bytes, put behind those of the tensor before.
  GgufWriter& add_tensor(std::string_view name, std::uint32_t type, const std::vector<std::uint64_t>& shape,
                         const std::string& data) {
    data_.resize((data_.size() + alignment - 1) / alignment * alignment);
    describe(name, type, shape, data_.size());
    data_ += data;
    return *this;
  }
  // A description alone.
  GgufWriter& describe(std::string_view name, std::uint32_t type, const std::vector<std::uint64_t>& shape,
                       std::uint64_t offset) {
    std::string bytes = raw_text(name) + raw(static_cast<std::uint32_t>(shape.size()));
    for (auto extent = shape.rbegin(); extent != shape.rend(); ++extent) bytes += raw(*extent);
    tensors_.push_back(bytes + raw(type) + raw(offset));
    return *this;
  }

  // Where entry or description number i begins.
  std::uint64_t entry_at(std::size_t i) const { return kOpening + size_of(entries_, i); }
  std::uint64_t tensor_at(std::size_t i) const {
    return kOpening + size_of(entries_, entries_.size()) + size_of(tensors_, i);
  }

  std::string bytes() const {
    std::string out = magic + raw(version) + raw(tensor_count.value_or(tensors_.size())) +
                      raw(entry_count.value_or(entries_.size()));
    for (const std::string& entry : entries_) out += entry;
    for (const std::string& tensor : tensors_) out += tensor;
    if (!data_.empty()) out.resize((out.size() + alignment - 1) / alignment * alignment);
    return out + data_;
  }

 private:
  static constexpr std::uint64_t kOpening = 4 + 4 + 8 + 8;
  static std::uint32_t number(Type type) { return static_cast<std::uint32_t>(type); }
  static std::uint64_t size_of(const std::vector<std::string>& parts, std::size_t count) {
    std::uint64_t size = 0;
    for (std::size_t i = 0; i < count; ++i) size += parts[i].size();
    return size;
  }

  std::vector<std::string> entries_, tensors_;
  std::string data_;
};

}  // namespace sharpmax::test
