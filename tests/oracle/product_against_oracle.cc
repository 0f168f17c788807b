// Products of stored weights against sums in double over the weights that dequantize() gives: every type,
// every instruction set, few tokens and many, shapes that fit nothing.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "model/product/kernels.h"
#include "model/product/product.h"
#include "model/tensor/stored_tensor.h"
#include "sharpmax/error.h"
#include "support/attention_normalizers.h"  // for_each_target
#include "support/stored_weights.h"

namespace sharpmax::test {
namespace {

using model::multiply;
using model::ProductTerm;
using model::ProductWorkspace;
using model::TensorType;
using model::WeightMatrix;
using Order = WeightMatrix::Order;

constexpr float kFloatNaN = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t kMostTokens = 100;
constexpr std::int64_t kGap = 3;  // floats between tokens, of inputs and of outputs
constexpr float kUntouched = -12345.0f;

// One matrix, its activations with NaN between the tokens, and what is to come out, in double.
struct Problem {
  Problem(TensorType type, std::int64_t outputs, std::int64_t inputs, std::int64_t tokens = kMostTokens,
          Order order = Order::by_output)
      : random(static_cast<std::uint64_t>(1000 * outputs + inputs)),
        bytes(static_cast<std::size_t>(model::bytes_of(type, outputs * inputs))),
        weight{type, bytes.data(), outputs, inputs, order},
        in_stride(inputs + kGap),
        in(static_cast<std::size_t>(tokens * in_stride), kFloatNaN),
        bias(static_cast<std::size_t>(outputs)) {
    draw_weights(type, random, bytes);
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t i = 0; i < inputs; ++i)
        in[at(t * in_stride + i)] = static_cast<float>(random.normal());
    }
    for (float& b : bias) b = static_cast<float>(random.normal());
  }
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  std::int64_t out_stride() const { return weight.outputs + kGap; }

  // Where weight [o][i] is among all, dequantised as they lie.
  std::vector<float> plain_weights() const {
    std::vector<float> all(at(weight.outputs * weight.inputs));
    model::dequantize(weight.type, weight.data, weight.outputs * weight.inputs, all.data());
    return all;
  }
  std::size_t place(std::int64_t o, std::int64_t i) const {
    return at(weight.order == Order::by_output ? o * weight.inputs + i : i * weight.outputs + o);
  }

  // [tokens, out_stride]
  std::vector<float> run(std::int64_t tokens, ProductWorkspace& workspace) const {
    std::vector<float> out(at(tokens * out_stride()), kUntouched);
    const ProductTerm term{weight, bias.data(), out.data(), out_stride()};
    multiply({&term, 1}, in.data(), in_stride, tokens, workspace);
    return out;
  }

  Random random;
  GuardedBytes bytes;
  WeightMatrix weight;
  std::int64_t in_stride;
  std::vector<float> in, bias;
};

// The exact products, and the bound of any float sum of them: an output is a sum of inputs + 1 products (the
// bias is one), so in whatever order, fused or not, it errs by at most gamma = n u / (1 - n u) of the sum of
// their magnitudes, with n the number of roundings a term can go through and u = 2^-24.
struct Expected {
  std::vector<double> value, bound;  // [tokens, outputs]
};
Expected expected(const Problem& problem, std::int64_t tokens) {
  const std::vector<float> weights = problem.plain_weights();
  const std::int64_t outputs = problem.weight.outputs, inputs = problem.weight.inputs;
  const double n = static_cast<double>(inputs + 1);
  const double gamma = n * 0x1p-24 / (1 - n * 0x1p-24);
  Expected result;
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t o = 0; o < outputs; ++o) {
      double sum = problem.bias[Problem::at(o)], magnitude = std::abs(sum);
      for (std::int64_t i = 0; i < inputs; ++i) {
        const double term = static_cast<double>(weights[problem.place(o, i)]) *
                            static_cast<double>(problem.in[Problem::at(t * problem.in_stride + i)]);
        sum += term;
        magnitude += std::abs(term);
      }
      result.value.push_back(sum);
      result.bound.push_back(gamma * magnitude + 1e-37);
    }
  }
  return result;
}

void expect_products(const Problem& problem, const Expected& exact, std::int64_t tokens,
                     ProductWorkspace& workspace) {
  const std::vector<float> out = problem.run(tokens, workspace);
  const std::int64_t outputs = problem.weight.outputs;
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t o = 0; o < problem.out_stride(); ++o) {
      const float got = out[Problem::at(t * problem.out_stride() + o)];
      if (o >= outputs) {
        ASSERT_EQ(got, kUntouched) << "between tokens " << t << " and " << t + 1;
        continue;
      }
      const std::size_t index = Problem::at(t * outputs + o);
      ASSERT_LE(std::abs(static_cast<double>(got) - exact.value[index]), exact.bound[index])
          << "token " << t << ", output " << o << ": " << got << ", exactly " << exact.value[index];
    }
  }
}

void expect_products_on_every_target(const Problem& problem) {
  SCOPED_TRACE(testing::Message() << name_of(problem.weight.type) << ", " << problem.weight.outputs << " x "
                                  << problem.weight.inputs);
  const Expected exact = expected(problem, kMostTokens);
  ProductWorkspace workspace(1);
  for_each_target([&](const std::string& target) {
    for (const std::int64_t tokens : {1, 2, 3, 7, 8, 9, 64, 100}) {
      SCOPED_TRACE(testing::Message() << tokens << " tokens on " << target);
      expect_products(problem, exact, tokens, workspace);
    }
  });
}

// Inputs of float types are any number, of others whole blocks.
std::vector<std::int64_t> awkward_inputs(TensorType type) {
  switch (model::layout_of(type).block) {
    case 1:
      return {1, 31, 32, 33, 131};
    case 32:
      return {32, 96, 576};
    default:
      return {256, 768};
  }
}

// Scales that lie apart: a product is that of the same weights, scaled one by one.
TEST(ScaledProduct, IsThatOfScaledWeightsOnEveryTarget) {
  struct Case {
    TensorType type;
    model::StoredScales::Type of;
    std::int64_t rows, columns, inputs;
  };
  using Type = model::StoredScales::Type;
  for (const Case& c : {Case{TensorType::mxfp4_pairs, Type::exponent, 1, 32, 96}, Case{TensorType::f8_e4m3, Type::f32, 4, 64, 150},
                        Case{TensorType::f8_e4m3, Type::bf16, 3, 32, 131}, Case{TensorType::f8_e4m3, Type::f32, 1, 131, 131}}) {
    constexpr std::int64_t kOutputs = 13, kFirst = 5, kBatch = 20;
    Problem scaled(c.type, kOutputs, c.inputs, kBatch), plain(TensorType::f32, kOutputs, c.inputs, kBatch);
    const std::int64_t stride = (c.inputs + c.columns - 1) / c.columns;
    const auto count = static_cast<std::size_t>((kFirst + kOutputs + c.rows - 1) / c.rows * stride);
    std::vector<float> f32(count);
    std::vector<std::uint16_t> bf16(count);
    std::vector<std::uint8_t> exponents(count);
    for (std::size_t i = 0; i < count; ++i) {
      f32[i] = static_cast<float>(scaled.random.normal());
      bf16[i] = to_bfloat16(f32[i]).bits;
      exponents[i] = static_cast<std::uint8_t>(scaled.random.size(120, 130));
    }
    const void* const data = c.of == Type::f32    ? static_cast<const void*>(f32.data())
                             : c.of == Type::bf16 ? static_cast<const void*>(bf16.data())
                                                  : static_cast<const void*>(exponents.data());
    scaled.weight.scales = {static_cast<const std::byte*>(data), c.of, c.rows, c.columns, stride, kFirst};
    std::vector<float> weights = scaled.plain_weights();
    for (std::int64_t o = 0; o < kOutputs; ++o) {
      std::vector<float> row(Problem::at(c.inputs));
      unpack_row(scaled.weight, o, row.data());
      for (std::int64_t i = 0; i < c.inputs; ++i) {
        const std::size_t at = Problem::at((kFirst + o) / c.rows * stride + i / c.columns);
        const float scale = c.of == Type::f32    ? f32[at]
                            : c.of == Type::bf16 ? to_float(bfloat16{bf16[at]})
                                                 : std::ldexp(1.0f, exponents[at] - 127);
        weights[Problem::at(o * c.inputs + i)] *= scale;
        ASSERT_EQ(row[Problem::at(i)], weights[Problem::at(o * c.inputs + i)]);
      }
    }
    std::memcpy(plain.bytes.data(), weights.data(), weights.size() * sizeof(float));
    plain.in = scaled.in;
    plain.bias = scaled.bias;
    ProductWorkspace workspace(1);
    const Expected exact = expected(plain, kBatch);
    for_each_target([&](const std::string& target) {
      for (const std::int64_t tokens : {1, 2, 3, 8, 20}) {
        SCOPED_TRACE(testing::Message() << name_of(c.type) << ", " << tokens << " tokens on " << target);
        expect_products(scaled, exact, tokens, workspace);
      }
    });
  }
}

class Product : public testing::TestWithParam<TensorType> {};
INSTANTIATE_TEST_SUITE_P(EveryType, Product, testing::ValuesIn(every_tensor_type()),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

TEST_P(Product, IsWithinTheBoundOfAFloatSum) {
  for (const std::int64_t inputs : awkward_inputs(GetParam())) {
    for (const std::int64_t outputs : {1, 11, 53}) {
      expect_products_on_every_target(Problem(GetParam(), outputs, inputs));
    }
  }
}

// Longer than any panel that the products of many tokens are cut into.
TEST_P(Product, OfLongRowsIsWithinTheBound) { expect_products_on_every_target(Problem(GetParam(), 7, 2816)); }

// An activation that is 1 in one place gives that weight, and nothing was rounded but as dequantize() rounds.
TEST_P(Product, WithOneHotActivationsIsTheWeightToTheLastBit) {
  const std::int64_t inputs = awkward_inputs(GetParam()).back();
  Problem problem(GetParam(), 5, inputs, inputs);
  std::fill(problem.bias.begin(), problem.bias.end(), 0.0f);
  for (std::int64_t t = 0; t < inputs; ++t) {
    for (std::int64_t i = 0; i < inputs; ++i) {
      problem.in[Problem::at(t * problem.in_stride + i)] = t == i ? 1.0f : 0.0f;
    }
  }
  const std::vector<float> weights = problem.plain_weights();
  ProductWorkspace workspace(1);
  for_each_target([&](const std::string& target) {
    for (const std::int64_t at_once : {std::int64_t{1}, std::int64_t{8}, inputs}) {
      for (std::int64_t first = 0; first < inputs; first += at_once) {
        const std::int64_t tokens = std::min(at_once, inputs - first);
        std::vector<float> out(Problem::at(tokens * 5));
        const ProductTerm term{problem.weight, nullptr, out.data(), 5};
        multiply({&term, 1}, problem.in.data() + first * problem.in_stride, problem.in_stride, tokens,
                 workspace);
        for (std::int64_t t = 0; t < tokens; ++t) {
          for (std::int64_t o = 0; o < 5; ++o) {
            ASSERT_EQ(out[Problem::at(t * 5 + o)], weights[problem.place(o, first + t)])
                << "weight " << first + t << " of output " << o << ", " << tokens << " tokens on " << target;
          }
        }
      }
    }
  });
}

// A scale that is not finite poisons its own output and leaves every other as it was.
TEST_P(Product, KeepsPoisonWhereItIs) {
  if (GetParam() == TensorType::mxfp4 || GetParam() == TensorType::mxfp4_pairs)
    GTEST_SKIP() << "any bits of this type are numbers or infinite";
  constexpr std::int64_t kOutputs = 29, kPoisoned = 17;
  const std::int64_t inputs = awkward_inputs(GetParam()).back();
  Problem problem(GetParam(), kOutputs, inputs);
  ProductWorkspace workspace(1);
  const std::vector<std::size_t> offsets = scale_offsets(GetParam());
  std::byte* row = problem.bytes.data() + model::bytes_of(GetParam(), kPoisoned * inputs);
  // A NaN of the type where the row's first scale, or its first weight, is.
  const std::size_t offset = GetParam() == TensorType::f32 ? 2 : offsets.empty() ? 0 : offsets.back();
  const bool half = GetParam() == TensorType::f16 || !offsets.empty();
  std::uint16_t healthy;
  std::memcpy(&healthy, row + offset, sizeof healthy);
  for_each_target([&](const std::string& target) {
    for (const std::int64_t tokens : {1, 3, 8, 40}) {
      SCOPED_TRACE(testing::Message() << tokens << " tokens on " << target);
      const std::vector<float> clean = problem.run(tokens, workspace);
      put(row + offset, half ? 0x7e00 : 0x7fc0);
      const std::vector<float> out = problem.run(tokens, workspace);
      put(row + offset, healthy);
      for (std::size_t i = 0; i < out.size(); ++i) {
        if (static_cast<std::int64_t>(i) % problem.out_stride() == kPoisoned) {
          EXPECT_TRUE(std::isnan(out[i]));
        } else {
          EXPECT_EQ(std::bit_cast<std::uint32_t>(out[i]), std::bit_cast<std::uint32_t>(clean[i]));
        }
      }
    }
  });
}

// Products of whole numbers: activations are rounded to 16 bits, 32 of which share a scale.

constexpr std::int64_t kTogether = 32;

// What rounding may add to the bound of a float sum: half a step of every activation, amax / 65534. There are fewer float
// roundings than in a sum of all products: about three for every 16 or 32 inputs, of offset and whole number apart.
Expected expected_of_whole(const Problem& problem, std::int64_t tokens) {
  Expected result = expected(problem, tokens);
  const std::vector<float> weights = problem.plain_weights();
  const std::int64_t outputs = problem.weight.outputs, inputs = problem.weight.inputs;
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t first = 0; first < inputs; first += kTogether) {
      double largest = 0;
      for (std::int64_t i = first; i < first + kTogether; ++i)
        largest = std::max(largest, std::abs(static_cast<double>(problem.in[Problem::at(t * problem.in_stride + i)])));
      for (std::int64_t o = 0; o < outputs; ++o) {
        double magnitude = 0;
        for (std::int64_t i = first; i < first + kTogether; ++i)
          magnitude += std::abs(static_cast<double>(weights[problem.place(o, i)]));
        result.bound[Problem::at(t * outputs + o)] += magnitude * largest / 65534 * (1 + 0x1p-8);  // 2^-8: of rounding the scale
      }
    }
  }
  return result;
}

class WholeProduct : public testing::TestWithParam<TensorType> {
 protected:
  void TearDown() override { model::use_vnni(true); }
};
std::vector<TensorType> whole_types() {
  std::vector<TensorType> types = every_tensor_type();
  std::erase_if(types, [](TensorType type) { return model::layout_of(type).group == 0; });
  return types;
}
INSTANTIATE_TEST_SUITE_P(EveryType, WholeProduct, testing::ValuesIn(whole_types()),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

void expect_whole_products_on_every_target(const Problem& problem) {
  SCOPED_TRACE(testing::Message() << problem.weight.outputs << " x " << problem.weight.inputs);
  const Expected exact = expected_of_whole(problem, kMostTokens);
  ProductWorkspace workspace(1, model::Products::int16);
  for_each_target([&](const std::string& target) {
    for (const std::int64_t tokens : {9, 33, 64, 100}) {
      SCOPED_TRACE(testing::Message() << tokens << " tokens on " << target);
      model::use_vnni(true);
      expect_products(problem, exact, tokens, workspace);
      const std::vector<float> out = problem.run(tokens, workspace);
      model::use_vnni(false);
      EXPECT_EQ(problem.run(tokens, workspace), out) << "one instruction and two";
    }
  });
}

TEST_P(WholeProduct, IsWithinHalfAStepOfEveryActivation) {
  for (const std::int64_t inputs : awkward_inputs(GetParam()))
    for (const std::int64_t outputs : {1, 11, 53}) expect_whole_products_on_every_target(Problem(GetParam(), outputs, inputs));
}

TEST_P(WholeProduct, OfLongRowsIsWithinTheBound) { expect_whole_products_on_every_target(Problem(GetParam(), 7, 2816)); }

// Massive activations, and 32 that are all 0.
TEST_P(WholeProduct, OfUnevenActivationsIsWithinTheBound) {
  Problem problem(GetParam(), 13, 768);
  for (std::int64_t t = 0; t < kMostTokens; ++t) {
    problem.in[Problem::at(t * problem.in_stride + 7 * t % 768)] *= 1e4f;
    for (std::int64_t i = 0; i < kTogether; ++i) problem.in[Problem::at(t * problem.in_stride + 64 + i)] = t % 2 == 0 ? 0.0f : -0.0f;
  }
  expect_whole_products_on_every_target(problem);
}

TEST_P(WholeProduct, OfNumbersWithoutAScaleIsThatOfFloats) {
  for (const float value : {std::numeric_limits<float>::infinity(), kFloatNaN}) {
    Problem problem(GetParam(), 13, 256, 20);
    problem.in[Problem::at(4 * problem.in_stride + 77)] = value;
    ProductWorkspace floats(1), whole(1, model::Products::int16);
    const std::vector<float> a = problem.run(20, floats), b = problem.run(20, whole);
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0) << value;
  }
  Problem tiny(GetParam(), 13, 256, 20);
  for (std::int64_t i = 0; i < kTogether; ++i) tiny.in[Problem::at(3 * tiny.in_stride + i)] = 1e-36f;
  ProductWorkspace floats(1), whole(1, model::Products::int16);
  EXPECT_EQ(tiny.run(20, floats), tiny.run(20, whole));
}

TEST_P(WholeProduct, GivesTheSameBitsForAnyNumberOfThreads) {
  const Problem first(GetParam(), 960, 768), second(TensorType::f32, 97, 768);  // one of floats beside it
  std::vector<float> results[4];
  const int threads[4] = {1, 2, 3, 8};
  for (int k = 0; k < 4; ++k) {
    ProductWorkspace workspace(threads[k], model::Products::int16);
    results[k].assign(Problem::at(40 * (960 + 97)), kFloatNaN);
    const ProductTerm terms[] = {{first.weight, first.bias.data(), results[k].data(), 960},
                                 {second.weight, second.bias.data(), results[k].data() + 40 * 960, 97}};
    multiply(terms, first.in.data(), first.in_stride, 40, workspace);
    EXPECT_EQ(results[k], results[0]) << threads[k] << " threads";
  }
}

TEST_P(WholeProduct, OfFewTokensIsThatOfFloats) {
  const Problem problem(GetParam(), 53, 768);
  ProductWorkspace floats(1), whole(1, model::Products::int16);
  for (const std::int64_t tokens : {1, 8}) EXPECT_EQ(problem.run(tokens, floats), problem.run(tokens, whole));
  EXPECT_NE(problem.run(9, floats), problem.run(9, whole));
}

TEST(ProductByInput, IsWithinTheBoundOfAFloatSum) {
  for (const TensorType type : {TensorType::f32, TensorType::f16, TensorType::bf16}) {
    for (const std::int64_t inputs : {1, 31, 131}) {
      for (const std::int64_t outputs : {1, 13, 65}) {
        expect_products_on_every_target(Problem(type, outputs, inputs, kMostTokens, Order::by_input));
      }
    }
    expect_products_on_every_target(Problem(type, 13, 1537, kMostTokens, Order::by_input));
  }
}

TEST(ProductThreads, GiveTheSameBitsHoweverMany) {
  for (const TensorType type : {TensorType::q4_1, TensorType::q8_0, TensorType::f16}) {
    const Problem first(type, 960, 576), second(type, 192, 576), third(TensorType::f32, 97, 576);
    const Problem by_input(TensorType::f32, 300, 576, kMostTokens, Order::by_input);
    for (const std::int64_t tokens : {1, 3, 40}) {
      std::vector<float> results[4];
      const int threads[4] = {1, 2, 3, 8};
      for (int k = 0; k < 4; ++k) {
        ProductWorkspace workspace(threads[k]);
        results[k].assign(Problem::at(tokens * (960 + 192 + 97 + 300)), kFloatNaN);
        std::vector<ProductTerm> terms;
        float* out = results[k].data();
        for (const Problem* problem : {&first, &second, &third, &by_input}) {
          terms.push_back({problem->weight, problem->bias.data(), out, problem->weight.outputs});
          out += tokens * problem->weight.outputs;
        }
        multiply(terms, first.in.data(), first.in_stride, tokens, workspace);
        EXPECT_EQ(std::memcmp(results[k].data(), results[0].data(), results[k].size() * sizeof(float)), 0)
            << threads[k] << " threads, " << tokens << " tokens";
      }
    }
  }
}

TEST(ProductDoor, TakesNoTokensAndRefusesWhatCannotBe) {
  ProductWorkspace workspace(2);
  Problem problem(TensorType::q4_0, 3, 32);
  EXPECT_TRUE(problem.run(0, workspace).empty());
  multiply({}, nullptr, 0, 5, workspace);
  problem.weight.order = Order::by_input;
  EXPECT_THROW(problem.run(1, workspace), Error);
}

TEST(ProductDoor, TakesNoInputsAndGivesTheBias) {
  ProductWorkspace workspace(2);
  const Problem problem(TensorType::f32, 5, 0);
  for (const std::int64_t tokens : {1, 9}) {
    const std::vector<float> out = problem.run(tokens, workspace);
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t o = 0; o < 5; ++o) {
        EXPECT_EQ(out[Problem::at(t * problem.out_stride() + o)], problem.bias[Problem::at(o)]);
      }
    }
  }
}

TEST(ProductDoor, UnpacksRowsOfEitherOrder) {
  for (const Order order : {Order::by_output, Order::by_input}) {
    const Problem problem(TensorType::f16, 7, 33, 1, order);
    const std::vector<float> weights = problem.plain_weights();
    std::vector<float> row(33);
    model::unpack_row(problem.weight, 4, row.data());
    for (std::int64_t i = 0; i < 33; ++i) EXPECT_EQ(row[Problem::at(i)], weights[problem.place(4, i)]);
  }
}

}  // namespace
}  // namespace sharpmax::test
