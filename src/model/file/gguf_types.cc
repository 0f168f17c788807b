#include "model/file/gguf_types.h"

#include <algorithm>
#include <array>

namespace sharpmax::model {
namespace {

struct NamedType {
  std::string_view name;
  std::uint64_t size;
};

// In the order of GgufType.
constexpr std::array<NamedType, 13> kValueTypes = {{{"uint8", 1},
                                                    {"int8", 1},
                                                    {"uint16", 2},
                                                    {"int16", 2},
                                                    {"uint32", 4},
                                                    {"int32", 4},
                                                    {"float32", 4},
                                                    {"boolean", 1},
                                                    {"string", 0},
                                                    {"array", 0},
                                                    {"uint64", 8},
                                                    {"int64", 8},
                                                    {"float64", 8}}};

GgufTensorType ours(std::uint32_t number, TensorType type) { return {number, layout_of(type), type}; }

// By number. What is not ours is here with its size, so that a file with such tensors can be checked and
// listed.
const std::array<GgufTensorType, 34>& tensor_types() {
  static const std::array<GgufTensorType, 34> kTypes = {{
      ours(0, TensorType::f32),       ours(1, TensorType::f16),       ours(2, TensorType::q4_0),
      ours(3, TensorType::q4_1),      ours(6, TensorType::q5_0),      ours(7, TensorType::q5_1),
      ours(8, TensorType::q8_0),      {9, {"Q8_1", 32, 40}, {}},      {10, {"Q2_K", 256, 84}, {}},
      {11, {"Q3_K", 256, 110}, {}},   ours(12, TensorType::q4_k),     ours(13, TensorType::q5_k),
      ours(14, TensorType::q6_k),     {15, {"Q8_K", 256, 292}, {}},   {16, {"IQ2_XXS", 256, 66}, {}},
      {17, {"IQ2_XS", 256, 74}, {}},  {18, {"IQ3_XXS", 256, 98}, {}}, {19, {"IQ1_S", 256, 50}, {}},
      {20, {"IQ4_NL", 32, 18}, {}},   {21, {"IQ3_S", 256, 110}, {}},  {22, {"IQ2_S", 256, 82}, {}},
      {23, {"IQ4_XS", 256, 136}, {}}, {24, {"I8", 1, 1}, {}},         {25, {"I16", 1, 2}, {}},
      {26, {"I32", 1, 4}, {}},        {27, {"I64", 1, 8}, {}},        {28, {"F64", 1, 8}, {}},
      {29, {"IQ1_M", 256, 56}, {}},   ours(30, TensorType::bf16),     {34, {"TQ1_0", 256, 54}, {}},
      {35, {"TQ2_0", 256, 66}, {}},   {39, {"MXFP4", 32, 17}, {}},    {40, {"NVFP4", 64, 36}, {}},
      {41, {"Q1_0", 128, 18}, {}},
  }};
  return kTypes;
}

struct RemovedType {
  std::uint32_t number;
  std::string_view name;
};
constexpr std::array<RemovedType, 8> kRemoved = {{{4, "Q4_2"},
                                                  {5, "Q4_3"},
                                                  {31, "Q4_0_4_4"},
                                                  {32, "Q4_0_4_8"},
                                                  {33, "Q4_0_8_8"},
                                                  {36, "IQ4_NL_4_4"},
                                                  {37, "IQ4_NL_4_8"},
                                                  {38, "IQ4_NL_8_8"}}};

}  // namespace

std::string_view name_of(GgufType type) noexcept { return kValueTypes[static_cast<std::size_t>(type)].name; }
std::uint64_t size_of(GgufType type) noexcept { return kValueTypes[static_cast<std::size_t>(type)].size; }

const GgufTensorType* gguf_tensor_type(std::uint32_t number) noexcept {
  const auto& types = tensor_types();
  const auto found =
      std::find_if(types.begin(), types.end(), [&](const GgufTensorType& t) { return t.number == number; });
  return found == types.end() ? nullptr : &*found;
}

std::string_view removed_gguf_type(std::uint32_t number) noexcept {
  const auto found = std::find_if(kRemoved.begin(), kRemoved.end(),
                                  [&](const RemovedType& t) { return t.number == number; });
  return found == kRemoved.end() ? std::string_view() : found->name;
}

}  // namespace sharpmax::model
