// Panels of rows unpacked into scratch and multiplied as dense matrices.
#include "model/product/product.h"

#include <algorithm>

#include "base/blas.h"
#include "base/threads.h"
#include "model/tensor/dequantize.h"

namespace sharpmax::model {
namespace {

constexpr std::int64_t kPanelRows = 96;

struct Panel {
  const ProductTerm* term;
  std::int64_t first, rows;
};

std::vector<Panel> panels_of(std::span<const ProductTerm> terms) {
  std::vector<Panel> panels;
  for (const ProductTerm& term : terms)
    for (std::int64_t first = 0; first < term.weight.outputs; first += kPanelRows)
      panels.push_back({&term, first, std::min(kPanelRows, term.weight.outputs - first)});
  return panels;
}

void unpack_panel(const Panel& panel, float* out) {
  const WeightMatrix& w = panel.term->weight;
  if (w.order == WeightMatrix::Order::by_output) {
    dequantize(w.type, w.data + bytes_of(w.type, panel.first * w.inputs), panel.rows * w.inputs, out);
    return;
  }
  std::vector<float> line(static_cast<std::size_t>(panel.rows));
  for (std::int64_t i = 0; i < w.inputs; ++i) {
    dequantize(w.type, w.data + bytes_of(w.type, i * w.outputs + panel.first), panel.rows, line.data());
    for (std::int64_t o = 0; o < panel.rows; ++o) out[o * w.inputs + i] = line[static_cast<std::size_t>(o)];
  }
}

}  // namespace

void multiply(std::span<const ProductTerm> terms, const float* in, std::int64_t in_stride,
              std::int64_t tokens, ProductWorkspace& workspace) {
  const std::vector<Panel> panels = panels_of(terms);
  const SerialBlas serial;
  parallel_for(
      workspace.threads(), static_cast<std::int64_t>(panels.size()), [&](std::int64_t task, int thread) {
        const Panel& panel = panels[static_cast<std::size_t>(task)];
        const std::int64_t inputs = panel.term->weight.inputs;
        float* const weights = workspace.panel(thread, static_cast<std::size_t>(panel.rows * inputs));
        unpack_panel(panel, weights);
        float* const out = panel.term->out + panel.first;
        for (std::int64_t t = 0; t < tokens; ++t)
          for (std::int64_t o = 0; o < panel.rows; ++o)
            out[t * panel.term->out_stride + o] = panel.term->bias ? panel.term->bias[panel.first + o] : 0.0f;
        gemm(1.0f, Matrix<const float>(in, tokens, inputs, in_stride),
             transpose(Matrix<const float>(weights, panel.rows, inputs)), 1.0f,
             Matrix<float>(out, tokens, panel.rows, panel.term->out_stride));
      });
}

void unpack_row(const WeightMatrix& weight, std::int64_t row, float* out) {
  dequantize(weight.type, weight.data + bytes_of(weight.type, row * weight.inputs), weight.inputs, out);
}

}  // namespace sharpmax::model
