// A model's settings, wherever its file keeps them: GGUF metadata or config.json. Typed before any use; every
// refusal says where the setting stands and what was expected.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/architecture/configuration.h"
#include "model/file/model_file.h"

namespace sharpmax::model {

// A setting's name in each kind of file: GGUF's without the architecture's prefix, config.json's as a path
// ("rope_parameters.rope_theta"). Of several names the first that is there counts.
struct SettingName {
  std::string_view gguf;
  std::initializer_list<std::string_view> folder;
};

class Settings {
 public:
  explicit Settings(const ModelFile& file);  // Error{bad_file} for a folder without config.json

  bool from_gguf() const noexcept { return gguf_ != nullptr; }
  const ModelFile& file() const noexcept { return *file_; }
  std::string architecture() const;  // general.architecture, or model_type

  std::optional<std::int64_t> integer(const SettingName& name) const;
  std::optional<double> number(const SettingName& name) const;
  std::optional<bool> boolean(const SettingName& name) const;
  std::optional<std::string> text(const SettingName& name) const;
  std::optional<std::vector<std::string>> texts(const SettingName& name) const;

  // At least 1 and at most 2^31: a size that can be multiplied without overflow.
  std::int64_t size(const SettingName& name) const;
  std::int64_t size_or(const SettingName& name, std::int64_t otherwise) const;

 private:
  std::string gguf_key(std::string_view name) const;
  const nlohmann::json* folder_value(const SettingName& name, std::string_view& found) const;
  [[noreturn]] void refuse(std::string_view name, std::string_view wanted) const;

  const ModelFile* file_;
  const GgufFile* gguf_ = nullptr;
  const nlohmann::json* json_ = nullptr;
  std::string prefix_;
};

// Rotary positions as the file has them.

Rope read_rope(const Settings& settings, RotationPairs pairs, const Configuration& configuration);

}  // namespace sharpmax::model
