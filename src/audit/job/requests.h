// Checks that requests of this room share: the three forms of an audit (by length, analysis, probe), domains of the theory.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <string_view>

#include "job/call_files.h"
#include "sharpmax/audit.h"
#include "theory/arguments.h"

namespace sharpmax {

// The files of an audit by length: those of its request, and the rows beside its results.
CallFiles files_of_audit(const AuditRequest& request);

enum class AuditForm { by_length, analysis, probe };
// Throws Error{bad_file} if results of schema sharpmax.audit/1 are of another form, which their settings show.
void check_form(const Json& results, AuditForm expected);

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Throws RequestError{bad_argument} unless the value is finite and in the domain.
inline void require_field(std::string_view field, double value, const theory::Domain& domain) {
  if (!std::isfinite(value) || !domain.contains(value))
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("{} is {}; it must be {}", named(field), value, domain.words));
}

}  // namespace sharpmax
