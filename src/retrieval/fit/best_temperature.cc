#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "retrieval/fit/temperature_fit.h"

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

}  // namespace sharpmax::retrieval
