#include "audit/certificate/spectrum.h"

#include <cmath>
#include <limits>

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

}  // namespace sharpmax::audit
