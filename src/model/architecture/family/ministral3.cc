// Ministral 3: Llama with YaRN, whose queries grow with their position.
#include "model/architecture/architecture.h"

namespace sharpmax::model {
namespace {

void complete(Configuration& c, const Settings& settings) {
  read_one_window(c, settings);
  c.query_growth.beta =
      settings.number({"attention.temperature_scale", {"rope_parameters.llama_4_scaling_beta"}}).value_or(0);
  if (c.query_growth.beta == 0) return;
  c.query_growth.length = positive_or(
      settings,
      {"rope.scaling.original_context_length", {"rope_parameters.original_max_position_embeddings"}}, 0);
}

}  // namespace

const Architecture& ministral3() {
  static const Architecture architecture{
      .name = "mistral3",
      .transformers_names = {"ministral3"},
      .covers = "Ministral 3, Mistral Small 3",
      .gguf_pairs = RotationPairs::interleaved,
      .gguf = gguf_names(),
      .folder = folder_names(),
      .complete = complete,
  };
  return architecture;
}

}  // namespace sharpmax::model
