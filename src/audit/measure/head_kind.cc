#include "audit/measure/head_kind.h"

namespace sharpmax {

std::string_view name_of(HeadKind kind) {
  switch (kind) {
    case HeadKind::sink:
      return "sink";
    case HeadKind::local:
      return "local";
    case HeadKind::sharp:
      return "sharp";
    case HeadKind::dispersing:
      return "dispersing";
    case HeadKind::mixed:
      return "mixed";
  }
  return "mixed";
}

namespace audit {

HeadKind kind_of(const KindSigns& signs, const Thresholds& t) {
  if (signs.first > t.sink) return HeadKind::sink;
  if (signs.near_outside > t.local) return HeadKind::local;
  if (signs.peak_outside > t.sharp) return HeadKind::sharp;
  if (signs.peak_outside < t.blunt || signs.entropy_slope > t.dispersing) return HeadKind::dispersing;
  return HeadKind::mixed;
}

}  // namespace audit
}  // namespace sharpmax
