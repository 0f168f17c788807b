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

// The rules by which heads are called what they are called.
struct Thresholds {
  double blunt = 0.1;       // a head is blunt where its typical peak outside the sink is below
  double sink = 0.5;        // sink: typical weight of the first token above
  double local = 0.5;       // local: typical weight near, outside the sink, above
  double sharp = 0.3;       // sharp: typical peak outside the sink above
  double dispersing = 0.5;  // dispersing: slope of the entropy outside the sink against ln n above, or blunt
};

// What a kind is told by.
struct KindSigns {
  double first = 0;         // weight of the first token
  double near_outside = 0;  // of the weight outside, what lies within kNear tokens
  double peak_outside = 0;
  double entropy_slope = 0;  // against ln n; 0 where only one length is known
  bool operator==(const KindSigns&) const = default;
};
HeadKind kind_of(const KindSigns& signs, const Thresholds& thresholds);

struct HeadPlace {
  std::int64_t layer = 0, head = 0;
  auto operator<=>(const HeadPlace&) const = default;
};

}  // namespace sharpmax::audit
