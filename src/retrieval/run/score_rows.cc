#include "retrieval/run/score_rows.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace sharpmax::retrieval {

std::vector<double> even_quantiles(std::vector<double> scores, std::size_t count) {
  std::sort(scores.begin(), scores.end());
  if (scores.size() <= count) return scores;
  std::vector<double> quantiles(count);
  const double step = static_cast<double>(scores.size() - 1) / static_cast<double>(count - 1);
  for (std::size_t i = 0; i < count; ++i) {
    const double place = static_cast<double>(i) * step;
    const auto below = std::min(static_cast<std::size_t>(place), scores.size() - 1);
    const auto above = std::min(below + 1, scores.size() - 1);
    quantiles[i] = std::lerp(scores[below], scores[above], place - static_cast<double>(below));
  }
  quantiles.back() = scores.back();  // whatever the rounding of its place
  return quantiles;
}

std::vector<ScoreRow> score_rows(std::span<const TestedHead> heads, const TestSettings& test) {
  std::vector<ScoreRow> rows;
  if (test.sizes.empty()) return rows;
  const std::int64_t n = *std::max_element(test.sizes.begin(), test.sizes.end());
  std::set<std::string> seen;
  for (const TestedHead& tested : heads) {
    const Head& head = tested.head;
    if (!seen.insert(head.arm).second) continue;
    rows.push_back({.arm = head.arm,
                    .seed = head.seed,
                    .n = n,
                    .quantiles = even_quantiles(scores_of_test_set(head, n, 0), kQuantiles)});
  }
  return rows;
}

}  // namespace sharpmax::retrieval
