// One thing that `sharpmax bench` times: a shape, a direction, a normalizer, and its arrays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sharpmax/attention.h"

namespace sharpmax::cli {

enum class Direction { forward, backward, decode };
const char* name_of(Direction direction) noexcept;

struct BenchShape {
  Direction direction = Direction::forward;
  std::int64_t keys = 0;
  std::int64_t features = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  bool causal = false;
  int threads = 1;

  std::int64_t queries() const noexcept { return direction == Direction::decode ? 1 : keys; }
  // Pairs of query and key that see each other, over all heads.
  double pairs() const noexcept;
  // Useful operations: two products forward, five backward; what is computed again does not count.
  double operations() const noexcept;
  // What decode must read at least: keys and values, once.
  double bytes() const noexcept;
};

class BenchCase {
 public:
  BenchCase(const BenchShape& shape, const AnyNormalizer& normalizer);

  const BenchShape& shape() const noexcept { return shape_; }
  const AnyNormalizer& normalizer() const noexcept { return normalizer_; }
  void run();  // once
  // Worst error of a few sampled rows against the oracle, over what float arithmetic may cost: at most
  // 1 is right. Runs the case once more.
  double error_over_bound();

 private:
  struct Sample;
  struct Errors {
    double ours = 0.0, allowed = 0.0;
  };
  void run_backward(const std::vector<float>& d_out);
  Sample oracle(std::int64_t head, std::int64_t query, double beta) const;
  Errors forward_check(std::int64_t head, std::int64_t query) const;
  double error_of_plain_float(const Sample& sample, const AnyNormalizer& normalizer) const;
  double backward_check(const std::vector<std::pair<std::int64_t, std::int64_t>>& rows);

  BenchShape shape_;
  AnyNormalizer normalizer_;
  std::vector<float> query_, key_, value_, out_, d_out_, d_query_, d_key_, d_value_;
  AttentionRequest request_;
  std::vector<double> temperature_;  // [query_head, query], of the checked run
};

}  // namespace sharpmax::cli
