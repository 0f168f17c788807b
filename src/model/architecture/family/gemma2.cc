// Gemma 2: Gemma with norms after as well as before, soft caps, and a window on every other layer.
#include <cmath>

#include "model/architecture/architecture.h"

namespace sharpmax::model {
namespace {

constexpr std::int64_t kLayersOf27B = 46;
constexpr std::int64_t kWindow = 4096;  // of every published size

void complete(Configuration& c, const Settings& settings) {
  c.embedding_scale = std::sqrt(static_cast<double>(c.width));
  c.attention_scale = attention_scale_of_gemma(c, settings, kLayersOf27B);
  c.attention_cap = cap_of(settings, {"attn_logit_softcapping", {"attn_logit_softcapping"}});
  c.logit_cap = cap_of(settings, {"final_logit_softcapping", {"final_logit_softcapping"}});
  if (read_layer_types(c, settings)) return;
  const std::int64_t window = settings.size_or({"attention.sliding_window", {"sliding_window"}}, kWindow);
  for (std::size_t layer = 0; layer < c.windows.size(); layer += 2) c.windows[layer] = window;
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
      .gguf = gguf_names(),
      .folder = folder_names_with_norms_after(),
      .complete = complete,
  };
  return architecture;
}

}  // namespace sharpmax::model
