// Products of stored weights with activations: the time of a model goes here.
//
// Weights stay as the file has them. Few tokens: each row of weights is read once, unpacked in registers and
// multiplied. Many: panels of rows are unpacked into scratch and multiplied as dense matrices. Either way an
// output is summed by one thread in an order that depends on the shape alone: bitwise the same for any thread
// count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/tensor/stored_tensor.h"

namespace sharpmax::model {

struct WeightMatrix {
  enum class Order {
    by_output,  // [output, input]: a row is the weights of one output
    by_input,   // [input, output]: GPT-2's safetensors; float types only
  };
  TensorType type = TensorType::f32;
  const std::byte* data = nullptr;
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  Order order = Order::by_output;
  StoredScales scales = {};  // by_output only
};

// One of several matrices that are multiplied with the same activations.
struct ProductTerm {
  WeightMatrix weight;
  const float* bias = nullptr;  // [outputs], or none
  float* out = nullptr;         // [tokens, outputs]
  std::int64_t out_stride = 0;  // floats from one token to the next
};

// How activations meet quantized weights where there are many tokens. int16: as 16-bit integers, 32 of which share a scale;
// they err by at most amax / 65534 of their 32.
enum class Products { float32, int16 };

// Scratch that is kept from call to call.
class ProductWorkspace {
 public:
  explicit ProductWorkspace(int threads, Products products = Products::float32)
      : threads_(threads), products_(products), panels_(static_cast<std::size_t>(threads)) {}
  int threads() const noexcept { return threads_; }
  Products products() const noexcept { return products_; }
  // At least `floats` for one thread; aligned to 64 bytes.
  float* panel(int thread, std::size_t floats);
  // The same for all threads together.
  float* shared(std::size_t floats);

 private:
  int threads_;
  Products products_;
  std::vector<float> shared_;
  std::vector<std::vector<float>> panels_;
};

// term.out[t][o] = sum_i weight[o][i] in[t][i] + bias[o]. `in` is [tokens, inputs], all inputs equal.
void multiply(std::span<const ProductTerm> terms, const float* in, std::int64_t in_stride,
              std::int64_t tokens, ProductWorkspace& workspace);

// Row `row` of a matrix in floats: an embedding.
void unpack_row(const WeightMatrix& weight, std::int64_t row, float* out);

}  // namespace sharpmax::model
