// A normalizer as one of the heads sees it: parameters with one value per head have that of the head.
#pragma once

#include <cstdint>

#include "sharpmax/normalizer.h"

namespace sharpmax {

AnyNormalizer normalizer_of_head(const AnyNormalizer& normalizer, std::int64_t head);

}  // namespace sharpmax
