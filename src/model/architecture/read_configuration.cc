#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/in_quotes.h"
#include "model/architecture/architecture.h"
#include "model/architecture/family_list.h"
#include "sharpmax/error.h"

namespace sharpmax::model {

std::span<const Architecture* const> architectures() {
  static const std::vector<const Architecture*> all = [] {
    std::vector<const Architecture*> list;
    for (const auto make : kArchitectures) list.push_back(&make());
    return list;
  }();
  return all;
}

namespace {

Activation activation_of(const Architecture& architecture, const Settings& settings) {
  const auto name = settings.text({"", {"hidden_activation", "hidden_act", "activation_function"}});
  if (!name) return architecture.activation;
  if (*name == "silu" || *name == "swish") return Activation::silu;
  if (*name == "gelu_new" || *name == "gelu_pytorch_tanh" || *name == "gelu_fast")
    return Activation::gelu_tanh;
  throw Error(ErrorCode::unsupported,
              fmt::format("{}: the activation is {}; silu and gelu_pytorch_tanh are the ones that run here",
                          name_of(settings.file()), in_quotes(*name)));
}

// Numbers that no memory is taken for before they have been seen to fit the file.
void check_products(const Configuration& c, const Settings& settings) {
  constexpr std::int64_t kWidest = std::int64_t{1} << 30;
  if (c.query_width() > kWidest)
    throw Error(ErrorCode::bad_file, fmt::format("{}: {} heads of {} features are more than any model has",
                                                 name_of(settings.file()), c.heads, c.head_width));
  if (static_cast<std::size_t>(c.layers) > tensors_of(settings.file()).size())
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: {} layers cannot be in {} tensors", name_of(settings.file()), c.layers,
                            tensors_of(settings.file()).size()));
}

void read_sizes(Configuration& c, const Settings& settings) {
  c.layers = settings.size({"block_count", {"num_hidden_layers", "n_layer"}});
  c.width = settings.size({"embedding_length", {"hidden_size", "n_embd"}});
  c.heads = settings.size({"attention.head_count", {"num_attention_heads", "n_head"}});
  c.kv_heads = settings.size_or({"attention.head_count_kv", {"num_key_value_heads"}}, c.heads);
  c.context = settings.size({"context_length", {"max_position_embeddings", "n_positions"}});
  if (c.heads % c.kv_heads != 0)
    throw Error(ErrorCode::bad_file, fmt::format("{}: {} query heads cannot share {} key heads evenly",
                                                 name_of(settings.file()), c.heads, c.kv_heads));
  if (const auto head_width = settings.integer({"attention.key_length", {"head_dim"}}); head_width) {
    c.head_width = settings.size({"attention.key_length", {"head_dim"}});
  } else if (c.width % c.heads == 0) {
    c.head_width = c.width / c.heads;
  } else {
    throw Error(ErrorCode::bad_file, fmt::format("{}: a width of {} does not divide into {} heads",
                                                 name_of(settings.file()), c.width, c.heads));
  }
  if (const auto value_width = settings.integer({"attention.value_length", {}});
      value_width && *value_width != c.head_width)
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: heads have {} key features and {} value features; only equal ones run here",
                            name_of(settings.file()), c.head_width, *value_width));
  check_products(c, settings);
  c.hidden = settings.size_or({"feed_forward_length", {"intermediate_size", "n_inner"}}, 4 * c.width);
}

// Architectures that people run and that are refused, by the names of GGUF and Hugging Face.
struct Foreign {
  std::vector<std::string_view> names;
  std::string_view has;
};
const Foreign kForeign[] = {
    {{"llama4", "llama4_text"}, "attention in chunks and a mixture of experts"},
    {{"gemma3n", "gemma3n_text"}, "embeddings per layer and several streams of features"},
    {{"gemma4", "gemma4_text"}, "heads of several widths and keys shared between layers"},
    {{"qwen2moe", "qwen2_moe", "granitemoe", "ernie4_5_moe", "hunyuan-moe"}, "experts that every token shares beside those that it is sent to"},
    {{"mixtral", "olmoe", "phimoe", "dbrx", "grok-1"}, "a mixture of experts of another kind than Qwen 3 and gpt-oss"},
    {{"qwen3next", "qwen3_next", "qwen35", "qwen35moe", "qwen3_5", "qwen3_5_text"}, "gated delta nets"},
    {{"deepseek2", "deepseek_v2", "deepseek_v3", "kimi_k2", "glm4_moe_lite"}, "latent attention (MLA)"},
    {{"mamba", "mamba2", "falcon_mamba", "rwkv6", "rwkv7"}, "a recurrent state instead of attention"},
    {{"granitehybrid", "granitemoehybrid", "jamba", "bamba", "nemotron_h", "falcon_h1", "zamba2"},
     "Mamba layers beside attention"},
    {{"lfm2", "lfm2moe", "lfm2_moe"}, "convolutions beside attention"},
    {{"glm4", "glm4moe", "glm4_moe"}, "a rotation of half of each head in an order of its own"},
};

const Architecture* find_architecture(const Settings& settings) {
  const std::string name = settings.architecture();
  for (const Architecture* known : architectures()) {
    const auto& names = known->transformers_names;
    if (settings.from_gguf() ? known->name == name
                             : std::find(names.begin(), names.end(), name) != names.end())
      return known;
  }
  return nullptr;
}

const Architecture& architecture_of(const Settings& settings) {
  if (const Architecture* known = find_architecture(settings)) return *known;
  const std::string name = settings.architecture();
  std::string why;
  for (const Foreign& foreign : kForeign)
    if (std::find(foreign.names.begin(), foreign.names.end(), name) != foreign.names.end())
      why = fmt::format(" It has {}, which sharpmax does not have.", foreign.has);
  throw Error(ErrorCode::unsupported,
              fmt::format("{}: the architecture is {}; the ones that run here are {}.{}", name_of(settings.file()),
                          in_quotes(name), known_architectures(), why));
}

}  // namespace

std::string known_architectures() {
  std::string text;
  for (const Architecture* known : architectures())
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", known->name, known->covers);
  return text;
}

Experts read_experts(const Configuration& c, const Settings& settings) {
  Experts experts;
  experts.count = settings.size({"expert_count", {"num_experts", "num_local_experts"}});
  experts.used = settings.size({"expert_used_count", {"num_experts_per_tok", "experts_per_token"}});
  if (experts.used > experts.count)
    throw Error(ErrorCode::bad_file, fmt::format("{}: {} experts of {} are used for a token", name_of(settings.file()),
                                                 experts.used, experts.count));
  const std::int64_t otherwise = settings.from_gguf() ? std::max<std::int64_t>(c.hidden / experts.used, 1) : c.hidden;
  experts.hidden = settings.size_or({"expert_feed_forward_length", {"moe_intermediate_size"}}, otherwise);
  return experts;
}

const Architecture& architecture_of(const ModelFile& file) { return architecture_of(Settings(file)); }

Configuration read_configuration(const ModelFile& file) {
  const Settings settings(file);
  const Architecture& architecture = architecture_of(settings);
  Configuration c;
  c.architecture = architecture.name;
  read_sizes(c, settings);
  c.norm = architecture.norm;
  c.epsilon = c.norm == NormKind::layer
                  ? positive_or(settings, {"attention.layer_norm_epsilon", {"layer_norm_epsilon"}}, 1e-5)
                  : positive_or(settings, {"attention.layer_norm_rms_epsilon", {"rms_norm_eps"}}, 1e-6);
  c.activation = activation_of(architecture, settings);
  c.gated = architecture.gated;
  c.norm_before = architecture.norm_before;
  c.norm_after = architecture.norm_after;
  c.query_key_norm = architecture.query_key_norm;
  c.attention_scale = 1.0 / std::sqrt(static_cast<double>(c.head_width));
  c.windows.assign(static_cast<std::size_t>(c.layers), 0);
  c.turned.assign(static_cast<std::size_t>(c.layers), true);
  if (!architecture.learned_positions)
    c.rope = read_rope(settings, settings.from_gguf() ? architecture.gguf_pairs : RotationPairs::halves, c);
  if (architecture.complete) architecture.complete(c, settings);
  return c;
}

}  // namespace sharpmax::model
