// Fields of a request held to the domains of the theory, which know open ends.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "sharpmax/job.h"
#include "theory/arguments.h"

namespace sharpmax {

// Throws RequestError{bad_argument} unless the value is finite and in the domain.
inline void require_field(std::string_view field, double value, const theory::Domain& domain) {
  if (!std::isfinite(value) || !domain.contains(value))
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("{} is {}; it must be {}", named(field), value, domain.words));
}

}  // namespace sharpmax
