// Qwen 3: Llama whose queries and keys are normalized head by head.
#include "model/architecture/architecture.h"

namespace sharpmax::model {

const Architecture& qwen3() {
  static const Architecture architecture{
      .name = "qwen3",
      .transformers_names = {"qwen3"},
      .covers = "Qwen 3",
      .query_key_norm = QueryKeyNorm::head,
      .query_key_value_bias = Presence::where_present,
      .attention_out_bias = Presence::where_present,
      .gguf = gguf_names(),
      .folder = folder_names(),
      .complete = read_late_windows,
  };
  return architecture;
}

}  // namespace sharpmax::model
