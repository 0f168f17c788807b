#include "theory/peak_lost.h"

#include <algorithm>
#include <cmath>

#include "theory/arguments.h"

namespace sharpmax::theory {
namespace {

constexpr double kEveryNumberUpTo = 16.0;

// The least n in (from, ...) at which holds(n), found on a grid and then by bisection; nothing: nowhere.
template <class Holds>
std::optional<double> first_at(double from, double factor, const Holds& holds) {
  double before = from;
  for (double n = from + 1.0; n <= kMostKeys;) {
    if (holds(n)) {
      double low = before, high = n;
      while (high - low > 1.0) {
        const double middle = std::floor(low + 0.5 * (high - low));
        if (!(middle > low && middle < high)) break;
        (holds(middle) ? high : low) = middle;
      }
      return high;
    }
    before = n;
    n = n < kEveryNumberUpTo ? n + 1.0 : std::floor(n * factor);
  }
  return std::nullopt;
}

}  // namespace

PeakLoss peak_loss(const AnyNormalizer& normalizer, double peak, const ScoreInterval& scores,
                   std::size_t head) {
  require("peak", peak, kShare);
  const bool searched = peak_range(normalizer, 2.0, scores, head).knowledge == Knowledge::search;
  const double factor = searched ? 4.0 : 1.5;
  // A share that no row has (not a number) is below any peak.
  const auto reachable = [&](double n) { return peak_range(normalizer, n, scores, head).share.high >= peak; };
  PeakLoss loss;
  loss.lost = first_at(0.0, factor, [&](double n) { return !reachable(n); });
  if (loss.lost) loss.regained = first_at(*loss.lost, factor, reachable);
  const auto unsure = first_at(
      0.0, factor, [&](double n) { return !(peak_range(normalizer, n, scores, head).untied_low >= peak); });
  if (unsure) loss.sure = *unsure - 1.0;
  return loss;
}

}  // namespace sharpmax::theory
