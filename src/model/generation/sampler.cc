#include "model/generation/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sharpmax/error.h"

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
       fmt::format("the temperature is {}; 0 or a positive number was expected", sampling.temperature));
  want(sampling.top_k >= 0, fmt::format("top-k is {}; 0 or a positive number was expected", sampling.top_k));
  want(sampling.top_p > 0 && sampling.top_p <= 1,
       fmt::format("top-p is {}; a number above 0 and at most 1 was expected", sampling.top_p));
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

// A heap gives the heaviest one by one: few are wanted of very many.
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

}  // namespace sharpmax::model
