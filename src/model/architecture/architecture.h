// Descriptions of architectures, and the settings of a model file that fill them in.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/file/model_file.h"

namespace sharpmax::model {

// What one model is, in numbers: the description of its architecture filled in from its file.

enum class NormKind { root_mean_square, layer };
enum class Activation {
  silu,
  gelu_tanh,
  clamped_swish,  // gpt-oss: g sigmoid(1.702 g) with g at most 7, times up + 1 with up within -7 and 7
};
// Which features of a head are turned together: (0, 1), (2, 3), … or (0, d/2), (1, d/2 + 1), …
enum class RotationPairs { interleaved, halves };
// Queries and keys normalized before they are turned: each head by itself, or all heads of a token together.
enum class QueryKeyNorm { none, head, width };

// How rotation angles are stretched so that positions past the trained length look like known ones.
struct RopeScaling {
  enum class Kind {
    none,
    linear,  // angle / factor
    ntk,     // base * factor^(d / (d - 2)): high frequencies keep their angle, low ones are stretched
    yarn,    // between the two by wavelength, and cos, sin times attention_factor
    llama3,  // as Llama 3.1 does it
    longrope,  // divisors of the file, others past the original length, and cos, sin times attention_factor
  };
  Kind kind = Kind::none;
  double factor = 1;
  double original_length = 0;   // yarn, llama3, longrope: the trained length
  double attention_factor = 0;  // yarn, longrope; 0: yarn's 0.1 ln(factor) + 1
  double beta_fast = 32, beta_slow = 1;
  bool whole_bounds = true;  // yarn: the bounds of the ramp are rounded to whole pairs
  double low_frequency_factor = 1, high_frequency_factor = 4;

  bool operator==(const RopeScaling&) const = default;
};

struct Rope {
  RotationPairs pairs = RotationPairs::halves;
  std::int64_t features = 0;  // the first of a head that are turned; 0: positions are learned instead
  double base = 10000;
  RopeScaling scaling;
  std::vector<float> divisors;  // one a pair, as files store Llama 3's frequencies; empty: none
  std::vector<float> short_divisors;  // longrope: within the original length
};

// Queries times 1 + beta ln(1 + floor(position / length)), after they are turned.
struct QueryGrowth {
  double beta = 0;  // 0: none
  double length = 1;
};

// Heads of two kinds: the first of every layer, and all of the first layers, turn with the position and see a window. The
// others have no positions and see everything.
struct LocalHeads {
  std::int64_t heads = 0, layers = 0;
  std::int64_t window = 0;  // keys that one of them sees, its own included

  std::int64_t in(std::int64_t layer, std::int64_t all) const noexcept { return layer < layers ? all : heads; }
};

// A mixture of experts: each token goes to the `used` experts that its router ranks first, and their results are added,
// weighted by a softmax of the router's scores.
struct Experts {
  std::int64_t count = 0;
  std::int64_t used = 0;
  std::int64_t hidden = 0;           // width within one expert
  bool weigh_used = true;            // the softmax is over the used experts alone; else over all
  bool gate_up_interleaved = false;  // outputs of one matrix are gate, up, gate, up, …
  std::vector<bool> in_layer;        // one per layer; empty: all
};

struct Configuration {
  std::string architecture;
  std::int64_t layers = 0;
  std::int64_t width = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_width = 0;
  std::int64_t hidden = 0;      // width within the feed-forward part
  std::int64_t context = 0;     // tokens that it was trained on
  std::int64_t vocabulary = 0;  // rows of the embedding

  NormKind norm = NormKind::root_mean_square;
  double epsilon = 1e-5;
  Activation activation = Activation::silu;
  bool gated = true;        // the feed-forward part multiplies two projections
  bool norm_before = true;  // what enters attention and feed-forward is normalized
  bool norm_after = false;  // what they give is normalized
  QueryKeyNorm query_key_norm = QueryKeyNorm::none;
  double embedding_scale = 1;
  double attention_scale = 0;  // of q . k
  double attention_cap = 0;    // c tanh(score / c); 0: none
  double logit_cap = 0;
  double residual_scale = 1;  // of what attention and feed-forward give, before it is added
  double logit_scale = 1;
  QueryGrowth query_growth;
  std::vector<std::int64_t> windows;  // one a layer: how many keys a query sees, itself included; 0: all
  Rope rope;
  std::optional<Rope> window_rope;  // of layers with a window, where theirs is another
  std::vector<bool> turned;         // one a layer: whether rotary positions enter it; empty: all
  std::optional<LocalHeads> local;  // empty: all heads of a layer are alike
  std::optional<Experts> experts;

  bool has_experts(std::int64_t layer) const {
    return experts && (experts->in_layer.empty() || experts->in_layer[static_cast<std::size_t>(layer)]);
  }

  // Null: no rotary positions enter the head.
  const Rope* rope_of(std::int64_t layer, std::int64_t head) const noexcept {
    const auto at = static_cast<std::size_t>(layer);
    const bool left_out = !turned.empty() && !turned[at];
    if (rope.features == 0 || left_out || (local && head >= local->in(layer, heads))) return nullptr;
    return window_rope && windows[at] > 0 ? &*window_rope : &rope;
  }
  // How many keys a query of a head sees, itself included; 0: all.
  std::int64_t window_of(std::int64_t layer, std::int64_t head) const {
    if (local) return head < local->in(layer, heads) ? local->window : 0;
    return windows[static_cast<std::size_t>(layer)];
  }
  std::int64_t query_width() const noexcept { return heads * head_width; }
  std::int64_t kv_width() const noexcept { return kv_heads * head_width; }
};

// Scaling in place of what the file asks for, whose divisors go where they belong to it.
inline void set_scaling(Rope& rope, const RopeScaling& scaling) {
  if (rope.scaling.kind == RopeScaling::Kind::longrope) rope.divisors.clear();
  rope.scaling = scaling;
}

// "linear:2", "ntk:1.5", "yarn:4", "yarn:factor=4,original=8192,beta_fast=32,beta_slow=1,attention=1.1",
// "none". yarn's original length is `trained` where the text leaves it out.
RopeScaling parse_rope_scaling(std::string_view text, std::int64_t trained);

// A model's settings, wherever its file keeps them: GGUF metadata or config.json. Typed before any use; every
// refusal says where the setting stands and what was expected.

// A setting's name in each kind of file: GGUF's without the architecture's prefix, config.json's as a path
// ("rope_parameters.rope_theta"), looked for in its text_config first if it has one, as models that see
// images do. Of several names the first that is there counts.
struct SettingName {
  std::string_view gguf;
  std::vector<std::string> folder;
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
  // Whole numbers or booleans (0 and 1); nothing if there is one number instead of a list.
  std::optional<std::vector<std::int64_t>> integers(const SettingName& name) const;
  std::optional<std::vector<double>> numbers(const SettingName& name) const;

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
// That of layers with a window, after the other is known: `base` where the file does not say, and no scaling
// but what it says of these layers.
Rope read_window_rope(const Settings& settings, const Configuration& configuration, double base);

// An architecture is a description: its parts, their names in its file, and its peculiarities.
// One file in family/ is one architecture; the forward pass knows none of them by name.

// Names of tensors without ".weight" and ".bias"; {} is the layer. Empty: the architecture has no such part.
struct PartNames {
  std::vector<std::string_view> prefixes = {
      ""};  // the first under which the embedding is found is the file's own
  std::string_view embedding, positions, final_norm, head;
  std::string_view attention_norm, query, key, value, query_key_value, query_norm, key_norm, attention_out,
      after_attention_norm;
  std::string_view sinks;  // one number a head
  std::string_view feed_forward_norm, gate, up, gate_up, down, after_feed_forward_norm;
  // Experts: one tensor each, where {e} is the expert, or one for all, [expert, …]. experts_… is always for all.
  std::string_view router, expert_gate, expert_up, expert_down, experts_gate_up, experts_down;
};

enum class Presence { absent, required, where_present };

struct Architecture {
  std::string_view name;                             // of GGUF's general.architecture
  std::vector<std::string_view> transformers_names;  // of config.json's model_type
  std::string_view covers;                           // for people: "Llama, SmolLM2, Mistral"

  NormKind norm = NormKind::root_mean_square;
  Activation activation = Activation::silu;  // where the file does not say
  bool gated = true;
  bool norm_before = true;
  bool norm_after = false;
  QueryKeyNorm query_key_norm = QueryKeyNorm::none;
  bool learned_positions = false;
  Presence query_key_value_bias = Presence::absent;
  Presence attention_out_bias = Presence::absent;
  Presence feed_forward_bias = Presence::absent;
  Presence head_bias = Presence::absent;
  RotationPairs gguf_pairs = RotationPairs::halves;  // folders always have halves
  // Folders store the weight of a norm less this (Gemma: 1); GGUF files store the weight.
  float folder_norm_offset = 0;
  bool folder_weights_by_input = false;  // [input, output] instead of [output, input], but for the embedding
  bool folder_experts_by_input = false;  // the same of experts in one tensor, if they are floats

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

// Of Llama's relatives, with the parts that only some of them have.
PartNames gguf_names();
PartNames folder_names();  // the same as Hugging Face names them
PartNames gguf_names_of_experts();  // gguf_names(), with experts

// Gemma 2 and its relatives: norms before and after both parts.
PartNames folder_names_with_norms_after();
// Of Gemma 2 and 3. GGUF files do not store what scores are scaled by: all sizes use the width of a head but
// the largest, which is known by its number of layers.
double attention_scale_of_gemma(const Configuration& configuration, const Settings& settings,
                                std::int64_t layers_of_largest);

// Numbers of a mixture of experts, which the file must have.
Experts read_experts(const Configuration& configuration, const Settings& settings);
// "sliding_window" for every layer, if the file has one.
void read_one_window(Configuration& configuration, const Settings& settings);
// As Qwen 2 has them: layers from max_window_layers on, and only where the file says so.
void read_late_windows(Configuration& configuration, const Settings& settings);
// "layer_types" of config.json; false: there are none.
bool read_layer_types(Configuration& configuration, const Settings& settings);
// The window of config.json or GGUF metadata on all layers but every `period`-th, unless the file says which
// layers have it.
void read_windows_but_every(Configuration& configuration, const Settings& settings, std::int64_t period);
// Error{bad_file} unless a list of the file has one entry a layer.
void check_one_a_layer(const Settings& settings, std::string_view name, std::size_t entries, std::int64_t layers);
// A number that is there and positive, or `otherwise`.
double positive_or(const Settings& settings, const SettingName& name, double otherwise);
// A soft cap: 0 if the file has none, refused if it is negative or not finite.
double cap_of(const Settings& settings, const SettingName& name);
// The model asks for something that does not run here.
[[noreturn]] void refuse_setting(const Settings& settings, std::string_view name);

}  // namespace sharpmax::model
