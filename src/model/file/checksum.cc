#include "model/file/checksum.h"

#include <map>

#include "storage/digest.h"
#include "storage/mapped_file.h"

namespace sharpmax::model {
namespace {

namespace fs = std::filesystem;
using Bytes = std::span<const std::byte>;

std::string checksum_of(const GgufFile& file, const ChecksumListener& on_bytes) {
  return sha256_of(file.bytes(), [&](std::size_t done) {
    if (on_bytes) on_bytes(done, file.size());
  });
}

std::string checksum_of(const SafetensorsFolder& folder, const ChecksumListener& on_bytes) {
  std::map<std::string, Bytes> parts;
  std::map<std::string, MappedFile> beside;
  for (const char* name : {"config.json", "tokenizer.json"}) {
    std::error_code ignored;
    if (!fs::exists(folder.folder() / name, ignored)) continue;
    parts[name] = beside.emplace(name, MappedFile(folder.folder() / name)).first->second.bytes();
  }
  for (const SafetensorsFile& shard : folder.shards())
    parts[fs::path(shard.name()).filename().string()] = shard.bytes();
  std::uint64_t whole = 0, before = 0;
  for (const auto& [name, bytes] : parts) whole += bytes.size();
  std::string lines;
  for (const auto& [name, bytes] : parts) {
    lines += sha256_of(bytes, [&](std::size_t done) {
      if (on_bytes) on_bytes(before + done, whole);
    });
    lines += "  " + name + "\n";
    before += bytes.size();
  }
  return sha256_of(std::as_bytes(std::span(lines)));
}

}  // namespace

std::string checksum_of(const ModelFile& file, const ChecksumListener& on_bytes) {
  return std::visit([&](const auto& f) { return checksum_of(f, on_bytes); }, file);
}

}  // namespace sharpmax::model
