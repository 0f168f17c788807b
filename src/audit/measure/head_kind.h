// The kind of a head, told from what it did on one text: another text may make it another kind.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace sharpmax::audit {

enum class HeadKind {
  sink,        // most weight lies on the first token
  local,       // of the rest, most lies on the last few tokens
  sharp,       // picks: the largest weight outside the sink stays large as the text grows
  dispersing,  // its entropy outside the sink grows with ln n
  mixed,       // none of these
};
inline constexpr std::array kHeadKinds = {HeadKind::sink, HeadKind::local, HeadKind::sharp,
                                          HeadKind::dispersing, HeadKind::mixed};
std::string_view name_of(HeadKind kind);

struct HeadPlace {
  std::int64_t layer = 0, head = 0;
  auto operator<=>(const HeadPlace&) const = default;
};

}  // namespace sharpmax::audit
