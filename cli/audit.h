// What `sharpmax audit` is told, and its job by length; shared by its parts.
#pragma once

#include <string>
#include <vector>

#include "audit/measure/findings.h"
#include "audit/measure/head_sketch.h"
#include "cli/audit_analysis.h"
#include "cli/audit_probe.h"
#include "cli/console.h"
#include "cli/model_options.h"
#include "cli/model_text.h"
#include "cli/report_files.h"

namespace sharpmax::cli {

inline constexpr const char* kAuditSchema = "sharpmax.audit/1";
// Beside the file of --json: the rows that were kept, to go on from.
inline constexpr const char* kRowsEnding = ".rows.npz";

struct AuditOptions {
  ModelOptions model;
  TextOptions text;
  ProbeOptions probe;
  std::vector<std::int64_t> lengths;
  std::int64_t excerpts = 4;
  std::int64_t sketch = audit::kSketchTokens;  // 0: none
  audit::Thresholds thresholds;
  std::string head;  // "layer.head"
  bool all = false, resume = false, overwrite = false;
  std::string json;
  ReportFiles report;
  AnalysisOptions analysis;
};

// Every head at every length of a text: the section "attention".
int audit_lengths(const AuditOptions& options);

// What was read, beside the findings.
struct AuditHeader {
  std::string model, text;
  std::int64_t text_tokens = 0;
};
std::string report_of(const AuditHeader& header, const audit::Findings& findings, bool all, bool colour);
std::string head_report(const audit::Findings& findings, const audit::HeadFindings& head, bool colour);
// Two sentences.
std::string verdict_of(const audit::Findings& findings);

// "3.5": layer 3, head 5, both from 0. Error{bad_argument} for anything else or one that is not there.
audit::HeadPlace parse_head(const std::string& text, std::int64_t layers, std::int64_t heads);

}  // namespace sharpmax::cli
