#include "model/generation/perplexity.h"

#include <algorithm>
#include <cmath>

#include "model/generation/generate.h"
#include "statistics/significance.h"

namespace sharpmax {
namespace {

constexpr std::int64_t kFirstEdge = 128, kEdgeFactor = 4;

PositionBucket bucket_between(std::span<const ChunkLosses> chunks, std::int64_t from, std::int64_t to) {
  PositionBucket bucket{.from = from, .to = to};
  std::vector<double> runs;
  double total = 0;
  for (const ChunkLosses& chunk : chunks) {
    // losses[i] has i + 1 tokens before it.
    const std::int64_t begin = std::max<std::int64_t>(from - 1, 0);
    const std::int64_t end = std::min(to - 1, static_cast<std::int64_t>(chunk.losses.size()));
    double run = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      const double loss = chunk.losses[static_cast<std::size_t>(i)];
      total += loss;
      run += loss;
      ++bucket.tokens;
      if ((i - begin + 1) % kRunLength != 0) continue;
      runs.push_back(run / static_cast<double>(kRunLength));
      run = 0;
    }
  }
  bucket.loss = total / static_cast<double>(bucket.tokens);
  const Interval interval = mean_interval(runs);
  // Runs leave out what does not fill one; their interval is laid round the mean of all.
  const double middle = mean_of(runs);
  bucket.low = bucket.loss + (interval.low - middle);
  bucket.high = bucket.loss + (interval.high - middle);
  return bucket;
}

std::int64_t longest_of(std::span<const ChunkLosses> chunks) {
  std::size_t longest = 0;
  for (const ChunkLosses& chunk : chunks) longest = std::max(longest, chunk.losses.size());
  return static_cast<std::int64_t>(longest) + 1;
}

}  // namespace

std::vector<PositionBucket> buckets_of(std::span<const ChunkLosses> chunks) {
  const std::int64_t longest = longest_of(chunks);
  std::vector<PositionBucket> buckets;
  for (std::int64_t from = 0, to = kFirstEdge; from < longest; from = to, to *= kEdgeFactor) {
    const PositionBucket bucket = bucket_between(chunks, from, to);
    if (bucket.tokens > 0) buckets.push_back(bucket);
  }
  return buckets;
}

PositionBucket bucket_of_all(std::span<const ChunkLosses> chunks) {
  return bucket_between(chunks, 0, longest_of(chunks) + 1);
}

}  // namespace sharpmax

namespace sharpmax::model {

double loss_of(std::span<const float> logits, Token token) {
  float top = -std::numeric_limits<float>::infinity();
  for (const float logit : logits) top = std::max(top, logit);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit - top));
  return std::log(sum) + static_cast<double>(top) -
         static_cast<double>(logits[static_cast<std::size_t>(token)]);
}

ChunkLosses chunk_losses(Session& session, std::span<const Token> chunk, std::int64_t first,
                         const std::function<void(std::int64_t)>& on_token) {
  ChunkLosses result{.first = first};
  if (chunk.size() < 2) return result;
  session.rewind(0);
  // The last token is predicted, not read.
  session.feed_for_all(chunk.first(chunk.size() - 1),
                       [&](std::int64_t position, std::span<const float> logits) {
                         const Token next = chunk[static_cast<std::size_t>(position) + 1];
                         result.losses.push_back(static_cast<float>(loss_of(logits, next)));
                         result.likeliest += likeliest(logits) == next;
                         if (on_token) on_token(position + 1);
                       });
  return result;
}

}  // namespace sharpmax::model
