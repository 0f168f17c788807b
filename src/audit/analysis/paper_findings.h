// Which of paper B's findings hold on what was measured, by rules that are fixed here and not by eye.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "audit/analysis/critical_top.h"
#include "audit/analysis/summary_curves.h"

namespace sharpmax::audit {

struct PaperFinding {
  std::string name;                                     // "linear-growth"
  std::string claim;                                    // as the paper has it
  std::string rule;                                     // when it is said to hold
  std::string found;                                    // what was measured, in a sentence
  std::optional<bool> holds;                            // none: what was measured does not decide
  std::vector<std::pair<std::string, double>> figures;  // what the rule looked at
};

// A straight line through logarithms: y = factor x^exponent.
struct PowerLaw {
  double exponent = 0.0;  // NaN for fewer than two points, or a value that is not positive
  double r2 = 0.0;        // share of the variance of ln y that it explains
};
PowerLaw fit_power_law(const std::vector<double>& x, const std::vector<double>& y);

// Of the analyses that were wanted, in the order of the paper. `critical`: against keys drawn, by the reading
// of the settings.
std::vector<PaperFinding> paper_findings(const HeadMeasurements& found,
                                         const std::vector<CriticalAtLength>& critical);

}  // namespace sharpmax::audit
