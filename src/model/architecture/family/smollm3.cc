// SmolLM3: Llama with some layers that positions do not enter.
#include "model/architecture/architecture.h"

namespace sharpmax::model {
namespace {

// Which layers, config.json says: 1 where positions enter. GGUF files do not: every fourth has none.
void complete(Configuration& c, const Settings& settings) {
  constexpr std::int64_t kPeriod = 4;
  read_late_windows(c, settings);
  const auto listed = settings.integers({"", {"no_rope_layers"}});
  if (listed) check_one_a_layer(settings, "no_rope_layers", listed->size(), c.layers);
  const std::int64_t period = settings.size_or({"", {"no_rope_layer_interval"}}, kPeriod);
  for (std::size_t layer = 0; layer < c.turned.size(); ++layer)
    c.turned[layer] = listed ? (*listed)[layer] != 0 : (layer + 1) % static_cast<std::size_t>(period) != 0;
}

}  // namespace

const Architecture& smollm3() {
  static const Architecture architecture{
      .name = "smollm3",
      .transformers_names = {"smollm3"},
      .covers = "SmolLM3",
      .query_key_value_bias = Presence::where_present,
      .attention_out_bias = Presence::where_present,
      .feed_forward_bias = Presence::where_present,
      .gguf_pairs = RotationPairs::interleaved,
      .gguf = gguf_names(),
      .folder = folder_names(),
      .complete = complete,
  };
  return architecture;
}

}  // namespace sharpmax::model
