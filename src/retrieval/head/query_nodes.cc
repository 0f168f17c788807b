#include "retrieval/head/query_nodes.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sharpmax::retrieval {
namespace {

// The poles of 1 / (1 + exp(-u(x))) are where u = i pi (2k + 1); of all of them these are nearest to the real
// line: x = +-0.634 +- 2.755 i.
constexpr double kGeluStrip = 2.75;
// For M and 1 / (rho - 1), which the rate alone leaves out; tests/laws/query_nodes_laws.cc prints what is
// left.
constexpr std::int64_t kSpareNodes = 5;

constexpr double kMoreThanAnyBatch = 0x1p40;

double angle_of(std::int64_t k, std::int64_t r) {
  return std::numbers::pi * static_cast<double>(2 * k + 1) / static_cast<double>(2 * r);
}

}  // namespace

std::int64_t nodes_needed(double largest_slope, double unit_roundoff) {
  // [0, 1] is half as long as [-1, 1], so the ellipse's semi-minor axis is (rho - 1 / rho) / 4.
  const double half_minor = 2.0 * kGeluStrip / std::max(largest_slope, 1e-3);
  const double rho = half_minor + std::sqrt(half_minor * half_minor + 1.0);
  const double nodes =
      std::ceil(-std::log(unit_roundoff) / std::log(rho));  // without bound as the slope grows
  return static_cast<std::int64_t>(std::min(nodes, kMoreThanAnyBatch)) + kSpareNodes;
}

std::vector<double> chebyshev_nodes(std::int64_t r) {
  std::vector<double> nodes;
  for (std::int64_t k = 0; k < r; ++k) nodes.push_back(0.5 + 0.5 * std::cos(angle_of(k, r)));
  return nodes;
}

// The barycentric formula, stable for any r.
void interpolate_at(std::span<const double> nodes, double y, std::span<double> coefficients) {
  const auto r = static_cast<std::int64_t>(nodes.size());
  double sum = 0.0;
  for (std::int64_t k = 0; k < r; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const double distance = y - nodes[at];
    if (distance == 0.0) {
      std::fill(coefficients.begin(), coefficients.end(), 0.0);
      coefficients[at] = 1.0;
      return;
    }
    coefficients[at] = (k % 2 == 0 ? 1.0 : -1.0) * std::sin(angle_of(k, r)) / distance;
    sum += coefficients[at];
  }
  for (double& c : coefficients) c /= sum;
}

}  // namespace sharpmax::retrieval
