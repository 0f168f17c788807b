// The job of `sharpmax audit --probe`: questions of known answer at every length, and who looks at the right
// item.
#pragma once

#include <string>
#include <vector>

#include "audit/probe/measure_probe.h"
#include "cli/console.h"
#include "cli/model_options.h"
#include "cli/report_files.h"

namespace sharpmax::cli {

struct ProbeOptions {
  std::string kind;                   // max or lookup
  std::vector<std::int64_t> lengths;  // empty: 128, 256, … to 2048 or the context
  std::int64_t questions = 40;        // of each length
  bool chat = false;
  std::uint64_t seed = 0;
  std::string json;  // as elsewhere; the section "probe" of sharpmax.audit/1
  ReportFiles report;
  bool resume = false;
};
// --probe, --questions, --chat and --question-seed; the rest are options of the command that has them.
void add_probe_options(CLI::App& words, ProbeOptions& options);

// Measures, saves every length as it is done, prints.
int audit_probe(const ModelOptions& model, const ProbeOptions& options);

std::string report_of(const audit::Probe& probe, const std::vector<audit::ProbeResult>& results,
                      std::int64_t heads, bool colour);

}  // namespace sharpmax::cli
