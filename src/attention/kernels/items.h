// Items: the unit that threads share out. One (batch, kv head) with all the segments it appears in.
#pragma once

#include <span>
#include <vector>

#include "attention/kernels.h"

namespace sharpmax {

struct Item {
  std::span<const Segment> segments;
  std::int64_t kv_head;
};

inline std::vector<Item> items_of(const AttentionRequest& request, std::span<const Segment> segments) {
  std::vector<Item> items;
  for (std::size_t begin = 0; begin < segments.size();) {
    std::size_t end = begin + 1;
    while (end < segments.size() && segments[end].batch == segments[begin].batch) ++end;
    for (std::int64_t kv = 0; kv < request.key.shape[1]; ++kv) {
      items.push_back({segments.subspan(begin, end - begin), kv});
    }
    begin = end;
  }
  return items;
}

}  // namespace sharpmax
