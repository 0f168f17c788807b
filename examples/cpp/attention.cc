// One needle among ever more keys, under two normalizers of the family and one of our own.
#include <cstdio>
#include <random>
#include <vector>

#include "sharpmax/sharpmax.h"

using namespace sharpmax;

// Half of the weight by softmax, half by sparsemax.
AnyNormalizer half_sparse() {
  return CustomNormalizer{
      .name = "half_sparse",
      .weigh = [](std::span<const double> scores, std::span<double> weights) {
        const std::vector<double> soft = normalize(scores, Softmax{});
        const std::vector<double> sparse = normalize(scores, Sparsemax{});
        for (std::size_t j = 0; j < weights.size(); ++j) weights[j] = (soft[j] + sparse[j]) / 2;
      }};
}

int main() {
  constexpr int kFeatures = 64;
  const std::vector<AnyNormalizer> normalizers = {Softmax{}, EntropyTarget{.nats = 0.5}, half_sparse()};
  std::printf("%-16s %8s %8s %8s %8s\n", "normalizer", "keys", "entropy", "peak", "output");
  for (const AnyNormalizer& normalizer : normalizers) {
    for (const int keys : {16, 1024, 16384}) {
      Tensor<float, 4> query({1, 1, 1, kFeatures}, 1.0f);  // [batch, head, query, feature]
      Tensor<float, 4> key({1, 1, keys, kFeatures}), value({1, 1, keys, 1});
      std::mt19937 random(1);
      std::normal_distribution<float> normal;
      for (float& x : key.elements()) x = normal(random);  // scores of standard deviation 1

      const int needle = keys / 2;  // its score is 8
      for (int f = 0; f < kFeatures; ++f) key(0, 0, needle, f) = 1.0f;
      value(0, 0, needle, 0) = 1.0f;

      const auto [output, statistics] =
          attend({query, key, value}, normalizer, {.entropy = true, .peak_weight = true, .peak_key = true});
      std::printf("%-16s %8d %8.2f %8.3f %8.3f\n", normalizer.text().c_str(), keys,
                  statistics.entropy(0, 0, 0), statistics.peak_weight(0, 0, 0), output(0, 0, 0, 0));
      if (statistics.peak_key(0, 0, 0) != needle) return 1;  // every rule still ranks it first
    }
  }
}
