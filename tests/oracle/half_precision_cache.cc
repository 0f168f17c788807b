// float32 queries over keys and values in 16 bits give what the same keys and values in float32 give, to the
// bit: the cache of a model may be halved without the queries being rounded.
#include <gtest/gtest.h>

#include <vector>

#include "base/float16.h"
#include "sharpmax/attention.h"
#include "support/random.h"

namespace sharpmax::test {
namespace {

constexpr std::int64_t kHeads = 6, kKvHeads = 2, kWidth = 40;

struct Cache {
  std::vector<float16> half;
  std::vector<float> whole;

  Cache(Random& random, std::int64_t keys) {
    for (std::int64_t i = 0; i < kKvHeads * keys * kWidth; ++i) {
      half.push_back(to_float16(static_cast<float>(random.normal())));
      whole.push_back(to_float(half.back()));
    }
  }
};

class HalfPrecisionCache : public testing::TestWithParam<const char*> {};

TEST_P(HalfPrecisionCache, IsReadAsIfItWereWidenedFirst) {
  for (const std::int64_t queries : {1, 3, 50}) {
    for_each_seed(3, [&](Random& random) {
      const std::int64_t keys = static_cast<std::int64_t>(random.size(50, 700));
      const Cache key(random, keys), value(random, keys);
      std::vector<float> query(static_cast<std::size_t>(kHeads * queries * kWidth));
      for (float& q : query) q = static_cast<float>(random.normal());
      std::vector<float> got(query.size()), wanted(query.size());
      const Extents<4> of_query{1, kHeads, queries, kWidth}, of_cache{1, kKvHeads, keys, kWidth};
      AttentionRequest request(TensorView<const float, 4>(query.data(), of_query),
                               TensorView<const float16, 4>(key.half.data(), of_cache),
                               TensorView<const float16, 4>(value.half.data(), of_cache),
                               {.causal = Causal::bottom_right});
      const AnyNormalizer normalizer = AnyNormalizer::parse(GetParam());
      attend(request, normalizer, TensorView<float, 4>(got.data(), of_query), nullptr, {.threads = 1});
      request.key = TensorView<const float, 4>(key.whole.data(), of_cache);
      request.value = TensorView<const float, 4>(value.whole.data(), of_cache);
      attend(request, normalizer, TensorView<float, 4>(wanted.data(), of_query), nullptr, {.threads = 1});
      EXPECT_EQ(got, wanted) << queries << " queries, " << keys << " keys";
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, HalfPrecisionCache,
                         testing::Values("softmax", "adaptive", "entropy_target", "entmax15",
                                         "stick_breaking"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace sharpmax::test
