// The parts of a product that one thread does at a time, for the instruction set in use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/product/product.h"

namespace sharpmax::model {

// Tokens that share one reading of the weights in registers.
inline constexpr std::int64_t kMostShared = 8;

// out[t][o] for rows [begin, end) of a term and at most kMostShared tokens.
struct RowDots {
  const ProductTerm* term = nullptr;
  std::int64_t begin = 0, end = 0;
  const float* in = nullptr;  // [tokens, inputs]
  std::int64_t in_stride = 0;
  std::int64_t tokens = 0;
};

void dot_rows(const RowDots& dots);  // any type and order

// Rows of weights as whole numbers of 16 bits, with a scale (and an offset, if the type has any) for every group.
struct WholeRows {
  std::int16_t* numbers = nullptr;  // rows kWholeStride apart
  float* scales = nullptr;          // rows kWholeGroups apart
  float* offsets = nullptr;
};
inline constexpr std::int64_t kWholeDepth = 512;                // most inputs of a panel of them
inline constexpr std::int64_t kWholeStride = kWholeDepth + 32;  // an odd number of cache lines
inline constexpr std::int64_t kWholeGroups = kWholeDepth / 16;

// Weights [begin, end) x [first, first + count) as floats, to[row - begin][input - first], rows kPanelStride
// apart. `first` begins a block; a row may be written up to the next multiple of 32.
struct PanelPart {
  const WeightMatrix* weight = nullptr;
  std::int64_t begin = 0, end = 0;
  std::int64_t first = 0, count = 0;
  float* to = nullptr;
  const WholeRows* whole = nullptr;  // instead of `to`; of types with groups only
};
inline constexpr std::int64_t kPanelDepth = 768;  // most inputs of a panel
// Rows of a tile are read side by side: an odd number of cache lines keeps them out of each other's way.
inline constexpr std::int64_t kPanelStride = kPanelDepth + 16;

void unpack_panel(const PanelPart& part);  // any type and order

// By groups of types, so that no file takes the compiler long; false: the type is of another group. Rows are by_output,
// columns by_input.
bool dot_rows_of_floats(const RowDots& dots);
bool dot_rows_of_4_bits(const RowDots& dots);  // Q4_0, Q4_1, Q8_0
bool dot_rows_of_5_bits(const RowDots& dots);  // Q5_0, Q5_1
bool dot_rows_of_256(const RowDots& dots);     // Q4_K, Q5_K, Q6_K
bool dot_rows_of_2_and_3_bits(const RowDots& dots);  // Q2_K, Q3_K
bool dot_rows_by_table(const RowDots& dots);         // IQ4_NL, IQ4_XS, MXFP4
bool dot_rows_scaled_apart(const RowDots& dots);     // MXFP4_PAIRS, F8_E4M3
void dot_columns(const RowDots& dots);
bool unpack_rows_of_floats(const PanelPart& part);
bool unpack_rows_of_4_bits(const PanelPart& part);
bool unpack_rows_of_5_bits(const PanelPart& part);
bool unpack_rows_of_256(const PanelPart& part);
bool unpack_rows_of_2_and_3_bits(const PanelPart& part);
bool unpack_rows_by_table(const PanelPart& part);
bool unpack_rows_scaled_apart(const PanelPart& part);
void unpack_columns(const PanelPart& part);

// Many tokens. Activations are packed once a call, [token panel][input][token of the panel], and shared by
// all tasks; a task has rows of one term and all tokens.
struct PackedTokens {
  const float* in = nullptr;  // [tokens, inputs]
  std::int64_t in_stride = 0;
  std::int64_t tokens = 0, inputs = 0;
  float* packed = nullptr;
};
// One panel of unpacked weights, and where its products go.
struct PanelTask {
  const float* panel = nullptr;
  std::size_t rows = 0, depth = 0;
  std::int64_t first_input = 0;
  bool last = false;  // inputs end with this panel
  const PackedTokens* tokens = nullptr;
  const float* bias = nullptr;  // [rows]
  float* tiles = nullptr;       // sums so far
  float* out = nullptr;
  std::int64_t out_stride = 0;
};
std::int64_t token_panels(std::int64_t tokens);
std::size_t packed_floats(std::int64_t tokens, std::int64_t inputs);
void pack_tokens(const PackedTokens& tokens, std::int64_t panel, std::int64_t first_input,
                 std::int64_t end_input);
// `panel` has panel_floats() of scratch, aligned to 64 bytes.
std::size_t panel_floats(std::int64_t rows, std::int64_t tokens);
void multiply_rows(const ProductTerm& term, std::int64_t begin, std::int64_t end, const PackedTokens& tokens,
                   float* panel);

// Many tokens times weights that are whole numbers: activations are 16-bit integers, 32 of which share a scale, and
// products are summed as integers. A panel is the same as above, with pairs of neighboring inputs side by side.
inline constexpr std::int64_t kScaledTogether = 32;
struct WholeTokens {
  const float* in = nullptr;  // [tokens, inputs]
  std::int64_t in_stride = 0;
  std::int64_t tokens = 0, inputs = 0;
  std::int32_t* packed = nullptr;  // [token panel][pair of inputs][token]
  // [token panel][32 inputs][scale, sum of the first 16 inputs, sum of the others][token]
  float* scales = nullptr;
};
struct WholePanelTask {
  WholeRows panel;
  std::size_t rows = 0, depth = 0, group = 0;
  bool offset = false;
  std::int64_t first_input = 0;
  bool last = false;
  const WholeTokens* tokens = nullptr;
  const float* bias = nullptr;
  float* tiles = nullptr;
  float* out = nullptr;
  std::int64_t out_stride = 0;
};
std::size_t whole_packed_floats(std::int64_t tokens, std::int64_t inputs);
// Whether the tokens can be packed: numbers that are not finite, or all below 1e-34, cannot.
bool pack_whole_tokens(const WholeTokens& tokens, std::int64_t panel, std::int64_t first_input, std::int64_t end_input);
void place_whole_tokens(WholeTokens& tokens, float* memory);  // of whole_packed_floats()
std::size_t whole_panel_floats(std::int64_t rows, std::int64_t tokens);
void multiply_whole_rows(const ProductTerm& term, std::int64_t begin, std::int64_t end, const WholeTokens& tokens,
                         float* panel);
// Without the instructions for such products (AVX-512 VNNI), as a machine that lacks them does it. For tests.
void use_vnni(bool use) noexcept;

}  // namespace sharpmax::model
