#include "audit/measure/excerpts.h"

#include <fmt/format.h>

#include <algorithm>

#include "sharpmax/error.h"

namespace sharpmax::audit {

ReadingPlan plan_reading(std::vector<std::int64_t> lengths, std::int64_t text_tokens,
                         std::int64_t most_excerpts) {
  if (lengths.empty()) throw Error(ErrorCode::bad_argument, "no lengths were given; there must be at least one");
  for (const std::int64_t length : lengths)
    if (length < kLeastLength)
      throw Error(ErrorCode::bad_argument,
                  fmt::format("length {} is too short; it must be at least {} tokens", length, kLeastLength));
  if (text_tokens < kLeastLength)
    throw Error(ErrorCode::bad_argument,
                fmt::format("the text has {} tokens; it must have at least {}", text_tokens, kLeastLength));
  for (std::int64_t& length : lengths) length = std::min(length, text_tokens);
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());

  const std::int64_t longest = lengths.back();
  const std::int64_t excerpts = std::clamp<std::int64_t>(text_tokens / longest, 1, most_excerpts);
  ReadingPlan plan{.lengths = std::move(lengths)};
  for (std::int64_t i = 0; i < excerpts; ++i)
    plan.starts.push_back(excerpts == 1 ? 0 : i * ((text_tokens - longest) / (excerpts - 1)));
  return plan;
}

std::vector<std::int64_t> default_lengths(std::int64_t longest) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t length = 64; length < longest; length *= 2) lengths.push_back(length);
  lengths.push_back(longest);
  return lengths;
}

std::vector<std::int64_t> rows_near(std::int64_t length) {
  const std::int64_t window = std::max<std::int64_t>(1, length / 4), rows = std::min(window, kKeptRows);
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 1; i <= rows; ++i) positions.push_back(length - window - 1 + i * window / rows);
  return positions;
}

}  // namespace sharpmax::audit
