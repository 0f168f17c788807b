// A model as Hugging Face saves it: config.json, tensors in one .safetensors file or in shards with an index,
// and tokenizer.json beside them.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/tensor/stored_tensor.h"
#include "storage/safetensors.h"

namespace sharpmax::model {

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
  // What is no weight: integer and truth-value buffers (GPT-2's masks, positions), tensors without elements.
  // With ForeignTypes::keep float64 is here too, which is else refused.
  std::span<const ForeignTensor> foreign_tensors() const noexcept { return foreign_tensors_; }
  std::span<const SafetensorsFile> shards() const noexcept { return shards_; }
  const StoredTensor* find_tensor(std::string_view name) const noexcept;
  // The object in config.json; null where there is no such file.
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

}  // namespace sharpmax::model
