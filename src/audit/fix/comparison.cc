#include "audit/fix/comparison.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <limits>

#include "sharpmax/error.h"
#include "statistics/significance.h"

namespace sharpmax::audit {
namespace {

constexpr std::int64_t kFirstEdge = 128, kEdgeFactor = 4;  // as `sharpmax perplexity` cuts them

LossChange change_between(const Outcome& plain, const Outcome& rule, std::int64_t from, std::int64_t to) {
  LossChange change{.from = from, .to = to};
  double sum_plain = 0, sum_rule = 0;
  std::vector<double> differences;
  for (std::size_t i = 0; i < plain.runs.size(); ++i) {
    const TextRun& run = plain.runs[i];
    if (run.from < from || run.from >= to) continue;
    sum_plain += run.loss;
    sum_rule += rule.runs[i].loss;
    change.tokens += run.tokens;
    differences.push_back((rule.runs[i].loss - run.loss) / static_cast<double>(run.tokens));
  }
  if (change.tokens == 0) return change;
  const auto tokens = static_cast<double>(change.tokens);
  change.plain = sum_plain / tokens;
  change.change = (sum_rule - sum_plain) / tokens;
  // A run at a chunk's end may be short; the interval is laid round the mean over tokens.
  const Interval interval = mean_interval(differences);
  const double middle = mean_of(differences);
  change.low = change.change + (interval.low - middle);
  change.high = change.change + (interval.high - middle);
  return change;
}

Flips flips_between(const std::vector<bool>& plain, const std::vector<bool>& rule) {
  Flips flips{.questions = static_cast<std::int64_t>(plain.size())};
  for (std::size_t i = 0; i < plain.size(); ++i) {
    flips.plain += plain[i];
    flips.rule += rule[i];
    flips.up += !plain[i] && rule[i];
    flips.down += plain[i] && !rule[i];
  }
  flips.p = sign_test(flips.up, flips.down);
  return flips;
}

void check(const Outcome& plain, const Outcome& rule) {
  bool same = plain.runs.size() == rule.runs.size() && plain.right.size() == rule.right.size();
  for (std::size_t i = 0; same && i < plain.runs.size(); ++i)
    same = plain.runs[i].from == rule.runs[i].from && plain.runs[i].tokens == rule.runs[i].tokens;
  for (std::size_t i = 0; same && i < plain.right.size(); ++i)
    same = plain.right[i].size() == rule.right[i].size();
  if (!same) throw Error(ErrorCode::bad_argument, "two outcomes are not of the same text and questions");
}

}  // namespace

double sign_test(std::int64_t up, std::int64_t down) {
  if (up == down) return 1.0;  // none included
  const boost::math::binomial coin(static_cast<double>(up + down), 0.5);
  return std::min(1.0, 2.0 * boost::math::cdf(coin, static_cast<double>(std::min(up, down))));
}

Comparison compare(const Outcome& plain, const Outcome& rule) {
  check(plain, rule);
  Comparison comparison;
  std::int64_t longest = 0;
  for (const TextRun& run : plain.runs) longest = std::max(longest, run.from + run.tokens);
  comparison.text = change_between(plain, rule, 0, longest + 1);
  for (std::int64_t from = 0, to = kFirstEdge; from < longest; from = to, to *= kEdgeFactor) {
    const LossChange change = change_between(plain, rule, from, to);
    if (change.tokens > 0) comparison.buckets.push_back(change);
  }
  std::vector<bool> all_plain, all_rule;
  for (std::size_t i = 0; i < plain.right.size(); ++i) {
    comparison.tasks.push_back(flips_between(plain.right[i], rule.right[i]));
    all_plain.insert(all_plain.end(), plain.right[i].begin(), plain.right[i].end());
    all_rule.insert(all_rule.end(), rule.right[i].begin(), rule.right[i].end());
  }
  comparison.task = flips_between(all_plain, all_rule);
  return comparison;
}

}  // namespace sharpmax::audit
