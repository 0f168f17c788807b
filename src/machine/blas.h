// Matrix products by OpenBLAS, on the calling thread alone: work is cut over sets and heads, never within a
// product, so that sums are in the same order for any number of threads.
#pragma once

#include <cstdint>
#include <string>

namespace sharpmax {

// Row-major memory of the caller's. `transposed` says that memory holds the columns of what is meant.
template <class T>
struct Matrix {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stride = 0;  // elements from one line of memory to the next
  bool transposed = false;

  Matrix() = default;
  Matrix(T* memory, std::int64_t row_count, std::int64_t column_count)
      : Matrix(memory, row_count, column_count, column_count) {}
  Matrix(T* memory, std::int64_t row_count, std::int64_t column_count, std::int64_t line)
      : data(memory), rows(row_count), columns(column_count), stride(line) {}
  // A view of mutable elements serves as a view of constant ones.
  operator Matrix<const T>() const {
    Matrix<const T> same(data, rows, columns, stride);
    same.transposed = transposed;
    return same;
  }
};

template <class T>
Matrix<T> transpose(Matrix<T> a) {
  Matrix<T> t(a.data, a.columns, a.rows, a.stride);
  t.transposed = !a.transposed;
  return t;
}

// c = alpha a b + beta c; c is not transposed and overlaps neither. Shapes are the caller's to get right.
// With beta = 0 what c held does not matter, NaN included.
void gemm(float alpha, Matrix<const float> a, Matrix<const float> b, float beta, Matrix<float> c);
void gemm(double alpha, Matrix<const double> a, Matrix<const double> b, double beta, Matrix<double> c);

// Description of the library: version, threads, kernels.
std::string blas_description();

// While one lives, products asked for by this thread, and by teams that it starts, run on the thread that
// asks. OpenMP's default number of threads is 1 meanwhile: call threads_for() before.
class SerialBlas {
 public:
  SerialBlas();
  ~SerialBlas();
  SerialBlas(const SerialBlas&) = delete;
  SerialBlas& operator=(const SerialBlas&) = delete;

 private:
  int threads_;  // of OpenMP, before
};

}  // namespace sharpmax
