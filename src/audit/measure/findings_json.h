// Findings as JSON, and the six digits of their numbers.
#pragma once

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>

#include "base/numbers.h"
#include "sharpmax/audit.h"

namespace sharpmax::audit {

// Numbers in results: six digits, enough to read. What is not finite becomes not-a-number, which is null in JSON.

inline double rounded(double value) {
  return std::isfinite(value) ? std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr) : kNaN;
}

inline nlohmann::ordered_json six_digits(double value) {
  if (!std::isfinite(value)) return nullptr;
  return rounded(value);
}

// Findings as JSON: the section "attention" of schema sharpmax.audit/1.

// Numbers with six digits; not-a-number is null.
Json to_json(const Findings& findings);
// Of a model with so many layers, and heads in each. Throws Error{bad_file}, and JSON's exceptions.
Findings findings_in(const Json& json, std::int64_t layers, std::int64_t heads);

// Throws Error{bad_file} if results have another number of heads than their model.
void check_head_count(std::size_t found, std::int64_t layers, std::int64_t heads);

}  // namespace sharpmax::audit
