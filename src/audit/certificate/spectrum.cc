#include "audit/certificate/spectrum.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/numbers.h"
#include "machine/blas.h"

namespace sharpmax::audit {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();

Symmetric squared(const Symmetric& a) {
  Symmetric square{a.size, std::vector<double>(a.entries.size())};
  const Matrix<const double> view(a.entries.data(), a.size, a.size);
  gemm(1.0, view, view, 0.0, Matrix<double>(square.entries.data(), a.size, a.size));
  square.make_symmetric();
  return square;
}

double squares_of(const Symmetric& a) {
  double sum = 0.0;
  for (const double x : a.entries) sum += x * x;
  return sum;
}

// Divides by a power of two, exactly, so that the trace is in [1, 2); returns its exponent.
int make_unit(Symmetric& a) {
  const double trace = a.trace();
  if (!(trace > 0) || !std::isfinite(trace)) return 0;
  const int exponent = std::ilogb(trace);
  for (double& x : a.entries) x = std::ldexp(x, -exponent);
  return exponent;
}

}  // namespace

double Symmetric::trace() const {
  double sum = 0.0;
  for (std::int64_t i = 0; i < size; ++i) sum += (*this)(i, i);
  return sum;
}

void Symmetric::make_symmetric() {
  for (std::int64_t i = 0; i < size; ++i)
    for (std::int64_t j = 0; j < i; ++j)
      (*this)(i, j) = (*this)(j, i) = 0.5 * ((*this)(i, j) + (*this)(j, i));
}

double gemm_error(std::int64_t terms) { return static_cast<double>(terms + 2) * kEps; }

Symmetric gram_of(const std::vector<double>& rows, std::int64_t count, std::int64_t width) {
  Symmetric gram{count, std::vector<double>(static_cast<std::size_t>(count * count))};
  const Matrix<const double> view(rows.data(), count, width);
  gemm(1.0, view, transpose(view), 0.0, Matrix<double>(gram.entries.data(), count, count));
  gram.make_symmetric();
  return gram;
}

// lambda(A)^2 = lambda(A^2), and lambda(A) <= the root of the sum of squared entries, which is too large by
// at most sqrt(size). So k squarings leave size^(1 / 2^(k + 1)), and each of them adds its rounding.
double largest_eigenvalue(const Symmetric& matrix) {
  constexpr int kMostSquarings = 22;         // 1024^(2^-23) = 1 + 8e-7
  constexpr double kOfRankOne = 1.0 - 1e-8;  // there the root is too large by no more than 1e-8
  Symmetric power = matrix;
  const double error = gemm_error(matrix.size);
  std::vector<double> slack;   // of A_k^2 as computed, before its scaling
  std::vector<int> exponents;  // taken out of A_k
  exponents.push_back(make_unit(power));
  while (slack.size() < kMostSquarings && squares_of(power) < kOfRankOne * power.trace() * power.trace()) {
    slack.push_back(error * squares_of(power) * (1.0 + 1e-9));
    power = squared(power);
    exponents.push_back(make_unit(power));
  }
  double bound = std::sqrt(squares_of(power)) * (1.0 + 1e-9);
  for (std::size_t k = slack.size(); k > 0; --k)
    bound = std::sqrt(std::ldexp(bound, exponents[k]) + slack[k - 1]) * (1.0 + 2 * kEps);
  return std::ldexp(bound, exponents[0]);
}

std::vector<double> leading_diagonal(const Symmetric& matrix, int doublings) {
  Symmetric power = matrix;
  make_unit(power);
  for (int k = 0; k < doublings; ++k) {
    power = squared(power);
    make_unit(power);
  }
  std::vector<double> diagonal;
  const double trace = power.trace();
  for (std::int64_t i = 0; i < power.size; ++i) diagonal.push_back(power(i, i) / trace);
  return diagonal;
}

Factor cholesky(const Symmetric& matrix, double lift) {
  const std::int64_t n = matrix.size;
  Factor factor{{n, std::vector<double>(matrix.entries.size(), 0.0)},
                2.0 * gemm_error(n) * (matrix.trace() + static_cast<double>(n) * lift)};
  Symmetric& l = factor.lower;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = j; i < n; ++i) {
      double sum = matrix(i, j) + (i == j ? lift : 0.0);
      for (std::int64_t k = 0; k < j; ++k) sum -= l(i, k) * l(j, k);
      if (i == j && !(sum > 0)) {
        factor.error = std::numeric_limits<double>::infinity();
        return factor;
      }
      l(i, j) = i == j ? std::sqrt(sum) : sum / l(j, j);
    }
  }
  return factor;
}

// Vectors are sorted by length, so that whole blocks of pairs are known by Cauchy and Schwarz to stay below
// the best product so far. Coordinates are weighed first, p . k = (D p) . (k / D), so that lengths bound more tightly.

namespace {

constexpr std::int64_t kBlock = 512;
constexpr double kRounding = 0x1p-24;  // of one sum in float32

// Longest first.
struct Sorted {
  std::vector<std::int64_t> order;
  std::vector<double> lengths;  // rounded up
  std::vector<float> values;    // [count, groups], weighed
};

Sorted sorted(const Magnitudes& m, const std::vector<float>& weights) {
  std::vector<float> weighed(m.values);
  std::vector<double> lengths(to_size(m.count));
  for (std::int64_t i = 0; i < m.count; ++i) {
    double sum = 0.0;
    for (std::int64_t g = 0; g < m.groups; ++g) {
      float& x = weighed[to_size(i * m.groups + g)];
      x *= weights[to_size(g)];
      sum += static_cast<double>(x) * static_cast<double>(x);
    }
    lengths[to_size(i)] = std::sqrt(sum) * (1.0 + 1e-12);
  }
  Sorted s;
  s.order.resize(to_size(m.count));
  std::iota(s.order.begin(), s.order.end(), 0);
  std::stable_sort(s.order.begin(), s.order.end(),
                   [&](std::int64_t a, std::int64_t b) { return lengths[to_size(a)] > lengths[to_size(b)]; });
  s.values.reserve(weighed.size());
  for (const std::int64_t i : s.order) {
    s.lengths.push_back(lengths[to_size(i)]);
    const auto row = weighed.begin() + i * m.groups;
    s.values.insert(s.values.end(), row, row + m.groups);
  }
  return s;
}

// The square root of the ratio of column means, as a power of two: exact to multiply with.
std::vector<float> weights_of(const Magnitudes& query, const Magnitudes& key) {
  std::vector<double> query_sums(to_size(query.groups), 0.0), key_sums(query_sums);
  const auto add_up = [](const Magnitudes& m, std::vector<double>& sums) {
    for (std::size_t i = 0; i < m.values.size(); ++i)
      sums[i % to_size(m.groups)] += static_cast<double>(m.values[i]);
  };
  add_up(query, query_sums);
  add_up(key, key_sums);
  std::vector<float> weights;
  for (std::size_t g = 0; g < query_sums.size(); ++g) {
    const bool known = query_sums[g] > 0 && key_sums[g] > 0;
    const double ratio = known ? std::clamp(std::log2(key_sums[g] / query_sums[g]), -40.0, 40.0) : 0.0;
    weights.push_back(std::ldexp(1.0f, static_cast<int>(std::lround(0.5 * ratio))));
  }
  return weights;
}

float largest_of(const float* x, std::int64_t count, float largest) {
  constexpr std::int64_t kLanes = 16;
  std::array<float, kLanes> lanes;
  lanes.fill(largest);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::int64_t l = 0; l < kLanes; ++l)
      lanes[to_size(l)] = x[i + l] > lanes[to_size(l)] ? x[i + l] : lanes[to_size(l)];
  for (; i < count; ++i) lanes[0] = std::max(lanes[0], x[i]);
  return *std::max_element(lanes.begin(), lanes.end());
}

}  // namespace

LargestProduct largest_product(const Magnitudes& query, const Magnitudes& key, std::int64_t wanted_queries,
                               const std::function<void(double)>& advance) {
  const std::int64_t groups = query.groups;
  const std::vector<float> weights = weights_of(query, key);
  std::vector<float> inverse(weights);
  for (float& w : inverse) w = 1.0f / w;
  const Sorted q = sorted(query, weights), k = sorted(key, inverse);
  // Relative error of a product of non-negative vectors in float.
  const double error = kRounding * static_cast<double>(groups + 8);
  std::vector<float> products(to_size(kBlock * kBlock)), row_best(to_size(query.count), 0.0f);
  double best = 0.0;
  for (std::int64_t i = 0; i < query.count; i += kBlock) {
    const std::int64_t rows = std::min(kBlock, query.count - i);
    for (std::int64_t j = 0; j < key.count; j += kBlock) {
      const std::int64_t columns = std::min(kBlock, key.count - j);
      if (q.lengths[to_size(i)] * k.lengths[to_size(j)] <= best) break;
      gemm(1.0f, Matrix<const float>(q.values.data() + i * groups, rows, groups),
           transpose(Matrix<const float>(k.values.data() + j * groups, columns, groups)), 0.0f,
           Matrix<float>(products.data(), rows, columns));
      for (std::int64_t r = 0; r < rows; ++r) {
        float& largest = row_best[to_size(i + r)];
        largest = largest_of(products.data() + r * columns, columns, largest);
        best = std::max(best, static_cast<double>(largest));
      }
    }
    advance(static_cast<double>(rows) * static_cast<double>(key.count) * static_cast<double>(groups));
  }
  LargestProduct found{.bound = best * (1.0 + 2.0 * error)};
  std::vector<std::int64_t> places(to_size(query.count));
  std::iota(places.begin(), places.end(), 0);
  const std::int64_t wanted = std::min(wanted_queries, query.count);
  std::partial_sort(places.begin(), places.begin() + wanted, places.end(),
                    [&](std::int64_t a, std::int64_t b) {
                      return std::pair(-row_best[to_size(a)], a) < std::pair(-row_best[to_size(b)], b);
                    });
  for (std::int64_t n = 0; n < wanted; ++n) found.queries.push_back(q.order[to_size(places[to_size(n)])]);
  return found;
}

}  // namespace sharpmax::audit
