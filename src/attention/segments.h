// A segment is a rectangle of queries x keys of one batch entry that attend to each other:
// the whole of it, what its lengths leave, or one packed document. Everything behind the doors
// works on segments and on the interval of keys that causality and window leave to a query.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sharpmax/attention.h"

namespace sharpmax {

struct KeyRange {
  std::int64_t begin = 0;  // absolute key index
  std::int64_t end = 0;    // begin >= end: the query sees nothing
};

struct Segment {
  std::int64_t batch = 0;
  std::int64_t query_begin = 0, query_end = 0;
  std::int64_t key_begin = 0, key_end = 0;
  // Query q's own position among the keys is q + diagonal; causal: keys up to and with it.
  std::int64_t diagonal = 0;
  std::int64_t left = -1, right = -1;  // window with causality folded in (right = 0); -1: no limit

  KeyRange visible(std::int64_t query) const noexcept {
    const std::int64_t own = query + diagonal;
    return {left < 0 ? key_begin : std::max(key_begin, own - left),
            right < 0 ? key_end : std::min(key_end, own + right + 1)};
  }
};

// Every segment of the request; queries in none of them are rows without keys. The request has
// been validated.
std::vector<Segment> segments_of(const AttentionRequest& request);

}  // namespace sharpmax
