// GPT-2: learned positions, LayerNorm, biases everywhere, one matrix for query, key and value.
#include "model/architecture/architecture.h"

namespace sharpmax::model {
namespace {

void complete(Configuration& c, const Settings& settings) {
  if (!settings.boolean({"", {"scale_attn_weights"}}).value_or(true)) c.attention_scale = 1;
  if (settings.boolean({"", {"scale_attn_by_inverse_layer_idx"}}).value_or(false))
    refuse_setting(settings, "scale_attn_by_inverse_layer_idx");
}

}  // namespace

const Architecture& gpt2() {
  static const Architecture architecture{
      .name = "gpt2",
      .transformers_names = {"gpt2"},
      .covers = "GPT-2",
      .norm = NormKind::layer,
      .activation = Activation::gelu_tanh,
      .gated = false,
      .learned_positions = true,
      .query_key_value_bias = Presence::required,
      .attention_out_bias = Presence::required,
      .feed_forward_bias = Presence::required,
      .folder_weights_by_input = true,
      .gguf = {.embedding = "token_embd",
               .positions = "position_embd",
               .final_norm = "output_norm",
               .head = "output",
               .attention_norm = "blk.{}.attn_norm",
               .query_key_value = "blk.{}.attn_qkv",
               .attention_out = "blk.{}.attn_output",
               .feed_forward_norm = "blk.{}.ffn_norm",
               .up = "blk.{}.ffn_up",
               .down = "blk.{}.ffn_down"},
      .folder = {.prefixes = {"transformer.", ""},
                 .embedding = "wte",
                 .positions = "wpe",
                 .final_norm = "ln_f",
                 .head = "lm_head",
                 .attention_norm = "h.{}.ln_1",
                 .query_key_value = "h.{}.attn.c_attn",
                 .attention_out = "h.{}.attn.c_proj",
                 .feed_forward_norm = "h.{}.ln_2",
                 .up = "h.{}.mlp.c_fc",
                 .down = "h.{}.mlp.c_proj"},
      .complete = complete,
  };
  return architecture;
}

}  // namespace sharpmax::model
