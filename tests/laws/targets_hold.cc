// The guarantee of entropy_target and peak_target on the weights that float kernels return: at any
// length and any spread a row with a unique largest score keeps H <= nats, or its peak >= weight.
//
// Judged in double on the returned floats. Rounding each weight to float moves H by at most
// sum |ln p + H| p 2^-24 <= 2^-23 H, and the kernels draw their entropy target in by 5e-7 of itself to
// pay for it, so no tolerance is left to give. The peak's target is rounded up to the next float: the
// comparison is of floats and exact.
#include <gtest/gtest.h>

#include <string>

#include "sharpmax/attention.h"
#include "support/attention_normalizers.h"
#include "support/row.h"

namespace sharpmax::test {
namespace {

std::vector<float> normalized(const AnyNormalizer& normalizer, const std::vector<float>& scores) {
  const auto n = static_cast<std::int64_t>(scores.size());
  std::vector<float> weights(scores.size());
  normalize(TensorView<const float, 4>(scores.data(), {1, 1, 1, n}), normalizer,
            TensorView<float, 4>(weights.data(), {1, 1, 1, n}));
  return weights;
}

struct Sharpness {
  double entropy = 0.0, peak = 0.0, sum = 0.0;
};

Sharpness sharpness_of(const std::vector<float>& weights) {
  Sharpness result;
  long double sum = 0.0L, entropy = 0.0L;
  for (const float w : weights) sum += w;
  for (const float w : weights) {
    if (w > 0.0f) entropy -= w / sum * std::log(w / sum);
    result.peak = std::max(result.peak, static_cast<double>(w));
  }
  result.entropy = static_cast<double>(entropy);
  result.sum = static_cast<double>(sum);
  return result;
}

std::vector<float> floats_of(const Row& row) { return {row.begin(), row.end()}; }

// A unique largest score: nudged up where chance made a tie of it.
void make_unique(std::vector<float>& scores) {
  const auto top = std::max_element(scores.begin(), scores.end());
  if (std::count(scores.begin(), scores.end(), *top) > 1) *top = std::nextafter(*top, INFINITY);
}

void expect_kept(const std::vector<float>& scores, double nats, double weight) {
  for_each_target([&](const std::string& target) {
    SCOPED_TRACE(target);
    const Sharpness by_entropy = sharpness_of(normalized(EntropyTarget{.nats = nats}, scores));
    EXPECT_LE(by_entropy.entropy, nats);
    EXPECT_GE(by_entropy.peak, std::exp(-nats) * (1.0 - 0x1p-23)) << "the peak that the entropy guarantees";
    EXPECT_NEAR(by_entropy.sum, 1.0, 1e-5);
    const Sharpness by_peak = sharpness_of(normalized(PeakTarget{.weight = weight}, scores));
    EXPECT_GE(by_peak.peak, weight);
    EXPECT_NEAR(by_peak.sum, 1.0, 1e-5);
  });
}

TEST(TargetsHold, OverAMillionKeysAtEverySpread) {
  for (const double spread : {1e-3, 1e-1, 1.0, 10.0, 1e2, 1e3, 1e4}) {
    SCOPED_TRACE(testing::Message() << "spread " << spread);
    Random random(static_cast<std::uint64_t>(spread * 1e3));
    std::vector<float> scores = floats_of(random.row(1'000'000, spread));
    make_unique(scores);
    expect_kept(scores, 0.5, 0.5);
  }
}

TEST(TargetsHold, ForAnyLengthSpreadAndTarget) {
  for_each_seed(300, [](Random& random) {
    std::vector<float> scores = floats_of(
        random.row(static_cast<std::size_t>(random.log_uniform(1.0, 5000.0)), random.log_uniform(1e-3, 1e4)));
    make_unique(scores);
    expect_kept(scores, random.log_uniform(1e-3, 6.0), random.uniform(0.01, 0.999));
  });
}

TEST(TargetsHold, NearTiesAreOpened) {
  for_each_seed(100, [](Random& random) {
    const double spread = random.log_uniform(1e-3, 1e4);
    std::vector<float> scores = floats_of(random.row(random.size(2, 3000), spread));
    const float top = *std::max_element(scores.begin(), scores.end());
    const std::size_t rivals = random.size(1, std::min<std::size_t>(scores.size() - 1, 20));
    for (std::size_t i = 0; i < rivals; ++i) scores[i] = top;
    scores[rivals] = std::nextafter(top, INFINITY);
    expect_kept(scores, random.log_uniform(0.01, 0.6), random.uniform(0.5, 0.99));
  });
}

TEST(TargetsHold, ExactTiesShareAndNothingElseGetsWeight) {
  for_each_seed(60, [](Random& random) {
    const std::size_t n = random.uniform() < 0.1 ? 1'000'000 : random.size(3, 3000);
    std::vector<float> scores = floats_of(random.row(n, random.log_uniform(1e-3, 1e4)));
    const float top = std::nextafter(*std::max_element(scores.begin(), scores.end()), INFINITY);
    const std::size_t ties = random.size(2, std::min<std::size_t>(n, 50));
    for (std::size_t i = 0; i < ties; ++i) scores[i * (n / ties)] = top;
    for_each_target([&](const std::string& target) {
      SCOPED_TRACE(target);
      const double out_of_reach = 0.9 * std::log(static_cast<double>(ties));
      for (const AnyNormalizer& normalizer :
           {AnyNormalizer(EntropyTarget{.nats = out_of_reach}),
            AnyNormalizer(PeakTarget{.weight = std::min(0.99, 1.5 / static_cast<double>(ties))})}) {
        const std::vector<float> weights = normalized(normalizer, scores);
        for (std::size_t j = 0; j < n; ++j) {
          const float share = scores[j] == top ? static_cast<float>(1.0 / static_cast<double>(ties)) : 0.0f;
          ASSERT_EQ(weights[j], share) << normalizer.text() << ", key " << j;
        }
      }
      const double within_reach = 1.1 * std::log(static_cast<double>(ties));
      EXPECT_LE(sharpness_of(normalized(EntropyTarget{.nats = within_reach}, scores)).entropy, within_reach);
    });
  });
}

}  // namespace
}  // namespace sharpmax::test
