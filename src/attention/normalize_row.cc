// normalize() and normalize_backward() of one row, as spans.
#include "attention/validate_parts.h"
#include "sharpmax/attention.h"

namespace sharpmax {
namespace {

template <class T>
TensorView<T, 4> row_view(std::span<T> row) {
  return {row.data(), {1, 1, 1, static_cast<std::int64_t>(row.size())}};
}

constexpr Execution kOneThread{.threads = 1};  // one row is one task

template <class T>
std::vector<T> normalized(std::span<const T> scores, const AnyNormalizer& normalizer) {
  std::vector<T> weights(scores.size());
  normalize(scores, normalizer, std::span<T>(weights));
  return weights;
}

template <class T>
void write_gradient(std::span<const T> scores, const AnyNormalizer& normalizer, std::span<const T> d_weights,
                    std::span<T> d_scores) {
  const TensorView<const T, 4> row = row_view(scores);
  const TensorView<T, 4> gradient = row_view(d_scores);
  // The tensor door takes an empty view as "not wanted"; an empty span is a mistake.
  check_shape(named("normalize_backward", "d_scores", gradient), row.shape, "as scores");
  normalize_backward(row, normalizer, row_view(d_weights), gradient, {}, kOneThread);
}

template <class T>
std::vector<T> gradient_of(std::span<const T> scores, const AnyNormalizer& normalizer,
                           std::span<const T> d_weights) {
  std::vector<T> d_scores(scores.size());
  normalize_backward(scores, normalizer, d_weights, std::span<T>(d_scores));
  return d_scores;
}

}  // namespace

void normalize(std::span<const float> scores, const AnyNormalizer& normalizer, std::span<float> weights) {
  normalize(row_view(scores), normalizer, row_view(weights), nullptr, kOneThread);
}
void normalize(std::span<const double> scores, const AnyNormalizer& normalizer, std::span<double> weights) {
  normalize(row_view(scores), normalizer, row_view(weights), nullptr, kOneThread);
}
std::vector<float> normalize(std::span<const float> scores, const AnyNormalizer& normalizer) {
  return normalized(scores, normalizer);
}
std::vector<double> normalize(std::span<const double> scores, const AnyNormalizer& normalizer) {
  return normalized(scores, normalizer);
}

void normalize_backward(std::span<const float> scores, const AnyNormalizer& normalizer,
                        std::span<const float> d_weights, std::span<float> d_scores) {
  write_gradient(scores, normalizer, d_weights, d_scores);
}
void normalize_backward(std::span<const double> scores, const AnyNormalizer& normalizer,
                        std::span<const double> d_weights, std::span<double> d_scores) {
  write_gradient(scores, normalizer, d_weights, d_scores);
}
std::vector<float> normalize_backward(std::span<const float> scores, const AnyNormalizer& normalizer,
                                      std::span<const float> d_weights) {
  return gradient_of(scores, normalizer, d_weights);
}
std::vector<double> normalize_backward(std::span<const double> scores, const AnyNormalizer& normalizer,
                                       std::span<const double> d_weights) {
  return gradient_of(scores, normalizer, d_weights);
}

}  // namespace sharpmax
