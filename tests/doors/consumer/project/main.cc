// What someone with an installed sharpmax writes: one attention, its statistics, one error.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "sharpmax/sharpmax.h"

namespace {

int failures = 0;

void expect(bool holds, const char* claim) {
  std::printf("%s: %s\n", holds ? "ok" : "FAILED", claim);
  failures += holds ? 0 : 1;
}

// One query, 64 keys of one feature, of which key 7 scores 8 and the others 0.
void attend_finds_the_needle() {
  constexpr std::int64_t kKeys = 64;
  const std::vector<float> query(8, 1.0f);
  std::vector<float> keys(kKeys * 8, 0.0f), values(kKeys * 8, 0.0f);
  for (int f = 0; f < 8; ++f) keys[7 * 8 + f] = 1.0f;
  values[7 * 8] = 1.0f;
  std::vector<float> out(8, -1.0f);
  std::vector<double> entropy(1, -1.0);

  sharpmax::AttentionRequest request;
  request.query = sharpmax::TensorView<const float, 4>(query.data(), {1, 1, 1, 8});
  request.key = sharpmax::TensorView<const float, 4>(keys.data(), {1, 1, kKeys, 8});
  request.value = sharpmax::TensorView<const float, 4>(values.data(), {1, 1, kKeys, 8});
  request.scale = 1.0;
  sharpmax::RowStatistics statistics;
  statistics.entropy = sharpmax::TensorView<double, 3>(entropy.data(), {1, 1, 1});
  sharpmax::attend(request, sharpmax::AnyNormalizer::parse("softmax:beta=1"),
                   sharpmax::TensorView<float, 4>(out.data(), {1, 1, 1, 8}), &statistics);

  const double tail = 63.0 * std::exp(-8.0);
  const double expected_entropy = std::log1p(tail) + 8.0 * tail / (1.0 + tail);
  // A float kernel: a few roundings of 2^-24 in the weight and its sum.
  expect(std::abs(out[0] - 1.0 / (1.0 + tail)) < 1e-6, "the weight of the needle is 1 / (1 + 63 exp(-8))");
  expect(std::abs(entropy[0] - expected_entropy) < 1e-5 * expected_entropy, "its entropy is the formula's");
}

void a_bad_name_is_one_clear_error() {
  try {
    sharpmax::AnyNormalizer::parse("softmaxx");
    expect(false, "an unknown normalizer throws");
  } catch (const sharpmax::Error& error) {
    expect(error.code() == sharpmax::ErrorCode::bad_argument, "an unknown normalizer is a bad argument");
  }
}

}  // namespace

int main(int argc, char** argv) {
  expect(argc == 2 && sharpmax::version() == std::string(argv[1]), "the library is of the expected version");
  attend_finds_the_needle();
  a_bad_name_is_one_clear_error();
  return failures == 0 ? 0 : 1;
}
