// The section "analysis" of schema sharpmax.audit/1: everything that paper B's analyses measured.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "audit/analysis/paper_findings.h"

namespace sharpmax::audit {

// All that is printed and drawn is made of this. Figures have six digits; not-a-number is null.
nlohmann::ordered_json analysis_json(const HeadMeasurements& found);

}  // namespace sharpmax::audit
