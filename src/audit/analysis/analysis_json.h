// The section "analysis" of schema sharpmax.audit/1: everything that paper B's analyses measured.
#pragma once

#include "audit/analysis/measure_model.h"
#include "sharpmax/analysis.h"

namespace sharpmax::audit {

// Numbers are rounded to six digits.
AnalysisFindings findings_of(const HeadMeasurements& found);

Json to_json(const AnalysisFindings& findings);
// Throws Error{bad_file} for curves that do not fit together, and JSON's exceptions.
AnalysisFindings analysis_findings_in(const Json& json);

}  // namespace sharpmax::audit
