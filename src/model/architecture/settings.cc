#include "model/architecture/architecture.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

#include "base/in_quotes.h"
#include "sharpmax/error.h"

namespace sharpmax::model {
namespace {

constexpr std::int64_t kLargestSize = std::int64_t{1} << 31;

// Null: not there, or said to be null, which config.json uses for "none".
const nlohmann::json* at_path(const nlohmann::json& root, std::string_view path) {
  const nlohmann::json* at = &root;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const std::string step(path.substr(0, dot));
    if (!at->is_object() || !at->contains(step)) return nullptr;
    at = &(*at)[step];
    path = dot == std::string_view::npos ? "" : path.substr(dot + 1);
  }
  return at->is_null() ? nullptr : at;
}

}  // namespace

Settings::Settings(const ModelFile& file) : file_(&file) {
  if ((gguf_ = std::get_if<GgufFile>(&file))) {
    prefix_ = architecture() + ".";
    return;
  }
  json_ = std::get<SafetensorsFolder>(file).configuration();
  if (!json_)
    throw Error(
        ErrorCode::bad_file,
        fmt::format("{}: there is no config.json beside the tensors, and without one the model's shape is "
                    "unknown",
                    name_of(file)));
}

std::string Settings::architecture() const {
  if (gguf_) {
    const auto name = gguf_->text("general.architecture");
    if (!name)
      throw Error(ErrorCode::bad_file, fmt::format("{}: there is no general.architecture", gguf_->name()));
    return std::string(*name);
  }
  const auto name = text({"", {"model_type"}});
  if (!name)
    throw Error(ErrorCode::bad_file, fmt::format("{}: config.json has no model_type", name_of(*file_)));
  return *name;
}

std::string Settings::gguf_key(std::string_view name) const {
  return name.empty() ? std::string() : prefix_ + std::string(name);
}

const nlohmann::json* Settings::folder_value(const SettingName& name, std::string_view& found) const {
  for (const std::string& path : name.folder) {
    found = path;
    if (const nlohmann::json* value = at_path(*json_, "text_config." + path)) return value;
    if (const nlohmann::json* value = at_path(*json_, path)) return value;
  }
  return nullptr;
}

void Settings::refuse(std::string_view name, std::string_view wanted) const {
  throw Error(ErrorCode::bad_file, fmt::format("{}: {}{} must be {}", name_of(*file_),
                                               gguf_ ? "" : "config.json: ", name, wanted));
}

std::optional<std::int64_t> Settings::integer(const SettingName& name) const {
  if (gguf_) return gguf_->integer(gguf_key(name.gguf));
  std::string_view found;
  const nlohmann::json* value = folder_value(name, found);
  if (!value) return std::nullopt;
  if (value->is_number_unsigned() && value->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))
    refuse(found, "a whole number below 2^63");
  if (!value->is_number_integer()) refuse(found, "a whole number");
  return value->get<std::int64_t>();
}

std::optional<double> Settings::number(const SettingName& name) const {
  if (gguf_) return gguf_->number(gguf_key(name.gguf));
  std::string_view found;
  const nlohmann::json* value = folder_value(name, found);
  if (!value) return std::nullopt;
  if (!value->is_number()) refuse(found, "a number");
  return value->get<double>();
}

std::optional<bool> Settings::boolean(const SettingName& name) const {
  if (gguf_) return gguf_->boolean(gguf_key(name.gguf));
  std::string_view found;
  const nlohmann::json* value = folder_value(name, found);
  if (!value) return std::nullopt;
  if (!value->is_boolean()) refuse(found, "true or false");
  return value->get<bool>();
}

std::optional<std::string> Settings::text(const SettingName& name) const {
  if (gguf_) {
    const auto value = gguf_->text(gguf_key(name.gguf));
    return value ? std::optional<std::string>(*value) : std::nullopt;
  }
  std::string_view found;
  const nlohmann::json* value = folder_value(name, found);
  if (!value) return std::nullopt;
  if (!value->is_string()) refuse(found, "text");
  return value->get<std::string>();
}

std::optional<std::vector<std::string>> Settings::texts(const SettingName& name) const {
  if (gguf_) {
    const auto values = gguf_->texts(gguf_key(name.gguf));
    if (!values) return std::nullopt;
    return std::vector<std::string>(values->begin(), values->end());
  }
  std::string_view found;
  const nlohmann::json* value = folder_value(name, found);
  if (!value) return std::nullopt;
  if (!value->is_array()) refuse(found, "a list of texts");
  for (const auto& item : *value)
    if (!item.is_string()) refuse(found, "a list of texts");
  return value->get<std::vector<std::string>>();
}

std::optional<std::vector<std::int64_t>> Settings::integers(const SettingName& name) const {
  if (gguf_) {
    const GgufEntry* entry = gguf_->find(gguf_key(name.gguf));
    return entry && entry->value.type == GgufType::array ? gguf_->integers(entry->key) : std::nullopt;
  }
  std::string_view found;
  const nlohmann::json* value = folder_value(name, found);
  if (!value || !value->is_array()) return std::nullopt;
  std::vector<std::int64_t> out;
  for (const auto& item : *value) {
    if (!item.is_boolean() && !item.is_number_integer()) refuse(found, "a list of whole numbers");
    out.push_back(item.is_boolean() ? std::int64_t{item.get<bool>()} : item.get<std::int64_t>());
  }
  return out;
}

std::optional<std::vector<double>> Settings::numbers(const SettingName& name) const {
  if (gguf_) {
    const auto values = gguf_->numbers(gguf_key(name.gguf));
    return values ? std::optional(std::vector<double>(values->begin(), values->end())) : std::nullopt;
  }
  std::string_view found;
  const nlohmann::json* value = folder_value(name, found);
  if (!value) return std::nullopt;
  if (!value->is_array()) refuse(found, "a list of numbers");
  for (const auto& item : *value)
    if (!item.is_number()) refuse(found, "a list of numbers");
  return value->get<std::vector<double>>();
}

std::int64_t Settings::size(const SettingName& name) const {
  const auto value = integer(name);
  const std::string shown = gguf_ ? gguf_key(name.gguf) : std::string(*name.folder.begin());
  if (!value) refuse(shown, "there");
  if (*value < 1 || *value > kLargestSize)
    refuse(shown, fmt::format("between 1 and 2^31, and is {}", *value));
  return *value;
}

std::int64_t Settings::size_or(const SettingName& name, std::int64_t otherwise) const {
  return integer(name) ? size(name) : otherwise;
}

PartNames gguf_names() {
  return {.embedding = "token_embd",
          .final_norm = "output_norm",
          .head = "output",
          .attention_norm = "blk.{}.attn_norm",
          .query = "blk.{}.attn_q",
          .key = "blk.{}.attn_k",
          .value = "blk.{}.attn_v",
          .query_norm = "blk.{}.attn_q_norm",
          .key_norm = "blk.{}.attn_k_norm",
          .attention_out = "blk.{}.attn_output",
          .after_attention_norm = "blk.{}.post_attention_norm",
          .feed_forward_norm = "blk.{}.ffn_norm",
          .gate = "blk.{}.ffn_gate",
          .up = "blk.{}.ffn_up",
          .down = "blk.{}.ffn_down",
          .after_feed_forward_norm = "blk.{}.post_ffw_norm"};
}

PartNames gguf_names_of_experts() {
  PartNames names = gguf_names();
  names.router = "blk.{}.ffn_gate_inp";
  names.expert_gate = "blk.{}.ffn_gate_exps";
  names.expert_up = "blk.{}.ffn_up_exps";
  names.expert_down = "blk.{}.ffn_down_exps";
  return names;
}

PartNames folder_names() {
  return {.prefixes = {"model.", "model.language_model.", "language_model.model.", ""},
          .embedding = "embed_tokens",
          .final_norm = "norm",
          .head = "lm_head",
          .attention_norm = "layers.{}.input_layernorm",
          .query = "layers.{}.self_attn.q_proj",
          .key = "layers.{}.self_attn.k_proj",
          .value = "layers.{}.self_attn.v_proj",
          .query_norm = "layers.{}.self_attn.q_norm",
          .key_norm = "layers.{}.self_attn.k_norm",
          .attention_out = "layers.{}.self_attn.o_proj",
          .feed_forward_norm = "layers.{}.post_attention_layernorm",
          .gate = "layers.{}.mlp.gate_proj",
          .up = "layers.{}.mlp.up_proj",
          .down = "layers.{}.mlp.down_proj"};
}

PartNames folder_names_with_norms_after() {
  PartNames names = folder_names();
  names.after_attention_norm = "layers.{}.post_attention_layernorm";
  names.feed_forward_norm = "layers.{}.pre_feedforward_layernorm";
  names.after_feed_forward_norm = "layers.{}.post_feedforward_layernorm";
  return names;
}

double attention_scale_of_gemma(const Configuration& c, const Settings& settings, std::int64_t layers_of_largest) {
  const double by_file = settings.number({"", {"query_pre_attn_scalar"}}).value_or(0);
  if (by_file > 0) return 1.0 / std::sqrt(by_file);
  if (settings.from_gguf() && c.layers == layers_of_largest)
    return 1.0 / std::sqrt(static_cast<double>(c.width) / static_cast<double>(c.heads));
  return c.attention_scale;
}

void read_late_windows(Configuration& c, const Settings& settings) {
  if (read_layer_types(c, settings)) return;
  if (!settings.boolean({"", {"use_sliding_window"}}).value_or(false)) return;
  const std::int64_t window = settings.size_or({"", {"sliding_window"}}, 0);
  const std::int64_t first = settings.integer({"", {"max_window_layers"}}).value_or(0);
  for (std::int64_t layer = 0; layer < c.layers; ++layer)
    c.windows[static_cast<std::size_t>(layer)] = layer >= first ? window : 0;
}

void read_one_window(Configuration& c, const Settings& settings) {
  const SettingName name{"attention.sliding_window", {"sliding_window"}};
  if (settings.integer(name).value_or(0) != 0) c.windows.assign(c.windows.size(), settings.size(name));
}

void check_one_a_layer(const Settings& settings, std::string_view name, std::size_t entries, std::int64_t layers) {
  if (static_cast<std::int64_t>(entries) == layers) return;
  throw Error(ErrorCode::bad_file, fmt::format("{}: {}{} has {} entries for {} layers", name_of(settings.file()),
                                               settings.from_gguf() ? "" : "config.json: ", name, entries, layers));
}

bool read_layer_types(Configuration& c, const Settings& settings) {
  const auto types = settings.texts({"", {"layer_types"}});
  if (!types) return false;
  check_one_a_layer(settings, "layer_types", types->size(), c.layers);
  for (std::size_t layer = 0; layer < types->size(); ++layer) {
    const std::string& type = (*types)[layer];
    if (type == "full_attention") {
      c.windows[layer] = 0;
    } else if (type == "sliding_attention") {
      c.windows[layer] = settings.size({"attention.sliding_window", {"sliding_window"}});
    } else {
      throw Error(
          ErrorCode::unsupported,
          fmt::format(
              "{}: config.json: layer {} is of type {}; full_attention and sliding_attention run here",
              name_of(settings.file()), layer, in_quotes(type)));
    }
  }
  return true;
}

void read_windows_but_every(Configuration& c, const Settings& settings, std::int64_t period) {
  if (read_layer_types(c, settings)) return;
  const SettingName window{"attention.sliding_window", {"sliding_window"}};
  const SettingName pattern{"attention.sliding_window_pattern", {"sliding_window_pattern"}};
  if (settings.integer(window).value_or(0) == 0) return;
  const auto listed = settings.integers(pattern);
  if (listed) check_one_a_layer(settings, "sliding_window_pattern", listed->size(), c.layers);
  if (!listed) period = settings.size_or(pattern, period);
  for (std::size_t layer = 0; layer < c.windows.size(); ++layer) {
    const bool seen = listed ? (*listed)[layer] != 0 : (layer + 1) % static_cast<std::size_t>(period) != 0;
    c.windows[layer] = seen ? settings.size(window) : 0;
  }
}

double positive_or(const Settings& settings, const SettingName& name, double otherwise) {
  const double value = settings.number(name).value_or(otherwise);
  if (!(value > 0) || !std::isfinite(value))
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: {} is {}; it must be positive", name_of(settings.file()),
                            settings.from_gguf() ? name.gguf : std::string_view(name.folder.front()), value));
  return value;
}

double cap_of(const Settings& settings, const SettingName& name) {
  const double cap = settings.number(name).value_or(0);
  if (!std::isfinite(cap) || cap < 0)
    throw Error(ErrorCode::bad_file, fmt::format("{}: {} is {}; it must be positive, or missing",
                                                 name_of(settings.file()), name.gguf, cap));
  return cap;
}

void refuse_setting(const Settings& settings, std::string_view name) {
  throw Error(ErrorCode::unsupported,
              fmt::format("{}: {} is set, and that does not run here", name_of(settings.file()), name));
}

}  // namespace sharpmax::model
