// Either kind of model file, told apart by what is in it, not by its name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include "model/file/gguf.h"
#include "model/file/safetensors_folder.h"

namespace sharpmax::model {

using ModelFile = std::variant<GgufFile, SafetensorsFolder>;

// A GGUF file, a .safetensors file, an index of shards, or a folder with either of the last two. Pickles are
// never read.
ModelFile open_model_file(const std::filesystem::path& path, ForeignTypes foreign = ForeignTypes::refuse);

inline const std::string& name_of(const ModelFile& file) {
  return std::visit([](const auto& f) -> const std::string& { return f.name(); }, file);
}
inline std::span<const StoredTensor> tensors_of(const ModelFile& file) {
  return std::visit([](const auto& f) { return f.tensors(); }, file);
}
inline std::span<const ForeignTensor> foreign_tensors_of(const ModelFile& file) {
  return std::visit([](const auto& f) { return f.foreign_tensors(); }, file);
}
inline const StoredTensor* find_tensor(const ModelFile& file, std::string_view name) {
  return std::visit([&](const auto& f) { return f.find_tensor(name); }, file);
}

// Which model it is, told by its bytes: SHA-256 in hexadecimal.
//
// Of a GGUF file the checksum of the file, as `sha256sum` and Hugging Face print it. Of a folder that of the
// lines "DIGEST  NAME\n" of its config.json, its tokenizer.json (where they are there) and its .safetensors
// files, in the order of their names:
//
//   LC_ALL=C; sha256sum config.json *.safetensors tokenizer.json | sort -k 2 | sha256sum   (docs/reference/models.md)

// `on_bytes` hears how many of how many bytes were read, and may throw to end it.
using ChecksumListener = std::function<void(std::uint64_t done, std::uint64_t whole)>;
std::string checksum_of(const ModelFile& file, const ChecksumListener& on_bytes = {});

}  // namespace sharpmax::model
