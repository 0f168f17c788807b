#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/in_quotes.h"
#include "model/architecture/architecture.h"
#include "model/architecture/family_list.h"
#include "model/tensor/stored_tensor.h"
#include "sharpmax/error.h"

namespace sharpmax::model {
namespace {

using Kind = RopeScaling::Kind;

[[noreturn]] void refuse(const Settings& settings, const std::string& what,
                         ErrorCode code = ErrorCode::bad_file) {
  throw Error(code, fmt::format("{}: rotary positions: {}", name_of(settings.file()), what));
}

Kind kind_of(const Settings& settings) {
  const std::string name =
      settings
          .text({"rope.scaling.type",
                 {"rope_parameters.rope_type", "rope_scaling.rope_type", "rope_scaling.type"}})
          .value_or("default");
  if (name == "default" || name == "none") return Kind::none;
  if (name == "linear") return Kind::linear;
  if (name == "yarn") return Kind::yarn;
  if (name == "llama3") return Kind::llama3;
  refuse(settings, fmt::format("scaling {} is not one of linear, yarn and llama3", in_quotes(name)),
         ErrorCode::unsupported);
}

RopeScaling scaling_of(const Settings& settings, std::int64_t context) {
  RopeScaling s;
  s.kind = kind_of(settings);
  const auto number = [&](const SettingName& name, double otherwise) {
    const double value = settings.number(name).value_or(otherwise);
    if (!std::isfinite(value) || value < 0) refuse(settings, fmt::format("{} is {}", name.gguf, value));
    return value;
  };
  // Older files have one number and no kind.
  if (const auto old = settings.number({"rope.scale_linear", {}});
      old && *old != 1.0 && s.kind == Kind::none) {
    s.kind = Kind::linear;
    s.factor = *old;
  }
  if (s.kind == Kind::none) return s;
  s.factor = number({"rope.scaling.factor", {"rope_parameters.factor", "rope_scaling.factor"}}, s.factor);
  if (!(s.factor > 0)) refuse(settings, "the factor must be positive");
  s.original_length = number(
      {"rope.scaling.original_context_length",
       {"rope_parameters.original_max_position_embeddings", "rope_scaling.original_max_position_embeddings"}},
      static_cast<double>(context));
  s.attention_factor = number(
      {"rope.scaling.attn_factor", {"rope_parameters.attention_factor", "rope_scaling.attention_factor"}}, 0);
  s.beta_fast =
      number({"rope.scaling.yarn_beta_fast", {"rope_parameters.beta_fast", "rope_scaling.beta_fast"}}, 32);
  s.beta_slow =
      number({"rope.scaling.yarn_beta_slow", {"rope_parameters.beta_slow", "rope_scaling.beta_slow"}}, 1);
  s.whole_bounds =
      settings.boolean({"", {"rope_parameters.truncate", "rope_scaling.truncate"}}).value_or(true);
  s.low_frequency_factor =
      number({"", {"rope_parameters.low_freq_factor", "rope_scaling.low_freq_factor"}}, 1);
  s.high_frequency_factor =
      number({"", {"rope_parameters.high_freq_factor", "rope_scaling.high_freq_factor"}}, 4);
  if (!(s.original_length >= 1)) refuse(settings, "the original length must be at least 1");
  if (s.kind == Kind::llama3 && !(s.high_frequency_factor > s.low_frequency_factor))
    refuse(settings, "high_freq_factor must be above low_freq_factor");
  return s;
}

std::vector<float> divisors_of(const Settings& settings, std::int64_t pairs) {
  const StoredTensor* tensor = find_tensor(settings.file(), "rope_freqs.weight");
  if (!settings.from_gguf() || !tensor) return {};
  if (tensor->shape != std::vector<std::int64_t>{pairs} || layout_of(tensor->type).block != 1)
    refuse(settings, fmt::format("rope_freqs.weight at byte {} must be {} floats", tensor->offset, pairs));
  std::vector<float> divisors(static_cast<std::size_t>(pairs));
  dequantize(tensor->type, tensor->bytes.data(), pairs, divisors.data());
  for (const float d : divisors)
    if (!(d > 0) || !std::isfinite(d))
      refuse(settings, fmt::format("rope_freqs.weight at byte {} holds {}; positive numbers were expected",
                                   tensor->offset, d));
  return divisors;
}

}  // namespace

Rope read_rope(const Settings& settings, RotationPairs pairs, const Configuration& c) {
  Rope rope;
  rope.pairs = pairs;
  const double part =
      settings.number({"", {"rope_parameters.partial_rotary_factor", "partial_rotary_factor"}}).value_or(1.0);
  if (!(part > 0 && part <= 1))
    refuse(settings, fmt::format("partial_rotary_factor is {}, not in (0, 1]", part));
  const auto turned = static_cast<std::int64_t>(part * static_cast<double>(c.head_width));
  rope.features = settings.size_or({"rope.dimension_count", {}}, turned);
  if (rope.features < 2 || rope.features % 2 != 0 || rope.features > c.head_width)
    refuse(settings,
           fmt::format("{} features of a head of {} cannot be turned in pairs", rope.features, c.head_width));
  rope.base =
      settings.number({"rope.freq_base", {"rope_parameters.rope_theta", "rope_theta"}}).value_or(10000.0);
  if (!(rope.base > 1) || !std::isfinite(rope.base))
    refuse(settings, fmt::format("the base is {}; a number above 1 was expected", rope.base));
  rope.scaling = scaling_of(settings, c.context);
  rope.divisors = divisors_of(settings, rope.features / 2);
  return rope;
}

namespace {

[[noreturn]] void refuse(std::string_view text, std::string_view wanted) {
  throw Error(ErrorCode::bad_argument, fmt::format("rope scaling {}: {}", in_quotes(text), wanted));
}

double number_in(std::string_view text, std::string_view part) {
  double value = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
  if (error != std::errc() || end != part.data() + part.size() || !std::isfinite(value) || value <= 0)
    refuse(text, fmt::format("{} is not a positive number", in_quotes(part)));
  return value;
}

RopeScaling::Kind kind_in(std::string_view text, std::string_view name) {
  using enum RopeScaling::Kind;
  if (name == "none") return none;
  if (name == "linear") return linear;
  if (name == "ntk") return ntk;
  if (name == "yarn") return yarn;
  refuse(text, "none, linear:FACTOR, ntk:FACTOR or yarn:FACTOR was expected");
}

void set_value(RopeScaling& scaling, std::string_view text, std::string_view name, double value) {
  if (name == "factor") {
    scaling.factor = value;
    return;
  }
  double* const field = scaling.kind != RopeScaling::Kind::yarn ? nullptr
                        : name == "original"                    ? &scaling.original_length
                        : name == "attention"                   ? &scaling.attention_factor
                        : name == "beta_fast"                   ? &scaling.beta_fast
                        : name == "beta_slow"                   ? &scaling.beta_slow
                                                                : nullptr;
  if (!field) refuse(text, fmt::format("there is no {} to set here", in_quotes(name)));
  *field = value;
}

}  // namespace

RopeScaling parse_rope_scaling(std::string_view text, std::int64_t trained) {
  RopeScaling scaling;
  const std::size_t colon = text.find(':');
  scaling.kind = kind_in(text, text.substr(0, colon));
  scaling.original_length = static_cast<double>(trained);
  if (scaling.kind == RopeScaling::Kind::none) {
    if (colon != std::string_view::npos) refuse(text, "none has nothing to set");
    return {};
  }
  std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  bool has_factor = false;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const std::size_t equals = part.find('=');
    const std::string_view name = equals == std::string_view::npos ? "factor" : part.substr(0, equals);
    set_value(scaling, text, name,
              number_in(text, equals == std::string_view::npos ? part : part.substr(equals + 1)));
    has_factor |= name == "factor";
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
  }
  if (!has_factor) refuse(text, "a factor was expected, as in linear:2");
  return scaling;
}

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

double positive_number(const Settings& settings, const SettingName& name, double otherwise) {
  const double value = settings.number(name).value_or(otherwise);
  if (!(value > 0) || !std::isfinite(value))
    throw Error(ErrorCode::bad_file, fmt::format("{}: {} is {}; a positive number was expected",
                                                 name_of(settings.file()), name.gguf, value));
  return value;
}

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
  throw Error(ErrorCode::unsupported, fmt::format("{}: the architecture is {}; the ones that run here are {}",
                                                  name_of(settings.file()),
                                                  in_quotes(settings.architecture()), known_architectures()));
}

}  // namespace

std::string known_architectures() {
  std::string text;
  for (const Architecture* known : architectures())
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", known->name, known->covers);
  return text;
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
                  ? positive_number(settings, {"attention.layer_norm_epsilon", {"layer_norm_epsilon"}}, 1e-5)
                  : positive_number(settings, {"attention.layer_norm_rms_epsilon", {"rms_norm_eps"}}, 1e-6);
  c.activation = activation_of(architecture, settings);
  c.gated = architecture.gated;
  c.norm_after = architecture.norm_after;
  c.attention_scale = 1.0 / std::sqrt(static_cast<double>(c.head_width));
  c.windows.assign(static_cast<std::size_t>(c.layers), 0);
  if (!architecture.learned_positions)
    c.rope = read_rope(settings, settings.from_gguf() ? architecture.gguf_pairs : RotationPairs::halves, c);
  if (architecture.complete) architecture.complete(c, settings);
  return c;
}

}  // namespace sharpmax::model
