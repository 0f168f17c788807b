#include "machine/blas.h"

#include <cblas.h>
#include <omp.h>

#include <mutex>

namespace sharpmax {
namespace {

CBLAS_TRANSPOSE order_of(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }
blasint count(std::int64_t n) { return static_cast<blasint>(n); }

// OpenBLAS built on OpenMP asks the calling thread's OpenMP how many threads it may use, so saying 1 there is
// enough and concerns no other thread. Built on its own threads it has one number for the whole process.
bool has_threads_of_its_own() { return openblas_get_parallel() == OPENBLAS_THREAD; }

std::mutex own_threads_mutex;
int serial_users = 0;
int own_threads = 1;

}  // namespace

void gemm(float alpha, Matrix<const float> a, Matrix<const float> b, float beta, Matrix<float> c) {
  if (c.rows == 0 || c.columns == 0) return;
  cblas_sgemm(CblasRowMajor, order_of(a.transposed), order_of(b.transposed), count(c.rows), count(c.columns),
              count(a.columns), alpha, a.data, count(a.stride), b.data, count(b.stride), beta, c.data,
              count(c.stride));
}

void gemm(double alpha, Matrix<const double> a, Matrix<const double> b, double beta, Matrix<double> c) {
  if (c.rows == 0 || c.columns == 0) return;
  cblas_dgemm(CblasRowMajor, order_of(a.transposed), order_of(b.transposed), count(c.rows), count(c.columns),
              count(a.columns), alpha, a.data, count(a.stride), b.data, count(b.stride), beta, c.data,
              count(c.stride));
}

std::string blas_description() {
  std::string text = openblas_get_config();
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

SerialBlas::SerialBlas() : threads_(omp_get_max_threads()) {
  omp_set_num_threads(1);
  if (!has_threads_of_its_own()) return;
  const std::lock_guard lock(own_threads_mutex);
  if (serial_users++ == 0) {
    own_threads = openblas_get_num_threads();
    openblas_set_num_threads(1);
  }
}

SerialBlas::~SerialBlas() {
  omp_set_num_threads(threads_);
  if (!has_threads_of_its_own()) return;
  const std::lock_guard lock(own_threads_mutex);
  if (--serial_users == 0) openblas_set_num_threads(own_threads);
}

}  // namespace sharpmax
