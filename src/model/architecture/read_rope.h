// Rotary positions as the file has them.
#pragma once

#include "model/architecture/configuration.h"
#include "model/architecture/settings.h"

namespace sharpmax::model {

Rope read_rope(const Settings& settings, RotationPairs pairs, const Configuration& configuration);

}  // namespace sharpmax::model
