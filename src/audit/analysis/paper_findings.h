// Which of paper B's findings hold on what was measured, by rules that are fixed here and not by eye.
#pragma once

#include <vector>

#include "audit/analysis/measure_model.h"
#include "audit/analysis/summary_curves.h"
#include "sharpmax/analysis.h"

namespace sharpmax::audit {

// A straight line through logarithms: y = factor x^exponent.
struct PowerLaw {
  double exponent = 0.0;  // NaN for fewer than two points, or a value that is not positive
  double r2 = 0.0;        // share of the variance of ln y that it explains
};
PowerLaw fit_power_law(const std::vector<double>& x, const std::vector<double>& y);

// Findings of the analyses that were asked for, in the order of the paper. `critical`: against keys drawn, by the reading
// of the settings.
std::vector<PaperFinding> paper_findings(const HeadMeasurements& found,
                                         const std::vector<CriticalAtLength>& critical);

// The section "analysis" of schema sharpmax.audit/1: everything that paper B's analyses measured.

// Numbers are rounded to six digits.
AnalysisFindings findings_of(const HeadMeasurements& found);

Json to_json(const AnalysisFindings& findings);
// Throws Error{bad_file} for curves that do not fit together, and JSON's exceptions.
AnalysisFindings analysis_findings_in(const Json& json);

}  // namespace sharpmax::audit
