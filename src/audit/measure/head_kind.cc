#include "audit/measure/head_kind.h"

namespace sharpmax::audit {

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

}  // namespace sharpmax::audit
