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

}  // namespace sharpmax::audit
