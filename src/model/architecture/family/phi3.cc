// Phi-3 and Phi-4: Llama with one matrix for query, key and value and one for gate and up.
#include "model/architecture/architecture.h"

namespace sharpmax::model {
namespace {

PartNames fused(PartNames names, std::string_view query_key_value, std::string_view gate_up) {
  names.query_key_value = query_key_value;
  names.gate_up = gate_up;
  return names;
}

}  // namespace

const Architecture& phi3() {
  static const Architecture architecture{
      .name = "phi3",
      .transformers_names = {"phi3"},
      .covers = "Phi-3, Phi-4",
      .gguf = fused(gguf_names(), "blk.{}.attn_qkv", "blk.{}.ffn_up"),
      .folder = fused(folder_names(), "layers.{}.self_attn.qkv_proj", "layers.{}.mlp.gate_up_proj"),
      .complete = read_one_window,
  };
  return architecture;
}

}  // namespace sharpmax::model
