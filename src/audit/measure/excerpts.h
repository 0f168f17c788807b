// Which parts of a text an audit reads, and which rows it keeps of them.
//
// An excerpt is read once, to the longest length; rows near the end of every length are kept on the way, so
// one pass serves all lengths.
#pragma once

#include <cstdint>
#include <vector>

#include "sharpmax/audit.h"

namespace sharpmax::audit {

struct ReadingPlan {
  std::vector<std::int64_t> lengths;  // tokens, ascending; a row at length n sees at most n keys
  std::vector<std::int64_t> starts;   // of the excerpts in the text's tokens, ascending, never overlapping
};

// `lengths` that the text cannot fill are replaced by one: all of it. Excerpts are spread evenly over the
// text. Error{bad_argument} for no lengths, or a text of fewer than kLeastLength tokens.
ReadingPlan plan_reading(std::vector<std::int64_t> lengths, std::int64_t text_tokens,
                         std::int64_t most_excerpts);

// Powers of two from 64 to the longest, and the longest.
std::vector<std::int64_t> default_lengths(std::int64_t longest);

// Queries in the last quarter of `length` tokens, at most kKeptRows, evenly spaced, the last among them.
std::vector<std::int64_t> rows_near(std::int64_t length);
inline constexpr std::int64_t kKeptRows = 64;

}  // namespace sharpmax::audit
