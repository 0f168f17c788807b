#include "attention/segments.h"

namespace sharpmax {
namespace {

// A reach no key is beyond is no limit; this also keeps query + reach from overflowing.
std::int64_t limit(std::int64_t reach, const AttentionRequest& request) {
  const std::int64_t furthest = request.query.shape[2] + request.key.shape[2];
  return reach < 0 || reach >= furthest ? -1 : reach;
}

Segment with_diagonal(Segment segment, const AttentionRequest& request) {
  segment.diagonal = request.causal == Causal::top_left
                         ? segment.key_begin - segment.query_begin
                         : segment.key_end - segment.query_end;
  segment.left = limit(request.window.left, request);
  segment.right = request.causal == Causal::none ? limit(request.window.right, request) : 0;
  return segment;
}

}  // namespace

std::vector<Segment> segments_of(const AttentionRequest& request) {
  const std::int64_t batches = request.query.shape[0];
  const auto length = [](std::span<const std::int64_t> lengths, std::int64_t batch, std::int64_t all) {
    return lengths.empty() ? all : lengths[static_cast<std::size_t>(batch)];
  };
  std::vector<Segment> segments;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    if (request.query_offsets.empty()) {
      segments.push_back(with_diagonal(
          {.batch = batch,
           .query_end = length(request.query_lengths, batch, request.query.shape[2]),
           .key_end = length(request.key_lengths, batch, request.key.shape[2])},
          request));
    }
    for (std::size_t i = 1; i < request.query_offsets.size(); ++i) {
      segments.push_back(with_diagonal({.batch = batch,
                                        .query_begin = request.query_offsets[i - 1],
                                        .query_end = request.query_offsets[i],
                                        .key_begin = request.key_offsets[i - 1],
                                        .key_end = request.key_offsets[i]},
                                       request));
    }
  }
  return segments;
}

}  // namespace sharpmax
