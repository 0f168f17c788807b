// What `sharpmax train` trains: a pre-norm decoder whose first heads, and all heads of its first layers, turn with the
// position and see a window, while the others have no positions and see everything. GELU or SwiGLU, no biases but that of the head, which keeps tokens
// that are never an answer out of the answers.
#include <fmt/format.h>

#include "model/architecture/architecture.h"
#include "sharpmax/error.h"

namespace sharpmax::model {
namespace {

[[noreturn]] void refuse(const Settings& settings, const std::string& what, ErrorCode code = ErrorCode::bad_file) {
  throw Error(code, fmt::format("{}: config.json: {}", name_of(settings.file()), what));
}

void complete(Configuration& c, const Settings& settings) {
  const std::int64_t tokens = settings.size_or({"", {"tokens_per_place"}}, 1);
  if (tokens != 1)
    refuse(settings, fmt::format("tokens_per_place is {}; only models with one token per place run here", tokens),
           ErrorCode::unsupported);
  const std::int64_t local = settings.integer({"", {"local_heads"}}).value_or(0);
  if (local < 0 || local > c.heads) refuse(settings, fmt::format("local_heads is {}; there are {} heads", local, c.heads));
  if (c.kv_heads != c.heads)
    refuse(settings, fmt::format("{} heads share {} key heads; each must have its own", c.heads, c.kv_heads));
  const std::int64_t layers = settings.integer({"", {"local_layers"}}).value_or(0);
  if (layers < 0 || layers > c.layers) refuse(settings, fmt::format("local_layers is {}; there are {} layers", layers, c.layers));
  c.local = LocalHeads{local, layers, settings.size_or({"", {"local_window"}}, 8)};
  c.gated = c.activation == Activation::silu;
}

}  // namespace

const Architecture& small_decoder() {
  static const Architecture architecture{
      .name = "small_decoder",
      .transformers_names = {"sharpmax_small_decoder"},
      .covers = "models of sharpmax train",
      .activation = Activation::gelu_tanh,
      .head_bias = Presence::where_present,
      .gguf = gguf_names(),
      .folder = folder_names(),
      .complete = complete,
  };
  return architecture;
}

}  // namespace sharpmax::model
