#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/in_quotes.h"
#include "model/architecture/architecture.h"
#include "model/tensor/stored_tensor.h"
#include "sharpmax/error.h"

namespace sharpmax::model {
namespace {

using Kind = RopeScaling::Kind;

[[noreturn]] void refuse(const Settings& settings, const std::string& what,
                         ErrorCode code = ErrorCode::bad_file) {
  throw Error(code, fmt::format("{}: rotary positions: {}", name_of(settings.file()), what));
}

// Settings of one rope. config.json keeps them in "rope_parameters", per kind of layer where kinds differ, and
// older ones in "rope_scaling".
class RopeSettings {
 public:
  RopeSettings(const Settings& settings, std::vector<std::string> places)
      : settings_(settings), places_(std::move(places)) {}

  SettingName name(std::string_view gguf, std::string_view folder) const {
    SettingName name{gguf, {}};
    for (const std::string& place : places_) name.folder.push_back(place + std::string(folder));
    return name;
  }
  double number(std::string_view gguf, std::string_view folder, double otherwise) const {
    const double value = settings_.number(name(gguf, folder)).value_or(otherwise);
    if (!std::isfinite(value) || value < 0)
      refuse(settings_, fmt::format("{} is {}", settings_.from_gguf() ? gguf : folder, value));
    return value;
  }
  Kind kind() const {
    if (settings_.from_gguf() && find_tensor(settings_.file(), "rope_factors_long.weight")) return Kind::longrope;
    SettingName names = name("rope.scaling.type", "rope_type");
    for (const std::string& place : places_) names.folder.push_back(place + "type");
    const std::string text = settings_.text(names).value_or("default");
    if (text == "default" || text == "none") return Kind::none;
    if (text == "linear") return Kind::linear;
    if (text == "yarn") return Kind::yarn;
    if (text == "llama3") return Kind::llama3;
    if (text == "longrope" || text == "su") return Kind::longrope;
    refuse(settings_, fmt::format("scaling {} is not one of linear, yarn, llama3 and longrope", in_quotes(text)),
           ErrorCode::unsupported);
  }
  const Settings& settings() const { return settings_; }

 private:
  const Settings& settings_;
  std::vector<std::string> places_;
};

// YaRN's factor of cos and sin where the file states it by other numbers; 0: it does not.
double attention_factor_of(const RopeSettings& file, double factor) {
  const double stated = file.number("rope.scaling.attn_factor", "attention_factor", 0);
  if (stated > 0) return stated;
  const double whole = file.number("rope.scaling.yarn_log_multiplier", "mscale_all_dim", 0);
  const double part = file.settings().from_gguf() ? 1.0 : file.number("", "mscale", 0);
  if (!(whole > 0) || !(part > 0) || !(factor > 1)) return 0;
  return (0.1 * part * std::log(factor) + 1.0) / (0.1 * whole * std::log(factor) + 1.0);
}

RopeScaling scaling_of(const RopeSettings& file, std::int64_t context) {
  const Settings& settings = file.settings();
  RopeScaling s;
  s.kind = file.kind();
  // Older files have one number and no kind.
  if (const auto old = settings.number({"rope.scale_linear", {}});
      old && *old != 1.0 && s.kind == Kind::none) {
    s.kind = Kind::linear;
    s.factor = *old;
  }
  if (s.kind == Kind::none) return s;
  s.factor = file.number("rope.scaling.factor", "factor", s.factor);
  if (!(s.factor > 0)) refuse(settings, "the factor must be positive");
  SettingName original = file.name("rope.scaling.original_context_length", "original_max_position_embeddings");
  original.folder.push_back("original_max_position_embeddings");
  s.original_length = settings.number(original).value_or(static_cast<double>(context));
  if (!(s.original_length >= 1) || !std::isfinite(s.original_length))
    refuse(settings, "the original length must be at least 1");
  s.attention_factor = attention_factor_of(file, s.factor);
  s.beta_fast = file.number("rope.scaling.yarn_beta_fast", "beta_fast", 32);
  s.beta_slow = file.number("rope.scaling.yarn_beta_slow", "beta_slow", 1);
  s.whole_bounds = settings.boolean(file.name("", "truncate")).value_or(true);
  s.low_frequency_factor = file.number("", "low_freq_factor", 1);
  s.high_frequency_factor = file.number("", "high_freq_factor", 4);
  if (s.kind == Kind::llama3 && !(s.high_frequency_factor > s.low_frequency_factor))
    refuse(settings, "high_freq_factor must be above low_freq_factor");
  if (s.kind == Kind::longrope && s.attention_factor == 0) {
    const double longer = static_cast<double>(context) / s.original_length;
    s.attention_factor = longer > 1 ? std::sqrt(1.0 + std::log(longer) / std::log(s.original_length)) : 1.0;
  }
  return s;
}

void check_divisors(const Settings& settings, std::string_view what, const std::vector<float>& divisors) {
  for (const float d : divisors)
    if (!(d > 0) || !std::isfinite(d))
      refuse(settings, fmt::format("{} holds {}; its numbers must be positive", what, d));
}

// A tensor of one number a pair; empty if the file has none.
std::vector<float> divisors_of(const Settings& settings, std::string_view name, std::int64_t pairs) {
  const StoredTensor* tensor = find_tensor(settings.file(), name);
  if (!settings.from_gguf() || !tensor) return {};
  if (tensor->shape != std::vector<std::int64_t>{pairs} || layout_of(tensor->type).block != 1)
    refuse(settings, fmt::format("{} at byte {} must be {} floats", name, tensor->offset, pairs));
  std::vector<float> divisors(static_cast<std::size_t>(pairs));
  dequantize(tensor->type, tensor->bytes.data(), pairs, divisors.data());
  check_divisors(settings, fmt::format("{} at byte {}", name, tensor->offset), divisors);
  return divisors;
}

// Longrope's divisors for long contexts, and for those of the original length.
std::vector<float> longrope_divisors(const RopeSettings& file, bool longer, std::int64_t pairs) {
  const Settings& settings = file.settings();
  if (settings.from_gguf()) {
    const std::string_view name = longer ? "rope_factors_long.weight" : "rope_factors_short.weight";
    std::vector<float> found = divisors_of(settings, name, pairs);
    if (found.empty()) refuse(settings, fmt::format("longrope needs the tensor {}", name));
    return found;
  }
  const std::string_view name = longer ? "long_factor" : "short_factor";
  const auto found = settings.numbers(file.name("", name));
  if (!found || static_cast<std::int64_t>(found->size()) != pairs)
    refuse(settings, fmt::format("{} has {} numbers; longrope needs {}", name, found ? found->size() : 0, pairs));
  std::vector<float> divisors(found->begin(), found->end());
  check_divisors(settings, name, divisors);
  return divisors;
}

double checked_base(const Settings& settings, double base) {
  if (!(base > 1) || !std::isfinite(base))
    refuse(settings, fmt::format("the base is {}; it must be above 1", base));
  return base;
}

}  // namespace

Rope read_rope(const Settings& settings, RotationPairs pairs, const Configuration& c) {
  const RopeSettings file(settings, {"rope_parameters.full_attention.", "rope_parameters.", "rope_scaling."});
  Rope rope;
  rope.pairs = pairs;
  SettingName turned_part = file.name("", "partial_rotary_factor");
  turned_part.folder.push_back("partial_rotary_factor");
  const double part = settings.number(turned_part).value_or(1.0);
  if (!(part > 0 && part <= 1))
    refuse(settings, fmt::format("partial_rotary_factor is {}, not in (0, 1]", part));
  const auto turned = static_cast<std::int64_t>(part * static_cast<double>(c.head_width));
  rope.features = settings.size_or({"rope.dimension_count", {}}, turned);
  if (rope.features < 2 || rope.features % 2 != 0 || rope.features > c.head_width)
    refuse(settings,
           fmt::format("{} features of a head of {} cannot be turned in pairs", rope.features, c.head_width));
  SettingName base = file.name("rope.freq_base", "rope_theta");
  base.folder.push_back("rope_theta");
  rope.base = checked_base(settings, settings.number(base).value_or(10000.0));
  rope.scaling = scaling_of(file, c.context);
  rope.divisors = divisors_of(settings, "rope_freqs.weight", rope.features / 2);
  if (rope.scaling.kind == Kind::longrope) {
    rope.divisors = longrope_divisors(file, true, rope.features / 2);
    rope.short_divisors = longrope_divisors(file, false, rope.features / 2);
  }
  return rope;
}

Rope read_window_rope(const Settings& settings, const Configuration& c, double base) {
  const RopeSettings file(settings, {"rope_parameters.sliding_attention."});
  Rope rope{.pairs = c.rope.pairs, .features = c.rope.features};
  SettingName name = file.name("rope.freq_base_swa", "rope_theta");
  name.folder.push_back("rope_local_base_freq");
  rope.base = checked_base(settings, settings.number(name).value_or(base));
  // GGUF files say how full layers are scaled; windows are not.
  if (!settings.from_gguf()) rope.scaling = scaling_of(file, c.context);
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
  refuse(text, "expected none, linear:FACTOR, ntk:FACTOR or yarn:FACTOR");
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
  if (!has_factor) refuse(text, "the factor is missing; expected it as in linear:2");
  return scaling;
}

}  // namespace sharpmax::model
