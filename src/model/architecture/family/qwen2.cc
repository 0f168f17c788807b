// Qwen 2 and 2.5: Llama with biases on query, key and value.
#include "model/architecture/architecture.h"

namespace sharpmax::model {
namespace {

// Layers from max_window_layers on have a window, and only where the file says so.
void read_windows(Configuration& c, const Settings& settings) {
  if (read_layer_types(c, settings)) return;
  if (!settings.boolean({"", {"use_sliding_window"}}).value_or(false)) return;
  const std::int64_t window = settings.size_or({"", {"sliding_window"}}, 0);
  const std::int64_t first = settings.integer({"", {"max_window_layers"}}).value_or(0);
  for (std::int64_t layer = 0; layer < c.layers; ++layer)
    c.windows[static_cast<std::size_t>(layer)] = layer >= first ? window : 0;
}

}  // namespace

const Architecture& qwen2() {
  static const Architecture architecture{
      .name = "qwen2",
      .transformers_names = {"qwen2"},
      .covers = "Qwen 2, Qwen 2.5",
      .query_key_value_bias = Presence::required,
      .gguf = gguf_names(),
      .folder = folder_names(),
      .complete = read_windows,
  };
  return architecture;
}

}  // namespace sharpmax::model
