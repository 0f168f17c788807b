// Granite 3: Llama with four multipliers.
#include "model/architecture/architecture.h"

namespace sharpmax::model {
namespace {

void complete(Configuration& c, const Settings& settings) {
  c.embedding_scale = positive_or(settings, {"embedding_scale", {"embedding_multiplier"}}, 1);
  c.attention_scale = positive_or(settings, {"attention.scale", {"attention_multiplier"}}, c.attention_scale);
  c.residual_scale = positive_or(settings, {"residual_scale", {"residual_multiplier"}}, 1);
  c.logit_scale = 1.0 / positive_or(settings, {"logit_scale", {"logits_scaling"}}, 1);
  // So GGUF files say that positions do not enter at all.
  if (settings.from_gguf() && !settings.boolean({"rope.scaling.finetuned", {}}).value_or(true))
    c.turned.assign(c.turned.size(), false);
}

}  // namespace

const Architecture& granite() {
  static const Architecture architecture{
      .name = "granite",
      .transformers_names = {"granite"},
      .covers = "Granite 3",
      .query_key_value_bias = Presence::where_present,
      .attention_out_bias = Presence::where_present,
      .feed_forward_bias = Presence::where_present,
      .gguf_pairs = RotationPairs::interleaved,
      .gguf = gguf_names(),
      .folder = folder_names(),
      .complete = complete,
  };
  return architecture;
}

}  // namespace sharpmax::model
