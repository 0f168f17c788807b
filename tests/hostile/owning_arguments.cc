// Mistakes in the forms that return their results, in shapes of tensors and in rules of the caller's own.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <stdexcept>

#include "sharpmax/attention.h"
#include "sharpmax/error.h"

namespace sharpmax::test {
namespace {

void refuses(const std::function<void()>& call, const std::string& says,
             ErrorCode code = ErrorCode::bad_argument) {
  try {
    call();
    ADD_FAILURE() << "no error; expected one that says: " << says;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(says), std::string::npos)
        << "found:    " << error.what() << "\nexpected: " << says;
  }
}

// Sizes that the compiler does not see: it would warn about the memory of tensors that are never made.
std::int64_t hidden(std::int64_t size) {
  volatile std::int64_t seen = size;
  return seen;
}

TEST(TensorShapes, ThatNoMemoryCanHoldAreRefused) {
  const std::int64_t huge = hidden(std::numeric_limits<std::int64_t>::max()), minus = hidden(-1);
  refuses([&] { Tensor<float, 2>({3, minus}); },
          "tensor: shape [3, -1] has a negative size; sizes must be at least 0");
  refuses([&] { Tensor<float, 2>({0, minus}); }, "has a negative size");
  refuses([&] { Tensor<float, 1>({huge / 2}); }, "has more elements than can be addressed");
  refuses([] { Tensor<char, 3>({1 << 30, 1 << 30, 1 << 30}); }, "has more elements than can be addressed");
  refuses([&] { Tensor<char, 3>({huge, huge, 0}); }, "has more elements than can be addressed");
  refuses([&] { Tensor<char, 3>({0, huge, huge}); }, "has more elements than can be addressed");
  EXPECT_NO_THROW((Tensor<char, 3>({0, 5, 1 << 20})));
}

TEST(OwningAttend, HasTheSentencesOfTheFormWithViews) {
  const Tensor<float, 4> query({2, 4, 3, 8}), key({2, 2, 5, 8}), value({2, 2, 5, 6}), narrow({2, 2, 5, 4});
  EXPECT_EQ(attend(query, key, value, Softmax{}).shape(), (Extents<4>{2, 4, 3, 6}));
  refuses([&] { attend(query, narrow, value, Softmax{}); },
          "attend: keys have 4 features, queries have 8; they must agree");
  refuses([&] { attend(query, key, value, Softmax{.beta = {1.0, 2.0}}); },
          "attend: beta of softmax has 2 values for 4 heads");
  refuses([&] { attend(query, key, value, Softmax{}, {.scale = std::numeric_limits<double>::infinity()}); },
          "attend: scale");
  refuses([&] { attend(query, key, value, Softmax{}, {}, {.threads = -1}); }, "attend: threads is -1");
  // Sizes that are wrong are reported as such, before anything of that size is made.
  refuses([&] { attend(AnyTensor<4>(query.data(), DType::float32, {2, 4, -3, 8}), key, value, Softmax{}); },
          "attend: query has shape [2, 4, -3, 8]; sizes cannot be negative");
  refuses([&] { attend({query, key, value}, Softmax{}, WantedStatistics{.top = -2}); },
          "statistics: top is -2; it must be at least 0");
  refuses([&] { attend({query, key, value}, Softmax{}, WantedStatistics{.map = {4, -4}}); },
          "statistics: map is -4; it must be at least 0");
  refuses([&] { attend({query, key, value}, Softmax{}, WantedStatistics{.map = {4, 0}}); },
          "attend: statistics.map has 4 x 0 blocks");
  const double gaps[] = {2.0, 1.0};
  refuses([&] { attend({query, key, value}, Softmax{}, WantedStatistics{.gap_counts = true, .gaps = gaps}); },
          "attend: statistics.gaps[1] is 1 after 2");
}

TEST(RowsAsSpans, HaveTheSentencesOfTheFormWithViews) {
  std::vector<float> scores = {1.0f, 2.0f, 3.0f}, two(2), none;
  refuses([&] { normalize(scores, Softmax{}, two); },
          "normalize: weights has shape [1, 1, 1, 2]; expected [1, 1, 1, 3] (as scores)");
  refuses([&] { normalize(scores, Softmax{}, scores); }, "normalize: weights shares memory with scores");
  refuses([&] { normalize(scores, Softmax{.beta = {1.0, 2.0}}); },
          "normalize: beta of softmax has 2 values for 1 heads");
  refuses([&] { normalize(scores, Linear{}); }, "normalize: linear is not a function of scores",
          ErrorCode::unsupported);
  refuses([&] { normalize_backward(scores, Softmax{}, two); }, "normalize_backward: d_weights has shape");
  refuses([&] { normalize_backward(scores, Softmax{}, std::vector<float>(3), two); },
          "normalize_backward: d_scores has shape [1, 1, 1, 2]; expected [1, 1, 1, 3] (as scores)");
  refuses([&] { normalize_backward(scores, Softmax{}, std::vector<float>(3), none); },
          "normalize_backward: d_scores has shape [1, 1, 1, 0]; expected [1, 1, 1, 3]");
  refuses([&] { normalize_backward(scores, Entmax{.alpha = 3.0}, std::vector<float>(3)); },
          "normalize_backward: entmax:alpha=3 has no backward", ErrorCode::unsupported);
}

void give_up(std::span<const double>, std::span<double>) { throw std::domain_error("no such row"); }

TEST(CustomRules, NeedAFunctionAndANameOfTheirOwn) {
  const auto weigh = [](std::span<const double>, std::span<double>) {};
  refuses([] { AnyNormalizer(CustomNormalizer{.name = "mine", .weigh = {}}); },
          "normalizer: the custom normalizer 'mine' has no weigh; it must have one");
  refuses([&] { AnyNormalizer(CustomNormalizer{.name = "", .weigh = weigh}); },
          "normalizer: a custom normalizer has no name; give it one");
  refuses([&] { AnyNormalizer(CustomNormalizer{.name = "softmax", .weigh = weigh}); },
          "normalizer: the family has a 'softmax'; give the custom normalizer another name");
  refuses([&] { AnyNormalizer(CustomNormalizer{.name = "softmax1", .weigh = weigh}); }, "the family has a");
}

TEST(CustomRules, WithoutABackwardSaySo) {
  const AnyNormalizer forward_only = CustomNormalizer{
      .name = "forward_only", .weigh = [](std::span<const double>, std::span<double> w) { w[0] = 1.0; }};
  const char* const says = "forward_only has no backward here: its CustomNormalizer was made without one";
  refuses([&] { normalize_backward(std::vector<double>(2), forward_only, std::vector<double>(2)); },
          std::string("normalize_backward: ") + says, ErrorCode::unsupported);
  const Tensor<float, 4> row({1, 1, 1, 8});
  Tensor<float, 4> d_query(row.shape());
  AttentionGradients gradients;
  gradients.query = d_query;
  refuses([&] { attend_backward({row, row, row}, forward_only, row, gradients); },
          std::string("attend_backward: ") + says, ErrorCode::unsupported);
}

// Kernels for few queries and for many, one thread and several, float and double.
TEST(CustomRules, WhatTheyThrowReachesTheCallerAsItIs) {
  const auto unreachable = [](auto, auto, auto, auto) { FAIL() << "weigh has thrown before"; };
  const AnyNormalizer thrower =
      CustomNormalizer{.name = "thrower", .weigh = give_up, .backward = unreachable};
  const auto expect_throw = [](const std::function<void()>& call) {
    try {
      call();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::domain_error& error) {
      EXPECT_STREQ(error.what(), "no such row");
    }
  };
  expect_throw([&] { normalize(std::vector<float>(5), thrower); });
  expect_throw([&] { normalize_backward(std::vector<double>(5), thrower, std::vector<double>(5)); });
  for (const std::int64_t queries : {1, 200}) {
    for (const int threads : {1, 4}) {
      const Tensor<float, 4> rows({2, 4, queries, 8}), keys({2, 4, 50, 8});
      const Tensor<double, 4> exact_rows({2, 4, queries, 8}), exact_keys({2, 4, 50, 8});
      expect_throw([&] { attend(rows, keys, keys, thrower, {}, {.threads = threads}); });
      expect_throw([&] { attend(exact_rows, exact_keys, exact_keys, thrower, {}, {.threads = threads}); });
      Tensor<float, 4> d_query(rows.shape());
      AttentionGradients gradients;
      gradients.query = d_query;
      expect_throw([&] {
        attend_backward({rows, keys, keys}, thrower, rows, gradients, {}, {.threads = threads});
      });
      // The workers are as good as before.
      EXPECT_EQ(attend(rows, keys, keys, Softmax{}, {}, {.threads = threads})(1, 3, 0, 7), 0.0f);
    }
  }
}

}  // namespace
}  // namespace sharpmax::test
