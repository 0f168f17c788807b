// gpt-oss: every head was trained with a sink of its own, every other layer has a window, and the feed-forward part is
// a mixture of experts with biases.
#include "model/architecture/architecture.h"

namespace sharpmax::model {
namespace {

void complete(Configuration& c, const Settings& settings) {
  constexpr std::int64_t kPeriod = 2;  // every second layer has no window
  constexpr double kClamp = 7.0, kGain = 1.702;  // of Activation::clamped_swish
  read_windows_but_every(c, settings, kPeriod);
  if (settings.number({"", {"swiglu_limit"}}).value_or(kClamp) != kClamp) refuse_setting(settings, "swiglu_limit");
  if (settings.number({"", {"swiglu_alpha"}}).value_or(kGain) != kGain) refuse_setting(settings, "swiglu_alpha");
  c.activation = Activation::clamped_swish;
  c.experts = read_experts(c, settings);
  c.experts->gate_up_interleaved = !settings.from_gguf();
  // GGUF files do not say so, but the model was trained with a ramp whose bounds are not whole.
  if (settings.from_gguf()) c.rope.scaling.whole_bounds = false;
}

PartNames gguf_names_of_gpt_oss() {
  PartNames names = gguf_names_of_experts();
  names.feed_forward_norm = "blk.{}.post_attention_norm";
  names.sinks = "blk.{}.attn_sinks";
  return names;
}

PartNames folder_names_of_gpt_oss() {
  PartNames names = folder_names();
  names.sinks = "layers.{}.self_attn.sinks";
  names.router = "layers.{}.mlp.router";
  names.experts_gate_up = "layers.{}.mlp.experts.gate_up_proj";
  names.experts_down = "layers.{}.mlp.experts.down_proj";
  return names;
}

}  // namespace

const Architecture& gpt_oss() {
  static const Architecture architecture{
      .name = "gpt-oss",
      .transformers_names = {"gpt_oss"},
      .covers = "gpt-oss",
      .query_key_value_bias = Presence::where_present,
      .attention_out_bias = Presence::where_present,
      .feed_forward_bias = Presence::required,
      .folder_experts_by_input = true,
      .gguf = gguf_names_of_gpt_oss(),
      .folder = folder_names_of_gpt_oss(),
      .complete = complete,
  };
  return architecture;
}

}  // namespace sharpmax::model
