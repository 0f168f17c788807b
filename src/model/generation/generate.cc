#include "model/generation/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "sharpmax/error.h"
#include "statistics/significance.h"

namespace sharpmax::model {
namespace {

constexpr std::uint64_t kStream = 0x73616d706c65;  // apart from every other use of a seed

void want(bool condition, const std::string& sentence) {
  if (!condition) throw Error(ErrorCode::bad_argument, sentence);
}

}  // namespace

Token likeliest(std::span<const float> logits) noexcept {
  std::size_t best = 0;
  for (std::size_t i = 1; i < logits.size(); ++i)
    if (logits[i] > logits[best] || std::isnan(logits[best])) best = std::isnan(logits[i]) ? best : i;
  return static_cast<Token>(best);
}

Sampler::Sampler(const Sampling& sampling) : sampling_(sampling), random_(sampling.seed, kStream) {
  want(std::isfinite(sampling.temperature) && sampling.temperature >= 0,
       fmt::format("the temperature is {}; it must be at least 0", sampling.temperature));
  want(sampling.top_k >= 0, fmt::format("top-k is {}; it must be at least 0", sampling.top_k));
  want(sampling.top_p > 0 && sampling.top_p <= 1,
       fmt::format("top-p is {}; it must be above 0 and at most 1", sampling.top_p));
}

Token Sampler::pick(std::span<const float> logits) {
  const Token best = likeliest(logits);
  const double top = logits[static_cast<std::size_t>(best)];
  if (sampling_.temperature == 0 || !std::isfinite(top)) return best;
  candidates_.clear();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) continue;
    candidates_.push_back({std::exp((logits[i] - top) / sampling_.temperature), static_cast<Token>(i)});
  }
  keep_top_k();
  double total = 0;
  for (const Candidate& c : candidates_) total += c.weight;
  if (sampling_.top_p < 1) total = keep_top_p(total);
  const auto bits = random_.bits(drawn_++);
  const double uniform = static_cast<double>((std::uint64_t{bits[0]} << 21) ^ (bits[1] >> 11)) * 0x1p-53;
  double left = uniform * total;
  for (const Candidate& c : candidates_) {
    left -= c.weight;
    if (left < 0) return c.token;
  }
  return candidates_.back().token;
}

void Sampler::keep_top_k() {
  const auto k = static_cast<std::size_t>(sampling_.top_k);
  if (k == 0 || k >= candidates_.size()) return;
  std::nth_element(candidates_.begin(), candidates_.begin() + sampling_.top_k, candidates_.end(), heavier);
  candidates_.resize(k);
  std::sort(candidates_.begin(), candidates_.end(),
            heavier);  // so that the draw does not hang on how they were found
}

// A heap gives the heaviest one by one: few are needed of very many.
double Sampler::keep_top_p(double total) {
  const auto lighter = [](const Candidate& a, const Candidate& b) { return heavier(b, a); };
  std::make_heap(candidates_.begin(), candidates_.end(), lighter);
  auto end = candidates_.end();
  double reached = 0;
  do {
    std::pop_heap(candidates_.begin(), end, lighter);
    reached += (--end)->weight;
  } while (reached < sampling_.top_p * total && end != candidates_.begin());
  candidates_.erase(candidates_.begin(), end);
  return reached;
}

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// In the session's own blocks, so that telling of them changes nothing.
std::span<const float> read_prompt(Session& session, std::span<const Token> prompt, const Generation& wish) {
  const auto block = static_cast<std::size_t>(session.block());
  session.check(prompt);  // before any work
  std::size_t done = 0;
  for (; done + block < prompt.size(); done += block) {
    session.feed(prompt.subspan(done, block));
    if (wish.on_prompt) wish.on_prompt(static_cast<std::int64_t>(done + block));
  }
  return session.feed_for_last(prompt.subspan(done));
}

}  // namespace

Ending generate(Session& session, std::span<const Token> prompt, Sampler& sampler, const Generation& wish,
                GenerationTimes& times) {
  times = {.prompt_tokens = static_cast<std::int64_t>(prompt.size())};
  const auto start = Clock::now();
  std::span<const float> logits = read_prompt(session, prompt, wish);
  times.prompt_seconds = seconds_since(start);
  const auto first = Clock::now();
  const auto end = [&](Ending ending) {
    times.generated_seconds = seconds_since(first);
    return ending;
  };
  for (;;) {
    if (times.generated_tokens == wish.most) return end(Ending::as_many_as_wanted);
    const std::size_t known = wish.known > 0 ? static_cast<std::size_t>(wish.known) : logits.size();
    const Token token = sampler.pick(logits.first(std::min(known, logits.size())));
    if (std::find(wish.stops.begin(), wish.stops.end(), token) != wish.stops.end())
      return end(Ending::stop_token);
    if (wish.on_token) wish.on_token(token);
    ++times.generated_tokens;
    if (times.generated_tokens == wish.most) return end(Ending::as_many_as_wanted);
    if (session.position() == session.capacity()) return end(Ending::context_full);
    logits = session.feed_for_last({&token, 1});
  }
}

}  // namespace sharpmax::model

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

namespace {

// Adds the loss of the token after each position.
void add_loss(ChunkLosses& result, std::span<const Token> chunk, std::int64_t position, std::span<const float> logits) {
  const Token next = chunk[static_cast<std::size_t>(position) + 1];
  result.losses.push_back(static_cast<float>(loss_of(logits, next)));
  result.likeliest += likeliest(logits) == next;
}

}  // namespace

ChunkLosses chunk_losses(Session& session, std::span<const Token> chunk, std::int64_t first,
                         const std::function<void(std::int64_t)>& on_token) {
  ChunkLosses result{.first = first};
  if (chunk.size() < 2) return result;
  session.rewind(0);
  // The last token is predicted, not read.
  session.feed_for_all(chunk.first(chunk.size() - 1), [&](std::int64_t position, std::span<const float> logits) {
    add_loss(result, chunk, position, logits);
    if (on_token) on_token(position + 1);
  });
  return result;
}

ChunkLosses chunk_losses(LayerPass& pass, std::span<const Token> chunk, std::int64_t first,
                         const LayerPass::Listener& listener) {
  ChunkLosses result{.first = first};
  if (chunk.size() < 2) return result;
  LayerPass::Listener hearing = listener;
  hearing.logits = [&](std::int64_t position, std::span<const float> logits) { add_loss(result, chunk, position, logits); };
  pass.run(chunk.first(chunk.size() - 1), {}, hearing);
  if (pass.size() == 1) return result;
  result.losses = pass.of_all_tokens(std::span<const float>(result.losses));
  result.likeliest = pass.group()->sum(result.likeliest);
  return result;
}

}  // namespace sharpmax::model
