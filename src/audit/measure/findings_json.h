// Findings as JSON: the section "attention" of schema sharpmax.audit/1.
#pragma once

#include <nlohmann/json.hpp>

#include "audit/measure/findings.h"

namespace sharpmax::audit {

// Numbers with six digits; not-a-number is null.
nlohmann::ordered_json to_json(const Findings& findings);

}  // namespace sharpmax::audit
