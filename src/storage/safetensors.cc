#include "storage/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/in_quotes.h"
#include "sharpmax/error.h"
#include "storage/files.h"

namespace sharpmax {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian; so are we");

struct SafetensorName {
  SafetensorType type;
  std::string_view name;
  std::size_t size;
};
constexpr std::array<SafetensorName, 9> kSafetensorTypes = {{{SafetensorType::f64, "F64", 8},
                                              {SafetensorType::f32, "F32", 4},
                                              {SafetensorType::f16, "F16", 2},
                                              {SafetensorType::bf16, "BF16", 2},
                                              {SafetensorType::f8_e4m3, "F8_E4M3", 1},
                                              {SafetensorType::i64, "I64", 8},
                                              {SafetensorType::i32, "I32", 4},
                                              {SafetensorType::u8, "U8", 1},
                                              {SafetensorType::boolean, "BOOL", 1}}};

const SafetensorName& named(SafetensorType type) noexcept {
  return *std::find_if(kSafetensorTypes.begin(), kSafetensorTypes.end(), [&](const SafetensorName& t) { return t.type == type; });
}

std::uint64_t byte_size(const SafetensorView& tensor) {
  std::uint64_t bytes = size_of(tensor.type);
  for (const std::int64_t extent : tensor.shape) {
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes))
      throw Error(ErrorCode::bad_argument,
                  fmt::format("tensor {} has an extent of {}; expected a shape within 64 bits",
                              in_quotes(tensor.name), extent));
  }
  return bytes;
}

// Length and JSON, padded with spaces so that the data start at a multiple of 8.
std::string header_of(std::span<const SafetensorView* const> tensors, const SafetensorMetadata& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t at = 0;
  for (const SafetensorView* tensor : tensors) {
    if (tensor->name == "__metadata__" || header.contains(tensor->name))
      throw Error(ErrorCode::bad_argument, fmt::format("tensor name {} is taken", in_quotes(tensor->name)));
    const std::uint64_t end = at + byte_size(*tensor);
    header[tensor->name] = {
        {"dtype", name_of(tensor->type)}, {"shape", tensor->shape}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorCode::bad_argument, "a tensor's name or a word of the metadata is not UTF-8");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > kSafetensorHeaderLimit)
    throw Error(ErrorCode::bad_argument, fmt::format("the header would take {} bytes; expected at most {}",
                                                     text.size(), kSafetensorHeaderLimit));
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(text.size() >> (8 * i) & 0xff);
  return out + text;
}

}  // namespace

std::size_t size_of(SafetensorType type) noexcept { return named(type).size; }
std::string_view name_of(SafetensorType type) noexcept { return named(type).name; }
std::optional<SafetensorType> safetensor_type_from(std::string_view name) noexcept {
  for (const SafetensorName& t : kSafetensorTypes)
    if (t.name == name) return t.type;
  return std::nullopt;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : name_(path.string()), file_(path), header_(parse_safetensors_header(file_.bytes(), name_)) {
  by_name_.resize(header_.tensors.size());
  std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
  std::sort(by_name_.begin(), by_name_.end(),
            [&](std::size_t a, std::size_t b) { return header_.tensors[a].name < header_.tensors[b].name; });
}

const SafetensorEntry* SafetensorsFile::find(std::string_view tensor) const noexcept {
  const auto found = std::lower_bound(
      by_name_.begin(), by_name_.end(), tensor,
      [&](std::size_t i, std::string_view name) { return std::string_view(header_.tensors[i].name) < name; });
  if (found == by_name_.end() || header_.tensors[*found].name != tensor) return nullptr;
  return &header_.tensors[*found];
}

void write_safetensors(const std::filesystem::path& path, std::span<const SafetensorView> tensors,
                       const SafetensorMetadata& metadata) {
  std::vector<const SafetensorView*> ordered;
  for (const SafetensorView& tensor : tensors) ordered.push_back(&tensor);
  std::stable_sort(ordered.begin(), ordered.end(), [](const SafetensorView* a, const SafetensorView* b) {
    return size_of(a->type) > size_of(b->type);
  });
  const std::string header = header_of(ordered, metadata);
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(header)));
  for (const SafetensorView* tensor : ordered)
    file.write({static_cast<const std::byte*>(tensor->data), byte_size(*tensor)});
  file.commit();
}

namespace {

constexpr const char* kChecksum = "checksum";

// One flipped bit in a weight is still a weight: only a sum over everything finds it. Tensors may lie in any
// order, so their own sums are added.
std::string checksum_of(const SafetensorMetadata& metadata, std::uint64_t of_tensors) {
  Checksum sum;
  for (const auto& [key, value] : metadata)
    if (key != kChecksum) sum.add(key).add(value);
  return fmt::format("{:016x}", sum.value() + of_tensors);
}

std::uint64_t checksum_of(std::string_view name, std::span<const std::byte> bytes) {
  return Checksum().add(name).add(bytes).value();
}

}  // namespace

void write_sealed_tensors(const std::filesystem::path& path, std::span<const SafetensorView> tensors,
                          SafetensorMetadata metadata) {
  std::uint64_t sum = 0;
  for (const SafetensorView& view : tensors) {
    std::size_t bytes = size_of(view.type);
    for (const std::int64_t extent : view.shape) bytes *= static_cast<std::size_t>(extent);
    sum += checksum_of(view.name, {static_cast<const std::byte*>(view.data), bytes});
  }
  metadata[kChecksum] = checksum_of(metadata, sum);
  write_safetensors(path, tensors, metadata);
}

void check_seal(const SafetensorsFile& file) {
  const auto said = file.metadata().find(kChecksum);
  if (said == file.metadata().end())
    throw Error(ErrorCode::bad_file, fmt::format("{}: the metadata have no '{}'", file.name(), kChecksum));
  std::uint64_t sum = 0;
  for (const SafetensorEntry& tensor : file.tensors()) sum += checksum_of(tensor.name, file.bytes(tensor));
  if (const std::string found = checksum_of(file.metadata(), sum); found != said->second)
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: at byte 0: the file has checksum {}; expected {}, as its metadata say: it was damaged",
                            file.name(), found, in_quotes(said->second)));
}

}  // namespace sharpmax
