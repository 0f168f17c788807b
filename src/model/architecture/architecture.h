// An architecture is a description: which parts it has, what its file calls them, and what is peculiar to it.
// One file in family/ is one architecture; the forward pass knows none of them by name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/architecture/configuration.h"
#include "model/architecture/settings.h"
#include "model/file/model_file.h"

namespace sharpmax::model {

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
