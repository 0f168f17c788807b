// Rows whose keys lie on several ranks, all of which are here: cases for attend_split() and its backward.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "normalizer/definition.h"
#include "sharpmax/split.h"
#include "support/random.h"
#include "support/thread_group.h"

namespace sharpmax::test {

inline constexpr std::int64_t kSplitFeatures = 3, kSplitValueFeatures = 2;

// Keys that lie on several ranks, all of which are here.
struct SplitCase {
  std::int64_t keys = 0, queries = 1;
  Tensor<float, 4> query, key, value;
  std::vector<char> seen;   // [query, key]: mask; empty: none
  std::vector<float> bias;  // [head, key], or one number; empty: none
  double soft_cap = 0.0;
  Causal causal = Causal::none;
};

inline SplitCase random_split_case(std::uint64_t seed, std::int64_t keys, std::int64_t queries, double spread) {
  Random random(seed);
  SplitCase c{.keys = keys,
              .queries = queries,
              .query = Tensor<float, 4>({1, 2, queries, kSplitFeatures}),
              .key = Tensor<float, 4>({1, 1, keys, kSplitFeatures}),
              .value = Tensor<float, 4>({1, 1, keys, kSplitValueFeatures})};
  for (auto* tensor : {&c.query, &c.key, &c.value})
    for (std::size_t i = 0; i < tensor->size(); ++i) tensor->data()[i] = static_cast<float>(random.normal());
  for (std::size_t i = 0; i < c.query.size(); ++i) c.query.data()[i] *= static_cast<float>(spread);
  return c;
}

// The request of keys [run.begin, run.end); all keys: that of attend().
inline AttentionRequest request_of(SplitCase& c, const KeyRun& run) {
  const auto own = [&](Tensor<float, 4>& all, std::int64_t features) {
    return TensorView<const float, 4>(all.data() + run.begin * features, {1, 1, run.size(), features});
  };
  AttentionOptions options{.causal = c.causal, .soft_cap = c.soft_cap};
  if (!c.seen.empty())
    options.mask = TensorView<const bool, 4>(reinterpret_cast<const bool*>(c.seen.data()) + run.begin,
                                             {1, 1, c.queries, run.size()}, {0, 0, c.keys, 1});
  if (c.bias.size() > 1)
    options.bias = TensorView<const float, 4>(c.bias.data() + run.begin, {1, 2, 1, run.size()}, {0, c.keys, 0, 1});
  if (c.bias.size() == 1) options.bias = TensorView<const float, 4>(c.bias.data(), {1, 1, 1, 1});
  return {c.query, own(c.key, kSplitFeatures), own(c.value, kSplitValueFeatures), options};
}

// The same over all keys in double, which runs the specification.
struct ExactRequest {
  explicit ExactRequest(SplitCase& c)
      : query({1, 2, c.queries, kSplitFeatures}), key({1, 1, c.keys, kSplitFeatures}), value({1, 1, c.keys, kSplitValueFeatures}) {
    std::copy_n(c.query.data(), c.query.size(), query.data());
    std::copy_n(c.key.data(), c.key.size(), key.data());
    std::copy_n(c.value.data(), c.value.size(), value.data());
    const AttentionRequest floats = request_of(c, {0, c.keys});
    request = {query, key, value, floats};
    if (!floats.bias.present()) return;
    bias = Tensor<double, 4>(floats.bias.shape);
    std::copy_n(c.bias.data(), bias.size(), bias.data());
    request.bias = bias;
  }
  Tensor<double, 4> query, key, value, bias;
  AttentionRequest request;
};

// In double, so that the order of sums is seen.
inline Tensor<double, 4> split_output(SplitCase& c, const AnyNormalizer& normalizer, Group& group,
                                      const RowStatistics* statistics = nullptr) {
  const KeyRun run = keys_of_rank(c.keys, group.rank(), group.size());
  Tensor<double, 4> out({1, 2, c.queries, kSplitValueFeatures}, -1.0);
  attend_split(request_of(c, run), c.keys, normalizer, group, out, statistics, {.threads = 1});
  return out;
}

template <class T, std::size_t Rank>
bool same_tensor_bits(const Tensor<T, Rank>& a, const Tensor<T, Rank>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

inline std::vector<std::string> split_rules() {
  std::vector<std::string> texts;
  for (const NormalizerInfo& info : family()) texts.emplace_back(info.name);
  for (const char* text : {"softmax:beta=2.5", "softmax:beta=0", "entropy_target:nats=2", "peak_target:weight=0.9", "entmax:alpha=1.25",
                           "entmax:alpha=2", "entmax:alpha=3", "top_k:k=5,beta=2", "sink:c=0.1", "self_adjust:form=plain"})
    texts.emplace_back(text);
  return texts;
}

}  // namespace sharpmax::test
