#include "storage/sealed_tensors.h"

#include <fmt/format.h>

#include "base/in_quotes.h"
#include "sharpmax/error.h"

namespace sharpmax {
namespace {

constexpr const char* kChecksum = "checksum";

// One flipped bit in a weight is still a weight: only a sum over everything tells. Tensors may lie in any
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
