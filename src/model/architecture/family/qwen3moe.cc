// Qwen 3 with a mixture of experts: attention is Qwen 3's.
#include <algorithm>

#include "model/architecture/architecture.h"

namespace sharpmax::model {
namespace {

// GGUF files have experts in every layer. config.json may leave them out of some.
void complete(Configuration& c, const Settings& settings) {
  read_late_windows(c, settings);
  Experts experts = read_experts(c, settings);
  // GGUF files do not say: all that there are weigh the experts that are used alone.
  experts.weigh_used = settings.boolean({"", {"norm_topk_prob"}}).value_or(settings.from_gguf());
  const std::int64_t step = settings.size_or({"", {"decoder_sparse_step"}}, 1);
  const auto dense = settings.integers({"", {"mlp_only_layers"}}).value_or(std::vector<std::int64_t>());
  for (std::int64_t layer = 0; layer < c.layers; ++layer)
    experts.in_layer.push_back((layer + 1) % step == 0 && std::find(dense.begin(), dense.end(), layer) == dense.end());
  c.experts = std::move(experts);
}

PartNames folder_names_of_experts() {
  PartNames names = folder_names();
  names.router = "layers.{}.mlp.gate";
  names.expert_gate = "layers.{}.mlp.experts.{e}.gate_proj";
  names.expert_up = "layers.{}.mlp.experts.{e}.up_proj";
  names.expert_down = "layers.{}.mlp.experts.{e}.down_proj";
  names.experts_gate_up = "layers.{}.mlp.experts.gate_up_proj";
  names.experts_down = "layers.{}.mlp.experts.down_proj";
  return names;
}

}  // namespace

const Architecture& qwen3moe() {
  static const Architecture architecture{
      .name = "qwen3moe",
      .transformers_names = {"qwen3_moe"},
      .covers = "Qwen 3 with experts",
      .query_key_norm = QueryKeyNorm::head,
      .query_key_value_bias = Presence::where_present,
      .attention_out_bias = Presence::where_present,
      .gguf = gguf_names_of_experts(),
      .folder = folder_names_of_experts(),
      .complete = complete,
  };
  return architecture;
}

}  // namespace sharpmax::model
