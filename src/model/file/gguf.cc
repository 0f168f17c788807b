#include "model/file/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "base/in_quotes.h"

namespace sharpmax::model {
namespace {

struct NamedType {
  std::string_view name;
  std::uint64_t size;
};

// In the order of GgufType.
constexpr std::array<NamedType, 13> kValueTypes = {{{"uint8", 1},
                                                    {"int8", 1},
                                                    {"uint16", 2},
                                                    {"int16", 2},
                                                    {"uint32", 4},
                                                    {"int32", 4},
                                                    {"float32", 4},
                                                    {"boolean", 1},
                                                    {"string", 0},
                                                    {"array", 0},
                                                    {"uint64", 8},
                                                    {"int64", 8},
                                                    {"float64", 8}}};

// Types that the format has and we do not, with their sizes, so that a file with such tensors can be checked and listed.
constexpr TypeLayout kForeignTypes[] = {
    {"Q8_1", 32, 40, 9},    {"Q8_K", 256, 292, 15}, {"IQ2_XXS", 256, 66, 16}, {"IQ2_XS", 256, 74, 17}, {"IQ3_XXS", 256, 98, 18},
    {"IQ1_S", 256, 50, 19}, {"IQ3_S", 256, 110, 21}, {"IQ2_S", 256, 82, 22},  {"I8", 1, 1, 24},        {"I16", 1, 2, 25},
    {"I32", 1, 4, 26},      {"I64", 1, 8, 27},       {"F64", 1, 8, 28},       {"IQ1_M", 256, 56, 29},  {"TQ1_0", 256, 54, 34},
    {"TQ2_0", 256, 66, 35}, {"NVFP4", 64, 36, 40},   {"Q1_0", 128, 18, 41},
};

const std::vector<GgufTensorType>& tensor_types() {
  static const std::vector<GgufTensorType> types = [] {
    std::vector<GgufTensorType> list;
    for (int i = 0; i < kTensorTypes; ++i) {
      const auto type = static_cast<TensorType>(i);
      if (const auto number = layout_of(type).gguf) list.push_back({*number, layout_of(type), type});
    }
    for (const TypeLayout& layout : kForeignTypes) list.push_back({*layout.gguf, layout, {}});
    return list;
  }();
  return types;
}

struct RemovedType {
  std::uint32_t number;
  std::string_view name;
};
constexpr std::array<RemovedType, 8> kRemoved = {{{4, "Q4_2"},
                                                  {5, "Q4_3"},
                                                  {31, "Q4_0_4_4"},
                                                  {32, "Q4_0_4_8"},
                                                  {33, "Q4_0_8_8"},
                                                  {36, "IQ4_NL_4_4"},
                                                  {37, "IQ4_NL_4_8"},
                                                  {38, "IQ4_NL_8_8"}}};

}  // namespace

std::string_view name_of(GgufType type) noexcept { return kValueTypes[static_cast<std::size_t>(type)].name; }
std::uint64_t size_of(GgufType type) noexcept { return kValueTypes[static_cast<std::size_t>(type)].size; }

const GgufTensorType* gguf_tensor_type(std::uint32_t number) noexcept {
  const auto& types = tensor_types();
  const auto found =
      std::find_if(types.begin(), types.end(), [&](const GgufTensorType& t) { return t.number == number; });
  return found == types.end() ? nullptr : &*found;
}

std::string_view removed_gguf_type(std::uint32_t number) noexcept {
  const auto found = std::find_if(kRemoved.begin(), kRemoved.end(),
                                  [&](const RemovedType& t) { return t.number == number; });
  return found == kRemoved.end() ? std::string_view() : found->name;
}

namespace {

bool is_whole(GgufType type) noexcept {
  return type != GgufType::float32 && type != GgufType::float64 && type != GgufType::boolean &&
         type != GgufType::string && type != GgufType::array;
}

// A whole number or truth value of `type`; nothing if it is too large.
std::optional<std::int64_t> whole(GgufType type, const std::byte* at) {
  switch (type) {
    case GgufType::uint8:
    case GgufType::boolean:
      return stored<std::uint8_t>(at);
    case GgufType::int8:
      return stored<std::int8_t>(at);
    case GgufType::uint16:
      return stored<std::uint16_t>(at);
    case GgufType::int16:
      return stored<std::int16_t>(at);
    case GgufType::uint32:
      return stored<std::uint32_t>(at);
    case GgufType::int32:
      return stored<std::int32_t>(at);
    case GgufType::int64:
      return stored<std::int64_t>(at);
    case GgufType::uint64:
      break;
    default:
      return std::nullopt;
  }
  const auto value = stored<std::uint64_t>(at);
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::string kind_of(const GgufValue& value) {
  if (value.type == GgufType::array) return fmt::format("an array of {}", name_of(value.element));
  return std::string(name_of(value.type));
}

[[noreturn]] void refuse(std::string_view file, const GgufEntry& entry, std::string_view wanted) {
  throw Error(ErrorCode::bad_file,
              fmt::format("{}: at byte {}: {} is {}; expected {}", file, entry.value.offset,
                          in_quotes(entry.key), kind_of(entry.value), wanted));
}

std::int64_t whole_that_fits(std::string_view file, const GgufEntry& entry, GgufType type,
                             std::uint64_t index) {
  const std::uint64_t place = index * size_of(type);
  const auto value = whole(type, entry.value.bytes.data() + place);
  if (!value)
    throw Error(ErrorCode::bad_file, fmt::format("{}: at byte {}: {} holds a number of 2^63 or more", file,
                                                 entry.value.offset + place, in_quotes(entry.key)));
  return *value;
}

template <class Item>
std::vector<std::size_t> sorted_by(std::span<const Item> items, std::string Item::*name) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return items[a].*name < items[b].*name; });
  return order;
}

template <class Item>
const Item* find_in(std::span<const Item> items, std::span<const std::size_t> order, std::string Item::*name,
                    std::string_view wanted) noexcept {
  const auto found = std::lower_bound(
      order.begin(), order.end(), wanted,
      [&](std::size_t i, std::string_view key) { return std::string_view(items[i].*name) < key; });
  return found == order.end() || items[*found].*name != wanted ? nullptr : &items[*found];
}

}  // namespace

GgufFile::GgufFile(const std::filesystem::path& path, ForeignTypes foreign) : name_(path.string()) {
  parts_.push_back({name_, MappedFile(path)});
  header_ = parse_gguf_header(parts_.front().file.bytes(), name_, foreign);
  keys_ = sorted_by(entries(), &GgufEntry::key);
  open_other_parts(path, foreign);
  names_ = sorted_by(tensors(), &StoredTensor::name);
}

std::uint64_t GgufFile::size() const noexcept {
  std::uint64_t bytes = 0;
  for (const GgufPart& part : parts_) bytes += part.file.bytes().size();
  return bytes;
}

namespace {

[[noreturn]] void refuse_part(std::string_view part, const std::string& what) {
  throw Error(ErrorCode::bad_file, fmt::format("{}: {}", part, what));
}

// The name of a part of a model, counted from 0, as llama.cpp gives it.
std::string part_ending(std::int64_t part, std::int64_t parts) {
  return fmt::format("-{:05}-of-{:05}.gguf", part + 1, parts);
}

// A number that every part must have; headers of parts are not a GgufFile, so that none of them looks for others.
std::int64_t part_number(const GgufHeader& header, std::string_view key, const std::string& name) {
  for (const GgufEntry& entry : header.entries)
    if (entry.key == key && is_whole(entry.value.type)) return whole_that_fits(name, entry, entry.value.type, 0);
  refuse_part(name, fmt::format("there is no whole number {}, which every part of a split model has", key));
}

}  // namespace

void GgufFile::open_other_parts(const std::filesystem::path& path, ForeignTypes foreign) {
  constexpr std::int64_t kMostParts = 99999;
  const std::int64_t count = integer("split.count").value_or(1);
  if (count < 2) return;
  const std::string file = path.filename().string(), ending = part_ending(0, count);
  if (const std::int64_t number = integer("split.no").value_or(0); number != 0)
    refuse_part(name_, fmt::format("this is part {} of {} of a model; give the first part (…{})", number + 1, count, ending));
  if (count > kMostParts || !file.ends_with(ending))
    refuse_part(name_, fmt::format("this is the first of {} parts of a model, and its name must end in {}", count, ending));
  const std::string stem = file.substr(0, file.size() - ending.size());
  for (std::int64_t part = 1; part < count; ++part) {
    const std::filesystem::path beside = path.parent_path() / (stem + part_ending(part, count));
    const std::string name = beside.string();
    parts_.push_back({name, MappedFile(beside)});
    GgufHeader header = parse_gguf_header(parts_.back().file.bytes(), name, foreign);
    if (part_number(header, "split.no", name) != part || part_number(header, "split.count", name) != count)
      refuse_part(name, fmt::format("its entries split.no and split.count do not say that it is part {} of {}", part + 1, count));
    std::move(header.tensors.begin(), header.tensors.end(), std::back_inserter(header_.tensors));
    std::move(header.foreign_tensors.begin(), header.foreign_tensors.end(), std::back_inserter(header_.foreign_tensors));
  }
  const auto found = static_cast<std::int64_t>(header_.tensors.size() + header_.foreign_tensors.size());
  if (const auto promised = integer("split.tensors.count"); promised && *promised != found)
    refuse_part(name_, fmt::format("split.tensors.count is {}, and the {} parts hold {} tensors", *promised, count, found));
  std::vector<std::size_t> order = sorted_by(tensors(), &StoredTensor::name);
  for (std::size_t i = 1; i < order.size(); ++i)
    if (header_.tensors[order[i]].name == header_.tensors[order[i - 1]].name)
      refuse_part(name_, fmt::format("tensor {} is in two parts", in_quotes(header_.tensors[order[i]].name)));
}

const GgufEntry* GgufFile::find(std::string_view key) const noexcept {
  return find_in(entries(), keys_, &GgufEntry::key, key);
}
const StoredTensor* GgufFile::find_tensor(std::string_view name) const noexcept {
  return find_in(tensors(), names_, &StoredTensor::name, name);
}

std::optional<std::int64_t> GgufFile::integer(std::string_view key) const {
  const GgufEntry* entry = find(key);
  if (!entry) return std::nullopt;
  if (!is_whole(entry->value.type)) refuse(name_, *entry, "a whole number");
  return whole_that_fits(name_, *entry, entry->value.type, 0);
}

std::optional<double> GgufFile::number(std::string_view key) const {
  const GgufEntry* entry = find(key);
  if (!entry) return std::nullopt;
  const GgufValue& value = entry->value;
  if (value.type == GgufType::float32) return stored<float>(value.bytes.data());
  if (value.type == GgufType::float64) return stored<double>(value.bytes.data());
  if (!is_whole(value.type)) refuse(name_, *entry, "a number");
  return static_cast<double>(whole_that_fits(name_, *entry, value.type, 0));
}

std::optional<bool> GgufFile::boolean(std::string_view key) const {
  const GgufEntry* entry = find(key);
  if (!entry) return std::nullopt;
  if (entry->value.type != GgufType::boolean) refuse(name_, *entry, "boolean");
  return entry->value.bytes[0] != std::byte{0};
}

std::optional<std::string_view> GgufFile::text(std::string_view key) const {
  const GgufEntry* entry = find(key);
  if (!entry) return std::nullopt;
  if (entry->value.type != GgufType::string) refuse(name_, *entry, "string");
  return as_text(entry->value.bytes);
}

// An empty array holds nothing of the wrong type: writers give it any.
std::optional<std::vector<std::string_view>> GgufFile::texts(std::string_view key) const {
  const GgufEntry* entry = find(key);
  if (!entry) return std::nullopt;
  const GgufValue& value = entry->value;
  if (value.type != GgufType::array || (value.element != GgufType::string && value.count > 0))
    refuse(name_, *entry, "an array of string");
  std::vector<std::string_view> found;
  found.reserve(value.count);
  GgufCursor cursor(value.bytes, name_);
  for (std::uint64_t i = 0; i < value.count; ++i) found.push_back(as_text(cursor.text("a text of an array")));
  return found;
}

std::optional<std::vector<float>> GgufFile::numbers(std::string_view key) const {
  const GgufEntry* entry = find(key);
  if (!entry) return std::nullopt;
  const GgufValue& value = entry->value;
  if (value.type != GgufType::array || (value.element != GgufType::float32 && value.count > 0))
    refuse(name_, *entry, "an array of float32");
  std::vector<float> found(value.count);
  if (value.count > 0) std::memcpy(found.data(), value.bytes.data(), value.bytes.size());
  return found;
}

std::optional<std::vector<std::int64_t>> GgufFile::integers(std::string_view key) const {
  const GgufEntry* entry = find(key);
  if (!entry) return std::nullopt;
  const GgufValue& value = entry->value;
  const bool fit = is_whole(value.element) || value.element == GgufType::boolean;
  if (value.type != GgufType::array || (!fit && value.count > 0))
    refuse(name_, *entry, "an array of whole numbers");
  std::vector<std::int64_t> found;
  found.reserve(value.count);
  for (std::uint64_t i = 0; i < value.count; ++i)
    found.push_back(whole_that_fits(name_, *entry, value.element, i));
  return found;
}

}  // namespace sharpmax::model
