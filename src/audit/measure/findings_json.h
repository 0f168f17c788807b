// Findings as JSON: the section "attention" of schema sharpmax.audit/1.
#pragma once

#include "sharpmax/audit.h"

namespace sharpmax::audit {

// Numbers with six digits; not-a-number is null.
Json to_json(const Findings& findings);
// Of a model with so many layers, and heads in each. Throws Error{bad_file}, and JSON's exceptions.
Findings findings_in(const Json& json, std::int64_t layers, std::int64_t heads);

// Throws Error{bad_file} if results have another number of heads than their model.
void check_head_count(std::size_t found, std::int64_t layers, std::int64_t heads);

}  // namespace sharpmax::audit
