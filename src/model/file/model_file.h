// Either kind of model file, told apart by what is in it, not by its name.
#pragma once

#include <filesystem>
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

}  // namespace sharpmax::model
