#include "theory/dispersion.h"

#include <fmt/format.h>

#include <cmath>

#include "sharpmax/error.h"

namespace sharpmax::theory {
namespace {

void check(double spread, double n, double beta) {
  if (!(spread >= 0) || !std::isfinite(spread))
    throw Error(ErrorCode::bad_argument, fmt::format("spread {} must be 0 or more, and finite", spread));
  if (!(n >= 1) || !std::isfinite(n))
    throw Error(ErrorCode::bad_argument, fmt::format("n = {} must be 1 or more, and finite", n));
  if (!(beta > 0) || !std::isfinite(beta))
    throw Error(ErrorCode::bad_argument, fmt::format("beta {} must be above 0, and finite", beta));
}

}  // namespace

Range dispersion_bound(double spread, double n, double beta) {
  check(spread, n, beta);
  return {std::exp(-beta * spread) / n, std::exp(beta * spread) / n};
}

}  // namespace sharpmax::theory
