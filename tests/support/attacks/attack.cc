#include "support/attacks/attack.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace sharpmax::theory {
namespace {

constexpr double kLastStep = 1e-6;
constexpr int kMostRounds = 300;  // along a ridge a climb may creep for ever

using Place = std::vector<double>;

double climb(Place place, const Attack& attack) {
  double best = attack.ratio(place);
  double step = 0.5;
  for (int round = 0; round < kMostRounds && step > kLastStep; ++round) {
    bool rose = false;
    for (double& x : place) {
      for (const double side : {-step, step}) {
        const double before = x;
        x = std::clamp(before + side, 0.0, 1.0);
        const double found = attack.ratio(place);
        if (found > best) {
          best = found;
          rose = true;
        } else {
          x = before;
        }
      }
    }
    if (!rose) step *= 0.5;
  }
  return best;
}

// Anywhere, a corner, or all coordinates equal: extremes like the last two.
Place start_of(const Attack& attack, std::uint64_t seed, int start) {
  const CounterRandom random(seed, static_cast<std::uint64_t>(start));
  Place place(attack.dimensions);
  for (std::size_t k = 0; k < place.size(); ++k) {
    const double x = random.bits(start % 3 == 2 ? 0 : k)[0] * 0x1p-32;
    place[k] = start % 3 == 1 ? std::round(x) : x;
  }
  return place;
}

}  // namespace

double reached(const Attack& attack, std::uint64_t seed, int starts) {
  double best = 0.0;
  for (const Place& hint : attack.hints) best = std::max(best, climb(hint, attack));
  for (int start = 0; start < starts; ++start)
    best = std::max(best, climb(start_of(attack, seed, start), attack));
  return best;
}

std::vector<Attack> attacks() {
  std::vector<Attack> all = attacks_on_rows();
  for (auto part : {attacks_on_peaks(), attacks_on_selection(), attacks_on_gradients()})
    for (Attack& attack : part) all.push_back(std::move(attack));
  return all;
}

}  // namespace sharpmax::theory
