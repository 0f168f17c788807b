#include "retrieval/run/score_rows.h"

#include <algorithm>
#include <set>
#include <utility>

#include "statistics/significance.h"

namespace sharpmax::retrieval {

std::vector<double> even_quantiles(std::vector<double> scores, std::size_t count) {
  if (scores.size() > count) return quantiles_of(std::move(scores), count);
  std::sort(scores.begin(), scores.end());
  return scores;
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
