// The rule by which the kind of a head is decided.
#pragma once

#include "sharpmax/audit.h"

namespace sharpmax::audit {

HeadKind kind_of(const KindSigns& signs, const Thresholds& thresholds);

}  // namespace sharpmax::audit
