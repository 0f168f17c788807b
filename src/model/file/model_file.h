// A model file: GGUF, or a folder as Hugging Face saves it. Its content decides which.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/file/gguf.h"
#include "model/tensor/stored_tensor.h"
#include "storage/safetensors.h"

namespace sharpmax::model {

// A model as Hugging Face saves it: config.json, tensors in one .safetensors file or in shards with an index,
// and tokenizer.json beside them.

class SafetensorsFolder {
 public:
  // A folder, its index (*.safetensors.index.json), or one .safetensors file: what lies beside it belongs to
  // it.
  explicit SafetensorsFolder(const std::filesystem::path& path, ForeignTypes foreign = ForeignTypes::refuse);
  ~SafetensorsFolder();
  SafetensorsFolder(SafetensorsFolder&&) noexcept;
  SafetensorsFolder& operator=(SafetensorsFolder&&) noexcept;

  const std::string& name() const noexcept { return name_; }
  std::span<const StoredTensor> tensors() const noexcept { return tensors_; }  // of all shards, by name
  // Tensors that are not weights: integer and truth-value buffers (GPT-2's masks, positions), tensors without elements.
  // With ForeignTypes::keep float64 is here too, which is else refused.
  std::span<const ForeignTensor> foreign_tensors() const noexcept { return foreign_tensors_; }
  std::span<const SafetensorsFile> shards() const noexcept { return shards_; }
  const StoredTensor* find_tensor(std::string_view name) const noexcept;
  // The object in config.json; null if there is no such file.
  const nlohmann::json* configuration() const noexcept { return configuration_.get(); }
  const std::filesystem::path& folder() const noexcept { return folder_; }  // for tokenizer.json

 private:
  void open_shards(const std::filesystem::path& index);
  void collect_tensors(ForeignTypes foreign);

  std::string name_;
  std::filesystem::path folder_;
  std::vector<SafetensorsFile> shards_;
  std::vector<StoredTensor> tensors_;
  std::vector<ForeignTensor> foreign_tensors_;
  std::unique_ptr<nlohmann::json> configuration_;
};

// Of a folder's collection: a tensor whose scales are a tensor of their own, put together (MXFP4 in blocks, FP8); nothing:
// it is as it is. Error{bad_file} for scales that do not fit.
std::optional<StoredTensor> tensor_with_scales(const SafetensorsFile& shard, const SafetensorEntry& entry,
                                               std::span<const SafetensorsFile> shards,
                                               const nlohmann::json* configuration);
// Scales of MXFP4, which belong to their blocks.
bool is_part_of_another(const SafetensorEntry& entry, std::span<const SafetensorsFile> shards);

// Either kind of model file, distinguished by its contents, not by its name.

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
// lines "DIGEST  NAME\n" of its config.json, its tokenizer.json (if they are there) and its .safetensors
// files, in the order of their names:
//
//   LC_ALL=C; sha256sum config.json *.safetensors tokenizer.json | sort -k 2 | sha256sum   (docs/reference/models.md)

// `on_bytes` hears how many of how many bytes were read, and may throw to end it.
using ChecksumListener = std::function<void(std::uint64_t done, std::uint64_t whole)>;
std::string checksum_of(const ModelFile& file, const ChecksumListener& on_bytes = {});

// JSON that lies beside a model: read with suspicion.

struct JsonLimits {
  std::uint64_t bytes = std::uint64_t{16} << 20;
  int depth = 64;
};

// The object in `text`; `name` opens every message. Error{bad_file} with the byte for text that is not JSON, not
// an object, larger or deeper than the limits, or has a key twice in one object.
nlohmann::json parse_json_object(std::string_view text, std::string_view name, const JsonLimits& limits = {});
nlohmann::json read_json_object(const std::filesystem::path& path, const JsonLimits& limits = {});

}  // namespace sharpmax::model
