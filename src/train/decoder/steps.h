// The steps of a decoder besides attention, forward and backward, over rows of features. Work is cut by shape
// alone, so bits do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/threads.h"
#include "learning/kernels.h"
#include "learning/products.h"
#include "machine/blas.h"

namespace sharpmax::train {

inline constexpr double kNormEpsilon = 1e-6;

// body(first row, end) over blocks of rows.
template <class Body>
void for_blocks(int threads, std::int64_t rows, const Body& body) {
  constexpr std::int64_t kBlock = 64;
  parallel_for(threads, (rows + kBlock - 1) / kBlock,
               [&](std::int64_t task, int) { body(task * kBlock, std::min(rows, (task + 1) * kBlock)); });
}

// Rows of c are cut into about four blocks, or more of 512 rows: body(first row, count).
template <class Body>
void for_row_blocks(int threads, std::int64_t rows, const Body& body) {
  constexpr std::int64_t kLeast = 64, kMost = 512, kBlocks = 4;
  const std::int64_t block = std::clamp((rows + kBlocks - 1) / kBlocks, kLeast, kMost);
  parallel_for(threads, (rows + block - 1) / block,
               [&](std::int64_t task, int) { body(task * block, std::min(block, rows - task * block)); });
}

inline learning::Operand operand_of(const Matrix<const float>& m) {
  const auto stride = static_cast<std::size_t>(m.stride);
  return m.transposed ? learning::Operand{m.data, 1, stride} : learning::Operand{m.data, stride, 1};
}

// c = a b + beta c, beta 0 or 1. b is packed once for all blocks.
inline void product(int threads, Matrix<const float> a, Matrix<const float> b, float beta, Matrix<float> c) {
  constexpr std::int64_t kPanelsOfTask = 4;
  const auto inner = static_cast<std::size_t>(a.columns), columns = static_cast<std::size_t>(c.columns);
  const auto panels = static_cast<std::int64_t>(learning::panels_of(columns));
  static thread_local std::vector<float> packed;
  packed.resize(std::max(packed.size(), learning::packed_size(inner, columns)));
  float* const to = packed.data();  // of this thread, not of those that help
  const learning::Operand right = operand_of(b);
  parallel_for(threads, (panels + kPanelsOfTask - 1) / kPanelsOfTask, [&](std::int64_t task, int) {
    const std::int64_t first = task * kPanelsOfTask;
    learning::pack_panels(right, inner, columns, static_cast<std::size_t>(first),
                          static_cast<std::size_t>(std::min(panels, first + kPanelsOfTask)), to);
  });
  for_row_blocks(threads, c.rows, [&](std::int64_t first, std::int64_t count) {
    learning::Operand left = operand_of(a);
    left.data += static_cast<std::size_t>(first) * left.row;
    learning::multiply_rows({.left = left,
                             .rows = static_cast<std::size_t>(count),
                             .inner = inner,
                             .columns = columns,
                             .packed = to,
                             .adds = beta != 0.0f,
                             .c = c.data + first * c.stride,
                             .stride = static_cast<std::size_t>(c.stride)});
  });
}
// The same in double, for tests.
inline void product(int threads, Matrix<const double> a, Matrix<const double> b, double beta, Matrix<double> c) {
  for_row_blocks(threads, c.rows, [&](std::int64_t first, std::int64_t count) {
    Matrix<const double> part = a;
    part.rows = count;
    part.data += first * (a.transposed ? 1 : a.stride);
    gemm(1.0, part, b, beta, Matrix<double>(c.data + first * c.stride, count, c.columns, c.stride));
  });
}

// out = in weight^T: [rows, inputs] x [outputs, inputs].
template <class Real>
void project(int threads, Matrix<const Real> in, Matrix<const Real> weight, Matrix<Real> out) {
  product(threads, in, transpose(weight), Real{0}, out);
}
// d_weight = d_out^T in, and d_in = d_out weight (+ d_in).
template <class Real>
void project_backward(int threads, Matrix<const Real> d_out, Matrix<const Real> in, Matrix<const Real> weight,
                      Matrix<Real> d_weight, Matrix<Real> d_in, Real beta = 0) {
  product(threads, transpose(d_out), in, Real{0}, d_weight);
  product(threads, d_out, weight, beta, d_in);
}

// out = x / rms(x) * scale; inverse[row] = 1 / rms(x).
template <class Real>
void norm(int threads, Matrix<const Real> x, const Real* scale, Real* inverse, Real* out) {
  const auto width = static_cast<std::size_t>(x.columns);
  for_blocks(threads, x.rows, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t r = first; r < end; ++r) {
      const Real* const row = x.data + r * x.stride;
      const Real mean = learning::dot(row, row, width) / static_cast<Real>(width);
      const Real factor = Real{1} / std::sqrt(mean + static_cast<Real>(kNormEpsilon));
      inverse[r] = factor;
      Real* const to = out + r * x.columns;
      for (std::size_t j = 0; j < width; ++j) to[j] = row[j] * factor * scale[j];
    }
  });
}

// d_x += the gradient by x, d_scale = that by scale. Partial sums of blocks of rows are added in order.
template <class Real>
void norm_backward(int threads, Matrix<const Real> x, const Real* scale, const Real* inverse,
                   const Real* d_out, Real* d_scale, Matrix<Real> d_x) {
  constexpr std::int64_t kBlock = 64;
  const auto width = static_cast<std::size_t>(x.columns);
  const std::int64_t blocks = (x.rows + kBlock - 1) / kBlock;
  std::vector<Real> partial(static_cast<std::size_t>(blocks) * width);
  parallel_for(threads, blocks, [&](std::int64_t block, int) {
    Real* const sums = partial.data() + static_cast<std::size_t>(block) * width;
    std::vector<Real> scaled(width);
    for (std::int64_t r = block * kBlock; r < std::min(x.rows, (block + 1) * kBlock); ++r) {
      const Real* const row = x.data + r * x.stride;
      const Real* const d = d_out + r * x.columns;
      Real* const to = d_x.data + r * d_x.stride;
      const Real f = inverse[r];
      for (std::size_t j = 0; j < width; ++j) {
        sums[j] += d[j] * row[j] * f;
        scaled[j] = d[j] * scale[j];
      }
      const Real along = learning::dot(scaled.data(), row, width) * f * f / static_cast<Real>(width);
      for (std::size_t j = 0; j < width; ++j) to[j] += f * (scaled[j] - along * row[j]);
    }
  });
  std::fill_n(d_scale, width, Real{0});
  for (std::int64_t b = 0; b < blocks; ++b)
    learning::add_scaled(Real{1}, partial.data() + static_cast<std::size_t>(b) * width, width, d_scale);
}

// SwiGLU of [gates | values]: out = gate sigma(gate) value.
template <class Real>
void swiglu(const Real* inner, std::int64_t hidden, Real* out) {
  for (std::int64_t j = 0; j < hidden; ++j)
    out[j] = inner[j] / (Real{1} + std::exp(-inner[j])) * inner[hidden + j];
}
template <class Real>
void swiglu_backward(const Real* inner, const Real* d_out, std::int64_t hidden, Real* d_inner) {
  for (std::int64_t j = 0; j < hidden; ++j) {
    const Real gate = inner[j], value = inner[hidden + j], sigma = Real{1} / (Real{1} + std::exp(-gate));
    d_inner[j] = d_out[j] * value * sigma * (Real{1} + gate * (Real{1} - sigma));
    d_inner[hidden + j] = d_out[j] * gate * sigma;
  }
}

struct PartOfAnswer {
  double loss = 0.0;
  bool right = false;  // the answer alone has the largest logit, or is the first that has it
};

// Cross-entropy of one row of logits, which become its gradient divided by `questions`.
template <class Real>
PartOfAnswer cross_entropy(Real* logits, std::int64_t classes, std::int64_t answer, std::int64_t questions) {
  const Real* const most = std::max_element(logits, logits + classes);
  const Real largest = *most, of_answer = logits[answer];
  PartOfAnswer found{.right = most == logits + answer};
  double sum = 0.0;
  for (std::int64_t c = 0; c < classes; ++c) {
    logits[c] = std::exp(logits[c] - largest);
    sum += static_cast<double>(logits[c]);
  }
  found.loss = std::log(sum) + static_cast<double>(largest - of_answer);
  const double share = 1.0 / static_cast<double>(questions);
  const auto factor = static_cast<Real>(share / sum);
  for (std::int64_t c = 0; c < classes; ++c) logits[c] *= factor;
  logits[answer] -= static_cast<Real>(share);
  return found;
}

// Rotations of a head's pairs of features (j, j + half) by the place.
class Turns {
 public:
  Turns(std::int64_t places, std::int64_t head_width);

  // Turns `heads` heads of a row at a place forward, or back.
  template <class Real>
  void turn(std::int64_t place, Real* row, std::int64_t heads, bool back) const {
    const std::int64_t half = half_;
    const float* const cosines = cosines_.data() + place * half;
    const float* const sines = sines_.data() + place * half;
    for (std::int64_t h = 0; h < heads; ++h, row += 2 * half) {
      for (std::int64_t j = 0; j < half; ++j) {
        const Real c = cosines[j], s = back ? -sines[j] : sines[j], a = row[j], b = row[half + j];
        row[j] = a * c - b * s;
        row[half + j] = a * s + b * c;
      }
    }
  }
  std::int64_t places() const noexcept { return places_; }

 private:
  std::int64_t places_ = 0, half_ = 0;
  std::vector<float> cosines_, sines_;  // [place, half]
};

}  // namespace sharpmax::train
