// The text that `sharpmax audit` prints of each form of an audit.
#pragma once

#include <optional>
#include <string>

#include "sharpmax/analysis.h"
#include "sharpmax/audit.h"
#include "sharpmax/probe.h"

namespace sharpmax::cli {

// A verdict, the worst heads or all of them, and the table by length.
std::string text_of(const AuditResult& result, bool all, bool colour);
// One head at every length.
std::string text_of(const AuditResult& result, const HeadPlace& head, bool colour);
// What paper B found and whether it holds here, then a table for each analysis.
std::string text_of(const AnalysisResult& result, bool colour);
// Shares of right answers by length, and the heads that look at the right item.
std::string text_of(const ProbeResult& result, bool colour);

}  // namespace sharpmax::cli
