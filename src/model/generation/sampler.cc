#include "model/generation/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

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
       fmt::format("the temperature is {}; 0 or a positive number was wanted", sampling.temperature));
  want(sampling.top_k >= 0, fmt::format("top-k is {}; 0 or a positive number was wanted", sampling.top_k));
  want(sampling.top_p > 0 && sampling.top_p <= 1,
       fmt::format("top-p is {}; a number above 0 and at most 1 was wanted", sampling.top_p));
}

Token Sampler::pick(std::span<const float> logits) {
  const Token best = likeliest(logits);
  if (sampling_.temperature == 0) return best;
  const double top = logits[static_cast<std::size_t>(best)];
  order_.resize(logits.size());
  std::iota(order_.begin(), order_.end(), Token{0});
  std::erase_if(order_, [&](Token t) { return std::isnan(logits[static_cast<std::size_t>(t)]); });
  const auto before = [&](Token a, Token b) {
    const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  if (sampling_.top_k > 0 && static_cast<std::size_t>(sampling_.top_k) < order_.size()) {
    std::nth_element(order_.begin(), order_.begin() + sampling_.top_k, order_.end(), before);
    order_.resize(static_cast<std::size_t>(sampling_.top_k));
  }
  if (order_.empty() || !std::isfinite(top)) return best;
  std::sort(order_.begin(), order_.end(), before);
  weight_.clear();
  double total = 0;
  for (const Token t : order_) {
    weight_.push_back(std::exp((logits[static_cast<std::size_t>(t)] - top) / sampling_.temperature));
    total += weight_.back();
  }
  std::size_t kept = 0;
  double reached = 0;
  while (kept < weight_.size() && reached < sampling_.top_p * total) reached += weight_[kept++];
  kept = std::max<std::size_t>(kept, 1);
  const auto bits = random_.bits(drawn_++);
  const double uniform = static_cast<double>((std::uint64_t{bits[0]} << 21) ^ (bits[1] >> 11)) * 0x1p-53;
  double left = uniform * reached;
  for (std::size_t i = 0; i < kept; ++i) {
    left -= weight_[i];
    if (left < 0) return order_[i];
  }
  return order_[kept - 1];
}

}  // namespace sharpmax::model
