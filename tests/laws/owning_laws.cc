// The forms that return their results are the forms that write to views, bit for bit.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "sharpmax/attention.h"
#include "support/attention_cases.h"
#include "support/attention_normalizers.h"
#include "support/random.h"

namespace sharpmax::test {
namespace {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

// Bits and not values, so that NaN equals itself.
template <class T>
std::vector<Bits<T>> bits_of(std::span<const T> row) {
  std::vector<Bits<T>> bits;
  for (const T x : row) bits.push_back(std::bit_cast<Bits<T>>(x));
  return bits;
}

// Plain, masked, wholly masked, poisoned and empty.
template <class T>
std::vector<std::vector<T>> awkward_rows() {
  constexpr T kInf = std::numeric_limits<T>::infinity(), kNaN = std::numeric_limits<T>::quiet_NaN();
  std::vector<T> drawn;
  Random random(3);
  for (int i = 0; i < 131; ++i) drawn.push_back(static_cast<T>(2.0 * random.normal()));
  std::vector<T> masked = drawn;
  for (std::size_t i = 0; i < masked.size(); i += 3) masked[i] = -kInf;
  return {drawn, masked, {T(0.5)}, {-kInf, -kInf}, {T(1), kNaN, T(2)}, {kInf, T(1)}, {}};
}

template <class T>
void expect_same_as_the_door(const AnyNormalizer& normalizer) {
  for (const std::vector<T>& scores : awkward_rows<T>()) {
    SCOPED_TRACE(normalizer.text() + ", " + std::to_string(scores.size()) + " keys");
    const Extents<4> shape = {1, 1, 1, static_cast<std::int64_t>(scores.size())};
    const TensorView<const T, 4> view(scores.data(), shape);
    std::vector<T> door(scores.size(), T(-1)), written(scores.size(), T(-2));
    normalize(view, normalizer, TensorView<T, 4>(door.data(), shape));
    normalize(scores, normalizer, written);
    EXPECT_EQ(bits_of<T>(normalize(scores, normalizer)), bits_of<T>(door));
    EXPECT_EQ(bits_of<T>(written), bits_of<T>(door));

    std::vector<T> d_weights(scores.size());
    for (T& d : d_weights) d = static_cast<T>(std::cos(3.0 * static_cast<double>(&d - d_weights.data())));
    normalize_backward(view, normalizer, TensorView<const T, 4>(d_weights.data(), shape),
                       TensorView<T, 4>(door.data(), shape));
    normalize_backward(scores, normalizer, d_weights, written);
    EXPECT_EQ(bits_of<T>(normalize_backward(scores, normalizer, d_weights)), bits_of<T>(door));
    EXPECT_EQ(bits_of<T>(written), bits_of<T>(door));
  }
}

TEST(OwningLaws, OneRowAsASpanIsTheRowOfTheTensorForm) {
  for (const std::string& text : normalizers_under_test()) {
    if (text == "linear") continue;
    expect_same_as_the_door<float>(normalizer_named(text));
    expect_same_as_the_door<double>(normalizer_named(text));
  }
}

TEST(OwningLaws, ArraysVectorsAndSpansAreRows) {
  const float array[] = {1.0f, 2.0f};
  const std::vector<float> vector(array, array + 2);
  EXPECT_EQ(normalize(array, Softmax{}), normalize(vector, Softmax{}));
  EXPECT_EQ(normalize(std::span(vector), Softmax{}), normalize(vector, Softmax{}));
}

WantedStatistics everything() {
  WantedStatistics wanted{.top = AllStatistics::kTop,
                          .gap_counts = true,
                          .column_mass = true,
                          .map = {AllStatistics::kMapRows, AllStatistics::kMapColumns}};
  each_row_statistic([&](const auto& statistic) { wanted.*statistic.wish = true; });
  return wanted;
}

template <class T, std::size_t Rank>
void expect_same(const char* name, const Tensor<T, Rank>& found, const TensorView<T, Rank>& wanted) {
  ASSERT_EQ(found.shape(), wanted.shape) << name;
  EXPECT_EQ(bits_of<T>(found.elements()), bits_of<T>(std::span<const T>(wanted.data, found.size()))) << name;
}

void expect_same(const OwnedStatistics& found, const RowStatistics& wanted) {
  each_row_statistic([&](const auto& statistic) {
    expect_same(statistic.name(), found.*statistic.tensor, wanted.*statistic.view);
  });
  expect_same("top_keys", found.top_keys, wanted.top_keys);
  expect_same("top_weights", found.top_weights, wanted.top_weights);
  expect_same("gap_counts", found.gap_counts, wanted.gap_counts);
  expect_same("column_mass", found.column_mass, wanted.column_mass);
  expect_same("map", found.map, wanted.map);
}

TEST(OwningLaws, AttendReturnsWhatItWouldHaveWritten) {
  for (const AttentionCase& c : attention_cases()) {
    for (const char* text : {"softmax", "entropy_target", "sparsemax"}) {
      SCOPED_TRACE(c.name + " under " + text);
      AttentionProblem problem(c);
      const AnyNormalizer normalizer = AnyNormalizer::parse(text);
      Tensor<float, 4> out(problem.out_shape(), -1.0f);
      const RowStatistics& statistics = problem.make_statistics()->view;
      attend(problem.request, normalizer, out, &statistics);
      const AttentionResult result = attend(problem.request, normalizer, everything());
      expect_same("output", result.output, out.view());
      expect_same(result.statistics, statistics);

      attend(problem.request, normalizer, out);  // without statistics a row may take another plan
      const AttentionRequest& r = problem.request;
      expect_same("output", attend(r.query, r.key, r.value, normalizer, r), out.view());
    }
  }
}

TEST(OwningLaws, WhatIsNotWantedIsEmpty) {
  const Tensor<float, 4> row({1, 1, 1, 8}, 1.0f);
  const AttentionResult result = attend({row, row, row}, Softmax{}, WantedStatistics{.peak_key = true});
  EXPECT_EQ(result.statistics.peak_key(0, 0, 0), 0);
  EXPECT_TRUE(result.statistics.entropy.empty());
  EXPECT_TRUE(result.statistics.top_keys.empty());
  EXPECT_TRUE(result.statistics.map.empty());
}

}  // namespace
}  // namespace sharpmax::test
