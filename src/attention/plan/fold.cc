#include "sharpmax/fold.h"

#include <algorithm>

namespace sharpmax {

void merge(Fold& into, const Fold& from) noexcept {
  if (from.survey.empty()) return;
  if (into.survey.empty()) {
    into.survey = from.survey;
    std::copy(from.sum.begin(), from.sum.end(), into.sum.begin());
    return;
  }
  const Survey joined = merge(into.survey, from.survey);
  // One of the factors is 1. A poisoned survey makes NaN of the sum too.
  const auto mine = static_cast<float>(std::exp(into.survey.max - joined.max));
  const auto other = static_cast<float>(std::exp(from.survey.max - joined.max));
  for (std::size_t i = 0; i < into.sum.size(); ++i) into.sum[i] = into.sum[i] * mine + from.sum[i] * other;
  into.survey = joined;
}

}  // namespace sharpmax
