#include "model/architecture/architecture.h"

#include <fmt/format.h>

#include <cmath>

#include "base/in_quotes.h"
#include "sharpmax/error.h"

namespace sharpmax::model {

PartNames gguf_names() {
  return {.embedding = "token_embd",
          .final_norm = "output_norm",
          .head = "output",
          .attention_norm = "blk.{}.attn_norm",
          .query = "blk.{}.attn_q",
          .key = "blk.{}.attn_k",
          .value = "blk.{}.attn_v",
          .attention_out = "blk.{}.attn_output",
          .feed_forward_norm = "blk.{}.ffn_norm",
          .gate = "blk.{}.ffn_gate",
          .up = "blk.{}.ffn_up",
          .down = "blk.{}.ffn_down"};
}

PartNames folder_names() {
  return {.prefixes = {"model.", ""},
          .embedding = "embed_tokens",
          .final_norm = "norm",
          .head = "lm_head",
          .attention_norm = "layers.{}.input_layernorm",
          .query = "layers.{}.self_attn.q_proj",
          .key = "layers.{}.self_attn.k_proj",
          .value = "layers.{}.self_attn.v_proj",
          .attention_out = "layers.{}.self_attn.o_proj",
          .feed_forward_norm = "layers.{}.post_attention_layernorm",
          .gate = "layers.{}.mlp.gate_proj",
          .up = "layers.{}.mlp.up_proj",
          .down = "layers.{}.mlp.down_proj"};
}

void read_one_window(Configuration& c, const Settings& settings) {
  const SettingName name{"attention.sliding_window", {"sliding_window"}};
  if (settings.integer(name).value_or(0) != 0) c.windows.assign(c.windows.size(), settings.size(name));
}

bool read_layer_types(Configuration& c, const Settings& settings) {
  const auto types = settings.texts({"", {"layer_types"}});
  if (!types) return false;
  if (types->size() != c.windows.size())
    throw Error(ErrorCode::bad_file, fmt::format("{}: config.json: layer_types has {} entries for {} layers",
                                                 name_of(settings.file()), types->size(), c.windows.size()));
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

double cap_of(const Settings& settings, const SettingName& name) {
  const double cap = settings.number(name).value_or(0);
  if (!std::isfinite(cap) || cap < 0)
    throw Error(ErrorCode::bad_file, fmt::format("{}: {} is {}; a positive number or none was expected",
                                                 name_of(settings.file()), name.gguf, cap));
  return cap;
}

void refuse_setting(const Settings& settings, std::string_view name) {
  throw Error(ErrorCode::unsupported,
              fmt::format("{}: {} is set, and that does not run here", name_of(settings.file()), name));
}

}  // namespace sharpmax::model
