// Laws of Tensor: a value that owns dense, aligned elements and stands wherever a view does.
#include <gtest/gtest.h>

#include <concepts>
#include <numeric>
#include <utility>

#include "sharpmax/tensor.h"

namespace sharpmax::test {
namespace {

Tensor<float, 3> counted() {
  Tensor<float, 3> tensor({2, 3, 4});
  std::iota(tensor.elements().begin(), tensor.elements().end(), 0.0f);
  return tensor;
}

bool equal(const Tensor<float, 3>& a, const Tensor<float, 3>& b) {
  return a.shape() == b.shape() && std::ranges::equal(a.elements(), b.elements());
}

TEST(TensorLaws, TheLastIndexIsFastest) {
  Tensor<float, 3> tensor = counted();
  EXPECT_EQ(tensor.size(), 24u);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 4; ++k) {
        EXPECT_EQ(tensor(i, j, k), static_cast<float>((i * 3 + j) * 4 + k));
        EXPECT_EQ(&tensor(i, j, k), &tensor.view()(i, j, k));
      }
    }
  }
  tensor(1, 2, 3) = -1.0f;
  EXPECT_EQ(tensor.data()[23], -1.0f);
}

TEST(TensorLaws, StartsAsZerosOrAsTheGivenValueAndCanBeFilled) {
  EXPECT_EQ((Tensor<double, 2>({2, 2})(1, 1)), 0.0);
  Tensor<bool, 2> mask({3, 3}, true);
  EXPECT_TRUE(std::ranges::all_of(mask.elements(), std::identity()));
  mask.fill(false);
  EXPECT_TRUE(std::ranges::none_of(mask.elements(), std::identity()));
}

TEST(TensorLaws, ACopyHasElementsOfItsOwn) {
  const Tensor<float, 3> original = counted();
  Tensor<float, 3> copy = original;
  EXPECT_TRUE(equal(copy, original));
  copy(0, 0, 0) = 7.0f;
  EXPECT_EQ(original(0, 0, 0), 0.0f);
  copy = original;
  EXPECT_TRUE(equal(copy, original));
  copy = *&copy;
  EXPECT_TRUE(equal(copy, original)) << "assigned to itself";
}

TEST(TensorLaws, AMovedTensorKeepsItsMemoryAndLeavesAnEmptyOne) {
  Tensor<float, 3> from = counted();
  const float* const memory = from.data();
  Tensor<float, 3> to = std::move(from);
  EXPECT_EQ(to.data(), memory);
  EXPECT_TRUE(equal(to, counted()));
  EXPECT_TRUE(from.empty());  // NOLINT(bugprone-use-after-move): that is the claim
  EXPECT_EQ(from.data(), nullptr);
  EXPECT_TRUE(from.elements().empty());
  from = counted();
  EXPECT_TRUE(equal(from, to)) << "and can be used again";
}

TEST(TensorLaws, WithoutElementsIsPresentAndADefaultOneIsNot) {
  const Tensor<float, 4> no_keys({2, 1, 0, 8}), none;
  EXPECT_TRUE(no_keys.empty());
  EXPECT_TRUE(no_keys.view().present());
  EXPECT_FALSE(none.view().present());
  EXPECT_EQ(none.shape(), (Extents<4>{0, 0, 0, 0}));
  const Tensor<float, 4> copy = none;
  EXPECT_FALSE(copy.view().present());
}

template <class T>
void expect_aligned() {
  for (const std::int64_t size : {0, 1, 3, 1000}) {
    const Tensor<T, 1> tensor({size});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64, 0u);
  }
}

TEST(TensorLaws, ElementsOfEveryTypeAreAlignedForVectors) {
  expect_aligned<float>();
  expect_aligned<double>();
  expect_aligned<bfloat16>();
  expect_aligned<bool>();
  expect_aligned<std::int64_t>();
}

// Constant tensors give constant views only.
static_assert(std::convertible_to<Tensor<float, 4>&, TensorView<float, 4>>);
static_assert(std::convertible_to<Tensor<float, 4>&, TensorView<const float, 4>>);
static_assert(std::convertible_to<const Tensor<float, 4>&, TensorView<const float, 4>>);
static_assert(!std::convertible_to<const Tensor<float, 4>&, TensorView<float, 4>>);
static_assert(std::convertible_to<Tensor<bfloat16, 4>&, AnyMutableTensor<4>>);
static_assert(std::convertible_to<const Tensor<float16, 4>&, AnyTensor<4>>);
static_assert(!std::convertible_to<const Tensor<float, 4>&, AnyMutableTensor<4>>);
static_assert(!std::convertible_to<Tensor<float, 3>&, TensorView<float, 4>>);

TEST(TensorLaws, EveryViewIsOfTheSameMemoryShapeAndType) {
  Tensor<bfloat16, 4> tensor({2, 3, 5, 7});
  const TensorView<const bfloat16, 4> constant = tensor;
  const AnyTensor<4> any = tensor;
  const AnyMutableTensor<4> mutable_any = tensor;
  EXPECT_EQ(constant.data, tensor.data());
  EXPECT_EQ(any.data, tensor.data());
  EXPECT_EQ(mutable_any.data, tensor.data());
  EXPECT_EQ(any.dtype, DType::bfloat16);
  EXPECT_EQ(mutable_any.dtype, DType::bfloat16);
  EXPECT_EQ(any.shape, tensor.shape());
  EXPECT_EQ(any.strides, (Extents<4>{105, 35, 7, 1}));
}

}  // namespace
}  // namespace sharpmax::test
