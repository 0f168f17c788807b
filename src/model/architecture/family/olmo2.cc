// OLMo 2 and 3: norms after each part and none before, queries and keys normalized over all heads together. OLMo 3
// has windows, whose layers are not stretched.
#include <algorithm>

#include "model/architecture/architecture.h"

namespace sharpmax::model {
namespace {

void complete(Configuration& c, const Settings& settings) {
  constexpr std::int64_t kPeriod = 4;  // every fourth layer has no window
  read_windows_but_every(c, settings, kPeriod);
  if (std::any_of(c.windows.begin(), c.windows.end(), [](std::int64_t window) { return window > 0; }))
    c.window_rope = read_window_rope(settings, c, c.rope.base);
}

}  // namespace

const Architecture& olmo2() {
  static const Architecture architecture{
      .name = "olmo2",
      .transformers_names = {"olmo2", "olmo3"},
      .covers = "OLMo 2, OLMo 3",
      .norm_before = false,
      .norm_after = true,
      .query_key_norm = QueryKeyNorm::width,
      .query_key_value_bias = Presence::where_present,
      .attention_out_bias = Presence::where_present,
      .gguf = gguf_names(),
      .folder = folder_names_with_norms_after(),
      .complete = complete,
  };
  return architecture;
}

}  // namespace sharpmax::model
