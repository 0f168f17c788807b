// Sketches of heads as the section "sketches" of the results; docs/reference/audit.md has its fields.
#pragma once

#include "sharpmax/audit.h"

namespace sharpmax::audit {

// Texts of tokens may be any bytes; those that are not UTF-8 become U+FFFD. Weights of a map lose digits: map_json().
Json to_json(const Sketches& sketches);
// Of a model with so many layers, and heads in each. Throws Error{bad_file}, and JSON's exceptions.
Sketches sketches_in(const Json& json, std::int64_t layers, std::int64_t heads);

}  // namespace sharpmax::audit
