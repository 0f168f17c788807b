// What the three forms of an audit share: by length, analysis, probe.
#pragma once

#include <chrono>
#include <string_view>

#include "job/call_files.h"
#include "sharpmax/audit.h"

namespace sharpmax {

// The files of an audit by length: those of its request, and the rows beside its results.
CallFiles files_of_audit(const AuditRequest& request);

enum class AuditForm { by_length, analysis, probe };
// Throws Error{bad_file} if results of schema sharpmax.audit/1 are of another form, which their settings show.
void check_form(const Json& results, AuditForm expected);

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace sharpmax
