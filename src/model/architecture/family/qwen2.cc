// Qwen 2 and 2.5: Llama with biases on query, key and value.
#include "model/architecture/architecture.h"

namespace sharpmax::model {
const Architecture& qwen2() {
  static const Architecture architecture{
      .name = "qwen2",
      .transformers_names = {"qwen2"},
      .covers = "Qwen 2, Qwen 2.5",
      .query_key_value_bias = Presence::required,
      .gguf = gguf_names(),
      .folder = folder_names(),
      .complete = read_late_windows,
  };
  return architecture;
}

}  // namespace sharpmax::model
