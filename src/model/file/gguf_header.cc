#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_set>

#include "base/in_quotes.h"
#include "model/file/gguf.h"

namespace sharpmax::model {
namespace {

constexpr std::uint64_t kAlignmentLimit = std::uint64_t{1} << 20;
constexpr std::uint32_t kMaxRank = 4;
constexpr std::string_view kAlignmentKey = "general.alignment";
// The least that an entry takes (length of the key, type, one byte), and a tensor (length of the name, rank,
// type, offset), a text (its length).
constexpr std::uint64_t kLeastEntry = 8 + 4 + 1, kLeastTensor = 8 + 4 + 4 + 8, kLeastText = 8;

// A tensor as the file describes it, before its place is known to be good.
struct Description {
  std::string name;
  std::uint64_t at = 0;             // of the description
  std::vector<std::int64_t> shape;  // innermost last
  const GgufTensorType* type = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;  // in the data
};

class HeaderReader {
 public:
  HeaderReader(std::span<const std::byte> file, std::string_view name, ForeignTypes foreign)
      : file_(file), cursor_(file, name), foreign_(foreign) {}

  GgufHeader read() {
    read_opening();
    const std::uint64_t tensors = cursor_.count("tensors", kLeastTensor);
    const std::uint64_t entries = cursor_.count("metadata entries", kLeastEntry);
    read_entries(entries);
    find_alignment();
    read_descriptions(tensors);
    place_tensors();
    return std::move(header_);
  }

 private:
  void read_opening() {
    if (const auto magic = as_text(cursor_.bytes(4, "the magic word")); magic != "GGUF")
      cursor_.fail(0, fmt::format("the file opens with {}; expected 'GGUF'", in_quotes(magic)));
    header_.version = cursor_.number<std::uint32_t>("the version");
    if (header_.version != 0 && (header_.version & 0xffff) == 0)
      cursor_.fail(4, "the file is big-endian; expected little-endian");
    if (header_.version != 2 && header_.version != 3)
      cursor_.fail(4, fmt::format("the file has version {}; expected 2 or 3", header_.version));
  }

  void read_entries(std::uint64_t count) {
    std::unordered_set<std::string_view> keys;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t at = cursor_.at();
      const auto key = as_text(cursor_.text("a key"));
      if (!keys.insert(key).second) cursor_.fail(at, fmt::format("key {} appears twice", in_quotes(key)));
      header_.entries.push_back({std::string(key), read_value(key)});
    }
  }

  GgufType read_type(std::string_view key, std::string_view what) {
    const std::uint64_t at = cursor_.at();
    const auto number = cursor_.number<std::uint32_t>("the type of a value");
    if (number > static_cast<std::uint32_t>(GgufType::float64))
      cursor_.fail(at, fmt::format("{} of {} has type {}; expected 0 to {}", what, in_quotes(key), number,
                                   static_cast<std::uint32_t>(GgufType::float64)));
    return static_cast<GgufType>(number);
  }

  GgufValue read_value(std::string_view key) {
    GgufValue value;
    value.type = read_type(key, "the value");
    if (value.type == GgufType::array) {
      value.element = read_type(key, "the array");
      read_array(key, value);
    } else if (value.type == GgufType::string) {
      value.bytes = cursor_.text("a text");
      value.offset = cursor_.at() - value.bytes.size();
    } else {
      value.offset = cursor_.at();
      value.bytes = cursor_.bytes(size_of(value.type), "a value");
      if (value.type == GgufType::boolean) check_booleans(key, value);
    }
    return value;
  }

  void read_array(std::string_view key, GgufValue& value) {
    if (value.element == GgufType::array)
      cursor_.fail(cursor_.at() - 4,
                   fmt::format("{} is an array of arrays; expected one of values", in_quotes(key)),
                   ErrorCode::unsupported);
    const bool texts = value.element == GgufType::string;
    const std::uint64_t least = texts ? kLeastText : size_of(value.element);
    value.count = cursor_.count(fmt::format("elements in {}", in_quotes(key)), least);
    value.offset = cursor_.at();
    if (texts)
      for (std::uint64_t i = 0; i < value.count; ++i) cursor_.text("a text of an array");
    else
      cursor_.bytes(value.count * least, "an array");
    value.bytes = file_.subspan(value.offset, cursor_.at() - value.offset);
    if (value.element == GgufType::boolean) check_booleans(key, value);
  }

  void check_booleans(std::string_view key, const GgufValue& value) {
    const auto bad = std::find_if(value.bytes.begin(), value.bytes.end(),
                                  [](std::byte b) { return std::to_integer<int>(b) > 1; });
    if (bad != value.bytes.end())
      cursor_.fail(value.offset + static_cast<std::uint64_t>(bad - value.bytes.begin()),
                   fmt::format("{} has the truth value {}; expected 0 or 1", in_quotes(key),
                               std::to_integer<int>(*bad)));
  }

  void find_alignment() {
    for (const GgufEntry& entry : header_.entries) {
      if (entry.key != kAlignmentKey) continue;
      const GgufValue& value = entry.value;
      if (value.type != GgufType::uint32)
        cursor_.fail(value.offset,
                     fmt::format("{} is of type {}; expected uint32", kAlignmentKey, name_of(value.type)));
      header_.alignment = stored<std::uint32_t>(value.bytes.data());
      if (!std::has_single_bit(header_.alignment) || header_.alignment > kAlignmentLimit)
        cursor_.fail(value.offset, fmt::format("{} is {}; expected a power of two, {} at most", kAlignmentKey,
                                               header_.alignment, kAlignmentLimit));
    }
  }

  void read_descriptions(std::uint64_t count) {
    if (count > cursor_.left() / kLeastTensor)
      cursor_.fail(cursor_.at(), fmt::format("{} tensors should be described here, but {} bytes are left",
                                             count, cursor_.left()));
    std::unordered_set<std::string_view> names;
    for (std::uint64_t i = 0; i < count; ++i) {
      Description tensor{.at = cursor_.at()};
      const auto name = as_text(cursor_.text("a tensor's name"));
      if (!names.insert(name).second)
        cursor_.fail(tensor.at, fmt::format("tensor {} appears twice", in_quotes(name)));
      tensor.name = name;
      read_shape(tensor);
      read_tensor_type(tensor);
      tensor.offset = cursor_.number<std::uint64_t>("a tensor's offset");
      if (tensor.offset % header_.alignment != 0)
        cursor_.fail(cursor_.at() - 8,
                     fmt::format("tensor {} lies at {} of the data; expected a multiple of {}",
                                 in_quotes(tensor.name), tensor.offset, header_.alignment));
      descriptions_.push_back(std::move(tensor));
    }
  }

  void read_shape(Description& tensor) {
    const std::uint64_t at = cursor_.at();
    const auto rank = cursor_.number<std::uint32_t>("a tensor's rank");
    if (rank > kMaxRank)
      cursor_.fail(at, fmt::format("tensor {} has {} dimensions; expected {} at most", in_quotes(tensor.name),
                                   rank, kMaxRank));
    for (std::uint32_t i = 0; i < rank; ++i) {
      const auto extent = cursor_.number<std::uint64_t>("a tensor's shape");
      if (extent == 0 || extent > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        cursor_.fail(cursor_.at() - 8, fmt::format("tensor {} has an extent of {}; expected 1 to 2^63 - 1",
                                                   in_quotes(tensor.name), extent));
      tensor.shape.push_back(static_cast<std::int64_t>(extent));
    }
    std::reverse(tensor.shape.begin(), tensor.shape.end());  // the file has the innermost first
  }

  void read_tensor_type(Description& tensor) {
    const std::uint64_t at = cursor_.at();
    const auto number = cursor_.number<std::uint32_t>("a tensor's type");
    const std::string words = fmt::format("tensor {}", in_quotes(tensor.name));
    tensor.type = gguf_tensor_type(number);
    if (const auto removed = removed_gguf_type(number); !removed.empty())
      cursor_.fail(at, fmt::format("{} is of type {}, which the format no longer has", words, removed),
                   ErrorCode::unsupported);
    if (!tensor.type) cursor_.fail(at, fmt::format("{} is of type {}, which we do not know", words, number));
    const TypeLayout& layout = tensor.type->layout;
    if (!tensor.type->ours && foreign_ == ForeignTypes::refuse)
      cursor_.fail(at, fmt::format("{} is of type {}, which cannot be multiplied here", words, layout.name),
                   ErrorCode::unsupported);
    std::int64_t elements = 1;
    for (const std::int64_t extent : tensor.shape)
      if (__builtin_mul_overflow(elements, extent, &elements))
        cursor_.fail(at, fmt::format("the shape of {} needs more than 63 bits", words));
    const std::int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
    if (row % layout.block != 0)
      cursor_.fail(at, fmt::format("{} has rows of {}; {} wants a multiple of {}", words, row, layout.name,
                                   layout.block));
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(elements / layout.block, layout.bytes, &bytes))
      cursor_.fail(at, fmt::format("{} needs more than 2^63 bytes", words));
    tensor.bytes = static_cast<std::uint64_t>(bytes);
  }

  void place_tensors() {
    // Cannot overflow: both are far below 2^63.
    header_.data_offset = (cursor_.at() + header_.alignment - 1) / header_.alignment * header_.alignment;
    const std::uint64_t data = file_.size() - std::min<std::uint64_t>(file_.size(), header_.data_offset);
    for (const Description& tensor : descriptions_)
      if (tensor.offset > data || tensor.bytes > data - tensor.offset)
        cursor_.fail(tensor.at, fmt::format("tensor {} takes {} bytes from {} of the data, which have {}",
                                            in_quotes(tensor.name), tensor.bytes, tensor.offset, data));
    check_overlap();
    for (Description& tensor : descriptions_) {
      const std::uint64_t offset = header_.data_offset + tensor.offset;
      if (tensor.type->ours)
        header_.tensors.push_back({std::move(tensor.name), *tensor.type->ours, std::move(tensor.shape),
                                   file_.subspan(offset, tensor.bytes), offset});
      else
        header_.foreign_tensors.push_back({std::move(tensor.name), tensor.type->layout.name,
                                           std::move(tensor.shape), tensor.bytes, offset});
    }
  }

  void check_overlap() const {
    std::vector<const Description*> ordered;
    for (const Description& tensor : descriptions_) ordered.push_back(&tensor);
    std::sort(ordered.begin(), ordered.end(),
              [](const Description* a, const Description* b) { return a->offset < b->offset; });
    for (std::size_t i = 1; i < ordered.size(); ++i) {
      const Description &before = *ordered[i - 1], &tensor = *ordered[i];
      if (tensor.offset < before.offset + before.bytes)
        cursor_.fail(tensor.at, fmt::format("tensor {} begins at {} of the data, within {}",
                                            in_quotes(tensor.name), tensor.offset, in_quotes(before.name)));
    }
  }

  std::span<const std::byte> file_;
  GgufCursor cursor_;
  ForeignTypes foreign_;
  GgufHeader header_;
  std::vector<Description> descriptions_;
};

}  // namespace

GgufHeader parse_gguf_header(std::span<const std::byte> file, std::string_view name, ForeignTypes foreign) {
  return HeaderReader(file, name, foreign).read();
}

}  // namespace sharpmax::model
