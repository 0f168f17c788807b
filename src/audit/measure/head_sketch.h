// Sketches of heads: what each does with one short excerpt, small enough to be looked at.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/transformer/session.h"
#include "sharpmax/audit.h"

namespace sharpmax::audit {

// Queries that are looked at, spread over n tokens and denser towards the end; the last is n - 1.
std::vector<std::int64_t> sketched_rows(std::int64_t n);

// Reads the excerpt from an empty cache in one block: Error{bad_argument} where the session's is shorter.
Sketches sketch_heads(model::Session& session, std::span<const model::Token> excerpt);

// Sketches of heads as the section "sketches" of the results; docs/reference/audit.md has its fields.

// Texts of tokens may be any bytes; those that are not UTF-8 become U+FFFD. Weights of a map lose digits: map_json().
Json to_json(const Sketches& sketches);
// Of a model with so many layers, and heads in each. Throws Error{bad_file}, and JSON's exceptions.
Sketches sketches_in(const Json& json, std::int64_t layers, std::int64_t heads);

}  // namespace sharpmax::audit
