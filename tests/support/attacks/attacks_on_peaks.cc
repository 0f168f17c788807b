#include <algorithm>
#include <cmath>

#include "normalizer/definition.h"
#include "support/attacks/attack.h"
#include "theory/peak_range.h"

namespace sharpmax::theory {
namespace {

using Place = std::vector<double>;

// The row's largest share, and whether it has one first place.
struct RowPeak {
  double share = kNoValue;
  bool untied = true;
};

RowPeak peak_at(const AnyNormalizer& normalizer, const ScoreInterval& interval, const Place& place) {
  std::vector<double> scores, weights(place.size());
  for (const double x : place) scores.push_back(interval.bottom + x * interval.spread());
  weigh_row(normalizer, 0, scores, weights);
  double mass = 0.0;
  for (const double w : weights) mass += w;
  const double top = *std::max_element(scores.begin(), scores.end());
  return {mass > 0.0 ? *std::max_element(weights.begin(), weights.end()) / mass : kNoValue,
          std::count(scores.begin(), scores.end(), top) == 1};
}

// Stick-breaking's bluntest row: every key takes as much of the stick as the newest, with the lowest score,
// does.
Place even_stick(const ScoreInterval& interval, std::size_t keys) {
  Place place;
  const double each = 1.0 / (1.0 + std::exp(-interval.bottom));
  for (std::size_t age = 0; age < keys; ++age) {
    const double fraction = each / std::max(1e-300, 1.0 - static_cast<double>(age) * each);
    const double score = fraction < 1.0 ? -std::log(1.0 / fraction - 1.0) : interval.top;
    place.push_back(std::clamp((score - interval.bottom) / interval.spread(), 0.0, 1.0));
  }
  std::reverse(place.begin(), place.end());  // the newest is the last
  return place;
}

}  // namespace

std::vector<Attack> attacks_on_peaks() {
  std::vector<Attack> all;
  const ScoreInterval interval = centred(kAttackedSpread);
  constexpr auto kKeys = static_cast<std::size_t>(kAttackedKeys);
  for (const NormalizerInfo& member : family()) {
    if (member.needs_queries_and_keys) continue;
    const AnyNormalizer normalizer(member.name);
    const PeakRange range = peak_range(normalizer, kAttackedKeys, interval);
    const std::string name(member.name);
    all.push_back({"largest peak of " + name, "peak range", true, kKeys, [=](const Place& place) {
                     const double share = peak_at(normalizer, interval, place).share;
                     return std::isnan(share) ? 0.0 : share / range.share.high;
                   }});
    all.back().hints = {Place(kKeys, 0.0)};
    all.back().hints[0].back() = 1.0;  // one winner, the newest, above equal others
    all.push_back({"least peak of " + name, "peak range", true, kKeys, [=](const Place& place) {
                     const RowPeak peak = peak_at(normalizer, interval, place);
                     if (std::isnan(peak.share)) return 0.0;
                     return (peak.untied ? range.untied_low : range.share.low) / peak.share;
                   }});
    if (name == "stick_breaking") all.back().hints = {even_stick(interval, kKeys)};
  }
  return all;
}

}  // namespace sharpmax::theory
