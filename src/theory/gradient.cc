#include "theory/gradient.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "theory/arguments.h"
#include "theory/dispersion.h"

namespace sharpmax::theory {

double published_gradient_bound(double temperature) {
  require("temperature", temperature, kPositive);
  return std::min(0.25 / temperature, std::numbers::sqrt2);
}

double jacobian_norm_bound(double temperature) {
  require("temperature", temperature, kPositive);
  return 0.5 / temperature;
}

double jacobian_entry_bound(double temperature) {
  require("temperature", temperature, kPositive);
  return 0.25 / temperature;
}

double jacobian_norm_bound(double temperature, std::span<const double> weights) {
  require("temperature", temperature, kPositive);
  require_distribution(weights);
  double disk = 0.0, peak = 0.0;
  for (const double w : weights) {
    disk = std::max(disk, 2.0 * w * (1.0 - w));
    peak = std::max(peak, w);
  }
  return std::min(disk, peak) / temperature;
}

double dispersed_jacobian_norm_bound(double temperature, double spread, double n) {
  require("temperature", temperature, kPositive);
  const double peak = dispersion_range(spread, n, 1.0 / temperature).high;
  return std::min(0.5, peak) / temperature;
}

double difference_bound(double temperature, double epsilon) {
  require("temperature", temperature, kPositive);
  require("epsilon", epsilon, kPositive);
  return std::min(0.5 / temperature, std::numbers::sqrt2 / epsilon);
}

}  // namespace sharpmax::theory
