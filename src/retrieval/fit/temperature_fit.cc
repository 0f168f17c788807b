#include "retrieval/fit/temperature_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <numbers>
#include <numeric>
#include <set>
#include <vector>

#include "attention/rows/call.h"
#include "base/numbers.h"
#include "base/threads.h"
#include "job/field_values.h"
#include "machine/blas.h"
#include "retrieval/task/task.h"
#include "retrieval/testing/item_kernels.h"
#include "sharpmax/error.h"
#include "sharpmax/survey.h"

namespace sharpmax::retrieval {
namespace {

constexpr double kGridStep = 0.125;     // in log2 beta: losses of a row bend over about an octave
constexpr double kLogTolerance = 1e-6;  // of ln beta

std::vector<double> grid_between(double least, double largest) {
  const double octaves = std::log2(largest / least);
  const int steps = std::max(1, static_cast<int>(std::ceil(octaves / kGridStep)));
  std::vector<double> betas;
  for (int i = 0; i <= steps; ++i) betas.push_back(least * std::exp2(octaves * i / steps));
  betas.back() = largest;
  return betas;
}

bool nearer_to_one(double a, double b) { return std::abs(std::log(a)) < std::abs(std::log(b)); }

}  // namespace

BestTemperature best_temperature(
    double least, double largest,
    const std::function<void(std::span<const double> betas, std::span<double> losses)>& losses) {
  if (!(largest > least)) {
    BestTemperature only{.beta = least};
    losses(std::span(&only.beta, 1), std::span(&only.loss, 1));
    return only;
  }
  const std::vector<double> betas = grid_between(least, largest);
  std::vector<double> found(betas.size());
  losses(betas, found);
  std::size_t best = 0;
  for (std::size_t i = 1; i < betas.size(); ++i)
    if (found[i] < found[best] || (found[i] == found[best] && nearer_to_one(betas[i], betas[best]))) best = i;
  BestTemperature result{betas[best], found[best]};

  const double inverse_golden = 1.0 / std::numbers::phi;
  double low = std::log(betas[best == 0 ? 0 : best - 1]);
  double high = std::log(betas[std::min(best + 1, betas.size() - 1)]);
  const auto loss_at = [&](double log_beta) {
    const double beta = std::clamp(std::exp(log_beta), least, largest);
    double loss = 0.0;
    losses(std::span(&beta, 1), std::span(&loss, 1));
    if (loss < result.loss) result = {beta, loss};
    return loss;
  };
  double left = high - inverse_golden * (high - low), right = low + inverse_golden * (high - low);
  double left_loss = loss_at(left), right_loss = loss_at(right);
  while (high - low > kLogTolerance) {
    if (left_loss <= right_loss) {
      high = right, right = left, right_loss = left_loss;
      left = high - inverse_golden * (high - low);
      left_loss = loss_at(left);
    } else {
      low = left, left = right, left_loss = right_loss;
      right = low + inverse_golden * (high - low);
      right_loss = loss_at(right);
    }
  }
  return result;
}

namespace {

constexpr std::int64_t kFirstFitSet = std::int64_t{1} << 24;  // testing begins at 0 and never comes so far
constexpr double kLargestEntropy = 16.0;         // nats: of nine million equal weights
constexpr double kEntropyTarget = 0.1;           // nats, of the rule that the polynomials are compared with

// One set under softmax at any temperature, in double.
class Trial {
 public:
  Trial(const FoldedHead& head, const Set& set) : head_(head), set_(set) {
    const std::int64_t features = head.item_features;
    features_.assign(to_size(set.size() * (features + 1)), 0.0);
    const auto t = head.query_vector(set.query);
    for (std::int64_t i = 0; i < set.size(); ++i) {
      const std::span<double> row(features_.data() + i * (features + 1), to_size(features + 1));
      fill(row, set.priorities[to_size(i)], set.classes[to_size(i)]);
      double score = 0.0;
      for (std::size_t j = 0; j < row.size(); ++j) score += t[j] * row[j];
      scores_.push_back(score);
      survey_ = merge(survey_, survey_of(score));
    }
  }

  double entropy() const { return survey_.entropy(); }

  // The loss at every beta; `answers` too if it is not empty.
  void losses(std::span<const double> betas, std::span<double> losses,
              std::span<std::int64_t> answers = {}) const {
    const auto rows = static_cast<std::int64_t>(betas.size()), n = set_.size();
    const std::int64_t features = head_.item_features + 1, classes = head_.classes;
    std::vector<double> weights(to_size(rows * n)), pooled(to_size(rows * features));
    std::vector<double> hidden(to_size(rows * head_.width)), logits(to_size(rows * classes));
    for (std::int64_t row = 0; row < rows; ++row) {
      weigh(betas[to_size(row)], {weights.data() + row * n, to_size(n)});
      std::copy(head_.hidden_bias.begin(), head_.hidden_bias.end(), hidden.begin() + row * head_.width);
      std::copy(head_.out_bias.begin(), head_.out_bias.end(), logits.begin() + row * classes);
    }
    gemm(1.0, Matrix<const double>(weights.data(), rows, n),
         Matrix<const double>(features_.data(), n, features), 0.0,
         Matrix<double>(pooled.data(), rows, features));
    const Matrix<double> active(hidden.data(), rows, head_.width);
    gemm(1.0, Matrix<const double>(pooled.data(), rows, features),
         transpose(Matrix<const double>(head_.hidden.data(), head_.width, features)), 1.0, active);
    gelu_in_place(hidden);
    gemm(1.0, active, transpose(Matrix<const double>(head_.out.data(), classes, head_.width)), 1.0,
         Matrix<double>(logits.data(), rows, classes));
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::span<const double> line(logits.data() + row * classes, to_size(classes));
      losses[to_size(row)] = loss_of(line);
      if (!answers.empty()) answers[to_size(row)] = std::max_element(line.begin(), line.end()) - line.begin();
    }
  }

  std::int32_t right_class() const { return set_.classes[to_size(set_.right)]; }

 private:
  void fill(std::span<double> row, double priority, std::int32_t which) const {
    row.back() = 1.0;
    if (head_.encoder == Encoder::linear) {
      row[0] = priority;
      row[1 + to_size(which)] = 1.0;
      return;
    }
    for (std::int64_t j = 0; j < head_.width; ++j)
      row[to_size(j)] =
          head_.item_slope[to_size(j)] * priority + head_.item_offset[to_size(which * head_.width + j)];
    gelu_in_place(row.first(to_size(head_.width)));
  }

  void weigh(double beta, std::span<double> weights) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < weights.size(); ++i)
      sum += weights[i] = std::exp(beta * (scores_[i] - survey_.max));
    for (double& weight : weights) weight /= sum;
  }

  double loss_of(std::span<const double> logits) const {
    Survey survey;
    for (const double logit : logits) survey = merge(survey, survey_of(logit));
    return survey.log_partition() - logits[to_size(right_class())];
  }

  const FoldedHead& head_;
  const Set& set_;
  std::vector<double> features_;  // [item, item_features + 1]
  std::vector<double> scores_;
  Survey survey_;
};

// True if softmax is wrong; then `point` says what would have been best.
bool examine(const FoldedHead& head, const TemperatureFitRequest& request, const Set& set, FitPoint& point) {
  const Trial trial(head, set);
  const double one = 1.0;
  std::int64_t answer = 0;
  trial.losses(std::span(&one, 1), std::span(&point.loss, 1), std::span(&answer, 1));
  if (answer == trial.right_class()) return false;
  point.entropy = trial.entropy();
  const BestTemperature best = best_temperature(
      request.least_beta, request.largest_beta,
      [&](std::span<const double> betas, std::span<double> losses) { trial.losses(betas, losses); });
  point.beta = best.beta;
  trial.losses(std::span(&best.beta, 1), std::span(&point.best_loss, 1), std::span(&answer, 1));
  point.mended = answer == trial.right_class();
  return true;
}

void check_sizes(std::string_view field, const std::vector<std::int64_t>& sizes, std::int64_t largest) {
  const auto refuse = [&](const std::string& rest) {
    throw RequestError(ErrorCode::bad_argument, fmt::format("{} is {}", named(field), rest));
  };
  if (sizes.empty()) refuse("empty; it must have a value");
  for (const std::int64_t n : sizes)
    if (n < 1 || n > largest) refuse(fmt::format("{}; it must be from 1 to {}", n, largest));
  if (std::set(sizes.begin(), sizes.end()).size() != sizes.size())
    refuse(sharpmax::field_text(sizes) + "; its values must differ");
}

void check(const TemperatureFitRequest& request) {
  const auto require = [](bool holds, std::string_view field, auto found, std::string_view allowed) {
    if (!holds)
      throw RequestError(ErrorCode::bad_argument, fmt::format("{} is {}; it must be {}", named(field), found, allowed));
  };
  check_sizes("sizes", request.sizes, kLargestFitSize);
  require(request.sets >= 1, "sets", request.sets, "at least 1");
  require(request.least_beta > 0.0 && request.least_beta <= 1.0, "least_beta", request.least_beta,
          "above 0 and at most 1");
  require(request.largest_beta >= 1.0 && std::isfinite(request.largest_beta), "largest_beta", request.largest_beta,
          "a finite number of at least 1");
  require(request.degree >= 0 && request.degree <= kLargestFitDegree, "degree", request.degree,
          fmt::format("from 0 to {}", kLargestFitDegree));
  require(request.bins >= 1, "bins", request.bins, "at least 1");
}

void check_comparison(const TemperatureFitRequest& request) {
  if (request.comparison_sets > 0) check_sizes("test_sizes", request.comparison_sizes, kLargestTestSize);
}

void require_enough(const TemperatureFit& result, const TemperatureFitRequest& request) {
  const auto found = static_cast<std::int64_t>(result.points.size());
  const std::int64_t wanted = kPointsPerCoefficient * (request.degree + 1);
  if (found >= wanted) return;
  const auto sets = request.sets * static_cast<std::int64_t>(request.sizes.size());
  throw Error(
      ErrorCode::unsupported,
      fmt::format("of {} sets softmax gets {} wrong{}; a polynomial of degree {} needs at least {} to be fitted to: take "
                  "larger sets, more of them, or a lower degree",
                  sets, found, request.use == FitSets::mended ? " that another temperature gets right" : "", request.degree,
                  wanted));
}

void compare(const Head& head, const TemperatureFitRequest& request, const Execution& execution, TemperatureFit& result) {
  const std::vector<AnyNormalizer> rules = {Softmax{}, Adaptive{},
                                            Adaptive{.polynomial = result.fit.polynomial},
                                            EntropyTarget{.nats = kEntropyTarget}};
  if (request.comparison_sets <= 0) return;
  const auto& sizes = request.comparison_sizes;
  const std::int64_t items =
      request.comparison_sets * std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  std::int64_t done = 0;
  for (const std::int64_t n : sizes) {
    const auto tell = [&](double sets_done) {
      const double items_done = sets_done * static_cast<double>(n);
      if (request.comparison_progress) request.comparison_progress(done + static_cast<std::int64_t>(items_done), items);
    };
    result.comparison.push_back(evaluate(
        head, {.n = n, .sets = request.comparison_sets, .normalizers = rules, .progress = tell}, execution));
    done += n * request.comparison_sets;
  }
}

double rms_residual(std::span<const FitPoint> points, std::span<const double> polynomial) {
  double squares = 0.0;
  for (const FitPoint& p : points) squares += std::pow(p.beta - value_of(polynomial, p.entropy), 2);
  return std::sqrt(squares / static_cast<double>(points.size()));
}

}  // namespace

std::vector<FitPoint> best_temperatures(const Head& head, const TemperatureFitRequest& request,
                                        std::vector<FitCount>& counts, const Execution& execution) {
  check(request);
  choose_target();
  const int threads = threads_for(execution.threads);
  const SerialBlas serial;
  const FoldedHead folded(head);
  const std::int64_t total = request.sets * static_cast<std::int64_t>(request.sizes.size());
  std::vector<FitPoint> all(to_size(total));
  std::vector<std::uint8_t> wrong(to_size(total), 0);
  std::mutex mutex;
  std::int64_t done = 0;
  const std::int64_t items =
      request.sets * std::accumulate(request.sizes.begin(), request.sizes.end(), std::int64_t{0});
  parallel_for(threads, total, [&](std::int64_t task, int) {
    FitPoint& point = all[to_size(task)];
    point.n = request.sizes[to_size(task / request.sets)];
    point.set = kFirstFitSet + task % request.sets;
    Set set;
    draw_test_set(head.seed, folded.classes, point.n, point.set, set);
    wrong[to_size(task)] = examine(folded, request, set, point);
    if (!request.progress) return;
    const std::lock_guard lock(mutex);
    request.progress(done += point.n, items);
  });
  std::vector<FitPoint> points;
  counts.clear();
  for (std::int64_t task = 0; task < total; ++task) {
    if (task % request.sets == 0)
      counts.push_back({.n = request.sizes[to_size(task / request.sets)], .sets = request.sets});
    if (wrong[to_size(task)] == 0) continue;
    counts.back().wrong += 1;
    counts.back().mended += all[to_size(task)].mended;
    points.push_back(all[to_size(task)]);
  }
  return points;
}

TemperatureFit fit_temperature(const Head& head, const TemperatureFitRequest& request, const Execution& execution) {
  check_comparison(request);
  TemperatureFit result{.published = Adaptive{}.polynomial, .looked_at = {0.0, kLargestEntropy}};
  result.points = best_temperatures(head, request, result.counts, execution);
  if (request.use == FitSets::mended)
    std::erase_if(result.points, [](const FitPoint& p) { return !p.mended; });
  for (const FitPoint& point : result.points) {
    result.at_least_beta += point.beta == request.least_beta;
    result.at_largest_beta += point.beta == request.largest_beta;
  }
  require_enough(result, request);
  result.fit = fit_polynomial(result.points, request.degree, request.bins, request.rounding);
  result.published_rms_residual = rms_residual(result.points, result.published);
  result.sharpens = where_above_one(result.fit.polynomial, result.looked_at);
  result.published_sharpens = where_above_one(result.published, result.looked_at);
  compare(head, request, execution, result);
  return result;
}

}  // namespace sharpmax::retrieval
