// Descriptions of architectures, and the settings of a model file that fill them in.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/architecture/configuration.h"
#include "model/file/model_file.h"

namespace sharpmax::model {

// A model's settings, wherever its file keeps them: GGUF metadata or config.json. Typed before any use; every
// refusal says where the setting stands and what was expected.

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

// An architecture is a description: which parts it has, what its file calls them, and what is peculiar to it.
// One file in family/ is one architecture; the forward pass knows none of them by name.

// Names of tensors without ".weight" and ".bias"; {} is the layer. Empty: the architecture has no such part.
struct PartNames {
  std::vector<std::string_view> prefixes = {
      ""};  // the first under which the embedding is found is the file's own
  std::string_view embedding, positions, final_norm, head;
  std::string_view attention_norm, query, key, value, query_key_value, attention_out, after_attention_norm;
  std::string_view feed_forward_norm, gate, up, down, after_feed_forward_norm;
};

enum class Presence { absent, required, where_present };

struct Architecture {
  std::string_view name;                             // of GGUF's general.architecture
  std::vector<std::string_view> transformers_names;  // of config.json's model_type
  std::string_view covers;                           // for people: "Llama, SmolLM2, Mistral"

  NormKind norm = NormKind::root_mean_square;
  Activation activation = Activation::silu;  // where the file does not say
  bool gated = true;
  bool norm_after = false;
  bool learned_positions = false;
  Presence query_key_value_bias = Presence::absent;
  Presence attention_out_bias = Presence::absent;
  Presence feed_forward_bias = Presence::absent;
  Presence head_bias = Presence::absent;
  RotationPairs gguf_pairs = RotationPairs::halves;  // folders always have halves
  // Folders store the weight of a norm less this (Gemma: 1); GGUF files store the weight.
  float folder_norm_offset = 0;
  bool folder_weights_by_input = false;  // [input, output] instead of [output, input], but for the embedding

  PartNames gguf;
  PartNames folder;

  // What only this architecture has, after the common settings have been read.
  void (*complete)(Configuration& configuration, const Settings& settings) = nullptr;
};

std::span<const Architecture* const> architectures();
std::string known_architectures();  // "gemma (Gemma 1), …", for messages

// The description of a file, and its numbers. Error{unsupported} names an unknown architecture and those we
// know.
const Architecture& architecture_of(const ModelFile& file);
Configuration read_configuration(const ModelFile& file);

// What several architectures have in common.

PartNames gguf_names();    // of Llama's relatives
PartNames folder_names();  // the same as Hugging Face names them

// "sliding_window" for every layer, where the file has one.
void read_one_window(Configuration& configuration, const Settings& settings);
// "layer_types" of config.json; false: there are none.
bool read_layer_types(Configuration& configuration, const Settings& settings);
// A soft cap: 0 where the file has none, refused where it is negative or not finite.
double cap_of(const Settings& settings, const SettingName& name);
// The model asks for something that does not run here.
[[noreturn]] void refuse_setting(const Settings& settings, std::string_view name);

}  // namespace sharpmax::model
