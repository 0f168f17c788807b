// Sketches of heads as the section "sketches" of the results; docs/audit.md has its fields.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "audit/measure/head_sketch.h"

namespace sharpmax::audit {

// texts: of every token of the excerpt, any bytes; what is no UTF-8 becomes U+FFFD.
nlohmann::ordered_json to_json(const Sketches& sketches, std::span<const std::string> texts);

}  // namespace sharpmax::audit
