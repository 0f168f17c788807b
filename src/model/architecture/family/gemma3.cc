// Gemma 3: Gemma 2 with normalized queries and keys instead of caps, and two ropes: that of layers with a window
// has a base of its own and is never stretched.
#include <cmath>

#include "model/architecture/architecture.h"

namespace sharpmax::model {
namespace {

constexpr std::int64_t kLayersOf27B = 62;
constexpr std::int64_t kPeriod = 6;          // every sixth layer has no window
constexpr double kBaseOfWindows = 10000.0;

void complete(Configuration& c, const Settings& settings) {
  if (settings.boolean({"", {"use_bidirectional_attention"}}).value_or(false))
    refuse_setting(settings, "use_bidirectional_attention");
  c.embedding_scale = std::sqrt(static_cast<double>(c.width));
  c.attention_scale = attention_scale_of_gemma(c, settings, kLayersOf27B);
  c.attention_cap = cap_of(settings, {"attn_logit_softcapping", {"attn_logit_softcapping"}});
  c.logit_cap = cap_of(settings, {"final_logit_softcapping", {"final_logit_softcapping"}});
  read_windows_but_every(c, settings, kPeriod);
  c.window_rope = read_window_rope(settings, c, kBaseOfWindows);
}

}  // namespace

const Architecture& gemma3() {
  static const Architecture architecture{
      .name = "gemma3",
      .transformers_names = {"gemma3_text"},
      .covers = "Gemma 3",
      .activation = Activation::gelu_tanh,
      .norm_after = true,
      .query_key_norm = QueryKeyNorm::head,
      .folder_norm_offset = 1,
      .gguf = gguf_names(),
      .folder = folder_names_with_norms_after(),
      .complete = complete,
  };
  return architecture;
}

}  // namespace sharpmax::model
