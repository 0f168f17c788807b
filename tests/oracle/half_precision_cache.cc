// float32 queries over keys and values in 16 bits give what the same keys and values in float32 give, to the
// bit: the cache of a model may be halved without the queries being rounded.
#include <gtest/gtest.h>

#include <vector>

#include "attention/oracle/elements.h"
#include "base/float16.h"
#include "sharpmax/attention.h"
#include "support/attention_normalizers.h"
#include "support/random.h"

namespace sharpmax::test {
namespace {

constexpr std::int64_t kHeads = 6, kKvHeads = 2, kWidth = 40;

template <class Half>
struct Cache {
  std::vector<Half> half;
  std::vector<float> whole;

  Cache(Random& random, std::int64_t keys) {
    for (std::int64_t i = 0; i < kKvHeads * keys * kWidth; ++i) {
      half.push_back(from_double<Half>(random.normal()));
      whole.push_back(to_float(half.back()));
    }
  }
};

// Decode with few rows per kv head, which read 16 bits in place; with many, which share floats; and blocks of rows.
template <class Half>
void expect_widened(const AnyNormalizer& normalizer, std::int64_t queries) {
  for_each_seed(3, [&](Random& random) {
    const std::int64_t keys = static_cast<std::int64_t>(random.size(50, 700));
    const Cache<Half> key(random, keys), value(random, keys);
    std::vector<float> query(static_cast<std::size_t>(kHeads * queries * kWidth));
    for (float& q : query) q = static_cast<float>(random.normal());
    std::vector<float> got(query.size()), wanted(query.size());
    const Extents<4> of_query{1, kHeads, queries, kWidth}, of_cache{1, kKvHeads, keys, kWidth};
    AttentionRequest request(TensorView<const float, 4>(query.data(), of_query),
                             TensorView<const Half, 4>(key.half.data(), of_cache),
                             TensorView<const Half, 4>(value.half.data(), of_cache),
                             {.causal = Causal::bottom_right});
    AttentionRequest widened = request;
    widened.key = TensorView<const float, 4>(key.whole.data(), of_cache);
    widened.value = TensorView<const float, 4>(value.whole.data(), of_cache);
    for_each_target([&](const std::string& target) {
      attend(request, normalizer, TensorView<float, 4>(got.data(), of_query), nullptr, {.threads = 1});
      attend(widened, normalizer, TensorView<float, 4>(wanted.data(), of_query), nullptr, {.threads = 1});
      EXPECT_EQ(got, wanted) << queries << " queries, " << keys << " keys on " << target;
    });
  });
}

class HalfPrecisionCache : public testing::TestWithParam<const char*> {};

TEST_P(HalfPrecisionCache, IsReadAsIfItWereWidenedFirst) {
  for (const std::int64_t queries : {1, 3, 50}) {
    expect_widened<float16>(AnyNormalizer::parse(GetParam()), queries);
    expect_widened<bfloat16>(AnyNormalizer::parse(GetParam()), queries);
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, HalfPrecisionCache,
                         testing::Values("softmax", "adaptive", "entropy_target", "entmax15",
                                         "stick_breaking"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace sharpmax::test
