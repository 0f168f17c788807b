// Gemma 2: Gemma with norms after as well as before, soft caps, and a window on every other layer.
#include <cmath>

#include "model/architecture/architecture.h"

namespace sharpmax::model {
namespace {

// GGUF files do not store what the scores are scaled by. All sizes use the width of a head but the largest,
// which is known by its number of layers.
constexpr std::int64_t kLayersOf27B = 46;
constexpr std::int64_t kWindow = 4096;  // of every published size

double attention_scale_of(const Configuration& c, const Settings& settings) {
  const double by_file = settings.number({"", {"query_pre_attn_scalar"}}).value_or(0);
  if (by_file > 0) return 1.0 / std::sqrt(by_file);
  if (settings.from_gguf() && c.layers == kLayersOf27B)
    return 1.0 / std::sqrt(static_cast<double>(c.width) / static_cast<double>(c.heads));
  return c.attention_scale;
}

void complete(Configuration& c, const Settings& settings) {
  c.embedding_scale = std::sqrt(static_cast<double>(c.width));
  c.attention_scale = attention_scale_of(c, settings);
  c.attention_cap = cap_of(settings, {"attn_logit_softcapping", {"attn_logit_softcapping"}});
  c.logit_cap = cap_of(settings, {"final_logit_softcapping", {"final_logit_softcapping"}});
  if (read_layer_types(c, settings)) return;
  const std::int64_t window = settings.size_or({"attention.sliding_window", {"sliding_window"}}, kWindow);
  for (std::size_t layer = 0; layer < c.windows.size(); layer += 2) c.windows[layer] = window;
}

PartNames gguf_names_of_gemma2() {
  PartNames names = gguf_names();
  names.after_attention_norm = "blk.{}.post_attention_norm";
  names.after_feed_forward_norm = "blk.{}.post_ffw_norm";
  return names;
}

PartNames folder_names_of_gemma2() {
  PartNames names = folder_names();
  names.after_attention_norm = "layers.{}.post_attention_layernorm";
  names.feed_forward_norm = "layers.{}.pre_feedforward_layernorm";
  names.after_feed_forward_norm = "layers.{}.post_feedforward_layernorm";
  return names;
}

}  // namespace

const Architecture& gemma2() {
  static const Architecture architecture{
      .name = "gemma2",
      .transformers_names = {"gemma2"},
      .covers = "Gemma 2",
      .activation = Activation::gelu_tanh,
      .norm_after = true,
      .folder_norm_offset = 1,
      .gguf = gguf_names_of_gemma2(),
      .folder = folder_names_of_gemma2(),
      .complete = complete,
  };
  return architecture;
}

}  // namespace sharpmax::model
