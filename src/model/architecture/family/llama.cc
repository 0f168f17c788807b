// Llama 1 to 3, SmolLM2, and Mistral with its window.
#include "model/architecture/architecture.h"

namespace sharpmax::model {

const Architecture& llama() {
  static const Architecture architecture{
      .name = "llama",
      .transformers_names = {"llama", "mistral"},
      .covers = "Llama, SmolLM2, Mistral",
      .query_key_value_bias = Presence::where_present,
      .attention_out_bias = Presence::where_present,
      .feed_forward_bias = Presence::where_present,
      .gguf_pairs = RotationPairs::interleaved,  // the conversion permutes query and key rows
      .gguf = gguf_names(),
      .folder = folder_names(),
      .complete = read_one_window,
  };
  return architecture;
}

}  // namespace sharpmax::model
