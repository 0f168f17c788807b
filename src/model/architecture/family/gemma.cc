// Gemma 1: Llama with GELU, scaled embeddings, and norms whose stored weight is around 0.
#include <cmath>

#include "model/architecture/architecture.h"

namespace sharpmax::model {
namespace {

void complete(Configuration& c, const Settings&) {
  c.embedding_scale = std::sqrt(static_cast<double>(c.width));
}

}  // namespace

const Architecture& gemma() {
  static const Architecture architecture{
      .name = "gemma",
      .transformers_names = {"gemma"},
      .covers = "Gemma 1",
      .activation = Activation::gelu_tanh,
      .folder_norm_offset = 1,
      .gguf = gguf_names(),
      .folder = folder_names(),
      .complete = complete,
  };
  return architecture;
}

}  // namespace sharpmax::model
