#include "model/product/product.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "attention/rows/call.h"
#include "base/threads.h"
#include "model/product/kernels.h"
#include "model/tensor/stored_tensor.h"
#include "sharpmax/error.h"

namespace sharpmax::model {
namespace {

float* aligned(std::vector<float>& memory, std::size_t floats) {
  constexpr std::size_t kAlignment = 64;
  if (memory.size() < floats + kAlignment / sizeof(float)) memory.resize(floats + kAlignment / sizeof(float));
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  return reinterpret_cast<float*>((address + kAlignment - 1) / kAlignment * kAlignment);
}

}  // namespace

float* ProductWorkspace::panel(int thread, std::size_t floats) {
  return aligned(panels_[static_cast<std::size_t>(thread)], floats);
}

float* ProductWorkspace::shared(std::size_t floats) { return aligned(shared_, floats); }

namespace {

bool is_float(TensorType type) { return layout_of(type).block == 1 && type != TensorType::f8_e4m3; }

void check(std::span<const ProductTerm> terms) {
  for (const ProductTerm& term : terms) {
    const WeightMatrix& weight = term.weight;
    if (weight.inputs != terms[0].weight.inputs) {
      throw Error(ErrorCode::bad_argument,
                  fmt::format("multiply: one matrix takes {} inputs, another {}; they share them",
                              terms[0].weight.inputs, weight.inputs));
    }
    if (weight.order == WeightMatrix::Order::by_input && !is_float(weight.type)) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("multiply: weights of type {} stored by input; only float types can be",
                              name_of(weight.type)));
    }
    if (weight.inputs % layout_of(weight.type).block != 0) {
      throw Error(ErrorCode::bad_argument,
                  fmt::format("multiply: {} inputs of type {}, whose blocks have {}", weight.inputs,
                              name_of(weight.type), layout_of(weight.type).block));
    }
  }
}

// How the rows of all terms are cut into tasks. By shape alone, never by the number of threads.
struct Cut {
  std::span<const ProductTerm> terms;
  std::int64_t rows;  // of a task, which is always of one term

  std::int64_t tasks_of(const ProductTerm& term) const { return (term.weight.outputs + rows - 1) / rows; }
  std::int64_t tasks() const {
    std::int64_t sum = 0;
    for (const ProductTerm& term : terms) sum += tasks_of(term);
    return sum;
  }
  struct Rows {
    const ProductTerm* term;
    std::int64_t begin, end;
  };
  Rows task(std::int64_t index) const {
    for (const ProductTerm& term : terms) {
      const std::int64_t count = tasks_of(term);
      if (index < count) return {&term, index * rows, std::min((index + 1) * rows, term.weight.outputs)};
      index -= count;
    }
    return {};  // index was at least tasks()
  }
};

std::int64_t round_up_to(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

// Tasks of at least a few microseconds; of long walks through memory where there is enough for all threads.
Cut cut_for_dots(std::span<const ProductTerm> terms) {
  constexpr std::int64_t kLeastWeights = 16384, kTasks = 64, kUnit = 32;
  std::int64_t rows = 0;
  for (const ProductTerm& term : terms) rows += term.weight.outputs;
  const std::int64_t least = kLeastWeights / std::max<std::int64_t>(1, terms[0].weight.inputs);
  return {terms, round_up_to(std::max({rows / kTasks, least, std::int64_t{1}}), kUnit)};
}

// Activations are copied to whole cache lines first: a vector that straddles two lines is read at half the
// speed, and rows a power of two apart would push each other out of the first cache.
void multiply_by_dots(std::span<const ProductTerm> terms, const float* in, std::int64_t in_stride,
                      std::int64_t tokens, ProductWorkspace& workspace) {
  constexpr std::int64_t kLine = 16;  // floats
  const std::int64_t inputs = terms[0].weight.inputs;
  const std::int64_t stride = round_up_to(inputs, kLine) + kLine;
  float* copy = workspace.shared(static_cast<std::size_t>(tokens * stride));
  for (std::int64_t t = 0; t < tokens; ++t) std::copy_n(in + t * in_stride, inputs, copy + t * stride);
  const Cut cut = cut_for_dots(terms);
  parallel_for(workspace.threads(), cut.tasks(), [&](std::int64_t task, int) {
    const Cut::Rows rows = cut.task(task);
    dot_rows({rows.term, rows.begin, rows.end, copy, stride, tokens});
  });
}

// Enough tasks for many threads, of whole tiles; where there are many rows, more of them share one reading of
// the activations.
Cut cut_for_tiles(std::span<const ProductTerm> terms) {
  constexpr std::int64_t kTasks = 48, kUnit = 12, kLeast = 24, kMost = 96;
  std::int64_t rows = 0;
  for (const ProductTerm& term : terms) rows += term.weight.outputs;
  return {terms, std::clamp(round_up_to(rows / kTasks, kUnit), kLeast, kMost)};
}

void multiply_by_tiles(std::span<const ProductTerm> terms, const float* in, std::int64_t in_stride,
                       std::int64_t tokens, ProductWorkspace& workspace) {
  constexpr std::int64_t kInputs = 128;          // of one task of packing
  constexpr std::int64_t kWorthThreads = 65536;  // floats: some 10 microseconds of packing
  const std::int64_t inputs = terms[0].weight.inputs;
  const PackedTokens packed{in, in_stride, tokens, inputs, workspace.shared(packed_floats(tokens, inputs))};
  const std::int64_t parts = (inputs + kInputs - 1) / kInputs;
  const int packers = tokens * inputs < kWorthThreads ? 1 : workspace.threads();
  parallel_for(packers, token_panels(tokens) * parts, [&](std::int64_t task, int) {
    const std::int64_t first = task % parts * kInputs;
    pack_tokens(packed, task / parts, first, std::min(first + kInputs, inputs));
  });
  const Cut cut = cut_for_tiles(terms);
  parallel_for(workspace.threads(), cut.tasks(), [&](std::int64_t task, int thread) {
    const Cut::Rows rows = cut.task(task);
    float* panel = workspace.panel(thread, panel_floats(cut.rows, tokens));
    multiply_rows(*rows.term, rows.begin, rows.end, packed, panel);
  });
}

bool is_whole(const ProductTerm& term) {
  return layout_of(term.weight.type).group > 0 && term.weight.inputs % kScaledTogether == 0;
}

// False, and nothing done, if some activations are not finite: they have no scale.
bool multiply_by_whole_tiles(std::span<const ProductTerm> terms, const float* in, std::int64_t in_stride, std::int64_t tokens,
                             ProductWorkspace& workspace) {
  constexpr std::int64_t kInputs = 128;          // of one task of packing
  constexpr std::int64_t kWorthThreads = 65536;  // floats: some 10 microseconds of packing
  const std::int64_t inputs = terms[0].weight.inputs;
  WholeTokens packed{.in = in, .in_stride = in_stride, .tokens = tokens, .inputs = inputs};
  place_whole_tokens(packed, workspace.shared(whole_packed_floats(tokens, inputs)));
  const std::int64_t parts = (inputs + kInputs - 1) / kInputs;
  const int packers = tokens * inputs < kWorthThreads ? 1 : workspace.threads();
  std::atomic<bool> all_finite{true};
  parallel_for(packers, token_panels(tokens) * parts, [&](std::int64_t task, int) {
    const std::int64_t first = task % parts * kInputs;
    if (!pack_whole_tokens(packed, task / parts, first, std::min(first + kInputs, inputs))) all_finite = false;
  });
  if (!all_finite) return false;
  const Cut cut = cut_for_tiles(terms);
  parallel_for(workspace.threads(), cut.tasks(), [&](std::int64_t task, int thread) {
    const Cut::Rows rows = cut.task(task);
    float* panel = workspace.panel(thread, whole_panel_floats(cut.rows, tokens));
    multiply_whole_rows(*rows.term, rows.begin, rows.end, packed, panel);
  });
  return true;
}

void multiply_many(std::span<const ProductTerm> terms, const float* in, std::int64_t in_stride, std::int64_t tokens,
                   ProductWorkspace& workspace) {
  std::vector<ProductTerm> whole, others;
  if (workspace.products() == Products::int16)
    for (const ProductTerm& term : terms) (is_whole(term) ? whole : others).push_back(term);
  if (whole.empty() || !multiply_by_whole_tiles(whole, in, in_stride, tokens, workspace))
    return multiply_by_tiles(terms, in, in_stride, tokens, workspace);
  if (!others.empty()) multiply_by_tiles(others, in, in_stride, tokens, workspace);
}

}  // namespace

// One of them knows the type: check() has seen to it that weights by input are floats.
void dot_rows(const RowDots& dots) {
  if (dots.term->weight.order == WeightMatrix::Order::by_input) return dot_columns(dots);
  static_cast<void>(dot_rows_of_floats(dots) || dot_rows_of_4_bits(dots) || dot_rows_of_5_bits(dots) ||
                    dot_rows_of_256(dots) || dot_rows_of_2_and_3_bits(dots) || dot_rows_by_table(dots) ||
                    dot_rows_scaled_apart(dots));
}

void unpack_panel(const PanelPart& part) {
  if (part.weight->order == WeightMatrix::Order::by_input) return unpack_columns(part);
  static_cast<void>(unpack_rows_of_floats(part) || unpack_rows_of_4_bits(part) || unpack_rows_of_5_bits(part) ||
                    unpack_rows_of_256(part) || unpack_rows_of_2_and_3_bits(part) || unpack_rows_by_table(part) ||
                    unpack_rows_scaled_apart(part));
}

void multiply(std::span<const ProductTerm> terms, const float* in, std::int64_t in_stride,
              std::int64_t tokens, ProductWorkspace& workspace) {
  if (terms.empty() || tokens <= 0) return;
  check(terms);
  choose_target();
  if (tokens <= kMostShared) return multiply_by_dots(terms, in, in_stride, tokens, workspace);
  multiply_many(terms, in, in_stride, tokens, workspace);
}

void unpack_row(const WeightMatrix& weight, std::int64_t row, float* out) {
  if (weight.order == WeightMatrix::Order::by_output) {
    dequantize(weight.type, weight.data + row * bytes_of(weight.type, weight.inputs), weight.inputs, out);
    return apply_scales(weight.scales, weight.inputs, row * weight.inputs, weight.inputs, out);
  }
  const std::int64_t size = layout_of(weight.type).bytes;
  for (std::int64_t i = 0; i < weight.inputs; ++i) {
    dequantize(weight.type, weight.data + (i * weight.outputs + row) * size, 1, out + i);
  }
}

}  // namespace sharpmax::model
