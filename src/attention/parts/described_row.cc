#include "attention/parts/described_row.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sharpmax {
namespace {

constexpr double kNoLeast = std::numeric_limits<double>::infinity();
constexpr double kNoPeak = -std::numeric_limits<double>::infinity();

}  // namespace

DetailWishes::DetailWishes(const RowStatistics& s)
    : any(s.score_spread.present() || s.first_weight.present() || s.peak_key.present() || s.support.present() ||
          s.top_keys.present() || s.gap_counts.present() || s.column_mass.present()),
      peak(s.peak_weight.present()),
      top(s.top_keys.present() ? static_cast<std::size_t>(s.top_keys.shape[3]) : 0),
      gaps(s.gap_counts.present() ? s.gaps : std::span<const double>()) {}

DescribedRow::DescribedRow(const SplitRow& row, const DetailWishes& wishes) : row_(row), wishes_(wishes) {
  details_.gap_counts.assign(wishes.gaps.size(), 0);
  const double top = row.outcome().top;
  done_ = !std::isfinite(top) || !(wishes.any || (wishes.peak && std::isnan(row.outcome().peak_weight)));
  if (std::isnan(top)) details_.score_spread = details_.first_weight = details_.peak_weight = top;
}

void DescribedRow::visit(const ShareScores& share, std::span<const double> weights, std::vector<double>& numbers) const {
  const double mass = row_.outcome().mass;
  numbers.assign(keys_at(), 0.0);
  numbers[kLeast] = kNoLeast;
  numbers[kPeak] = kNoPeak;
  numbers[kPeakKey] = -1.0;
  if (share.first_key == 0 && !weights.empty()) numbers[kFirst] = weights[0];
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double score = share.scores[i];
    if (std::isinf(score)) continue;
    numbers[kLeast] = std::min(numbers[kLeast], score);
    const double part = mass == 0.0 ? 0.0 : weights[i] / mass;
    numbers[kSupport] += part > 0.0 ? 1.0 : 0.0;
    if (!(part > numbers[kPeak])) continue;
    numbers[kPeak] = part;
    numbers[kPeakKey] = static_cast<double>(share.first_key + static_cast<std::int64_t>(i));
  }
  count_gaps(share, std::span(numbers).subspan(kCounts));
  put_keys(heaviest_keys(weights, share, wishes_.top), numbers);
}

void DescribedRow::count_gaps(const ShareScores& share, std::span<double> counts) const {
  if (counts.empty()) return;
  const double top = row_.outcome().top;
  for (const double score : share.scores) {
    const auto within = std::lower_bound(wishes_.gaps.begin(), wishes_.gaps.end(), top - score);
    if (within != wishes_.gaps.end()) counts[static_cast<std::size_t>(within - wishes_.gaps.begin())] += 1.0;
  }
  for (std::size_t i = 1; i < counts.size(); ++i) counts[i] += counts[i - 1];
}

void DescribedRow::merge(SharePart& into, const SharePart& from) const {
  std::vector<double>& a = into.numbers;
  const std::vector<double>& b = from.numbers;
  const std::vector<ScoredKey> top = merged_keys(keys_in(std::span(a).subspan(keys_at())),
                                                 keys_in(std::span(b).subspan(keys_at())), wishes_.top);
  a[kLeast] = std::min(a[kLeast], b[kLeast]);
  a[kFirst] += b[kFirst];  // one of them has key 0
  a[kSupport] += b[kSupport];
  if (b[kPeak] > a[kPeak]) {
    a[kPeak] = b[kPeak];
    a[kPeakKey] = b[kPeakKey];
  }
  for (std::size_t i = kCounts; i < keys_at(); ++i) a[i] += b[i];
  a.resize(keys_at());
  put_keys(top, a);
}

void DescribedRow::resolve(const SharePart& whole) {
  const std::vector<double>& n = whole.numbers;
  const SplitOutcome& outcome = row_.outcome();
  const bool weighed = n[kPeak] > kNoPeak && outcome.mass != 0.0;
  details_.score_spread = outcome.top - n[kLeast];
  details_.first_weight = weighed ? n[kFirst] / outcome.mass : 0.0;
  details_.peak_weight = weighed ? n[kPeak] : 0.0;
  details_.peak_key = weighed ? static_cast<std::int64_t>(n[kPeakKey]) : -1;
  details_.support = static_cast<std::int64_t>(n[kSupport]);
  for (std::size_t i = 0; i < details_.gap_counts.size(); ++i)
    details_.gap_counts[i] = static_cast<std::int64_t>(n[kCounts + i]);
  details_.top = keys_in(std::span(n).subspan(keys_at()));
  done_ = true;
}

void record_split_row(const RowStatistics& s, std::int64_t batch, std::int64_t head, std::int64_t query,
                      const SplitOutcome& outcome, const RowDetails& details) {
  const auto put = [&]<class T>(const TensorView<T, 3>& view, T value) {
    if (view.present()) view(batch, head, query) = value;
  };
  put(s.log_partition, outcome.facts.log_partition);
  put(s.temperature, outcome.facts.temperature);
  put(s.threshold, outcome.facts.threshold);
  put(s.mass, outcome.mass);
  put(s.entropy, outcome.entropy);
  put(s.effective_support, outcome.mass == 0.0 ? 0.0 : std::exp(outcome.entropy));
  put(s.peak_weight, std::isnan(outcome.peak_weight) ? details.peak_weight : outcome.peak_weight);
  put(s.peak_key, details.peak_key);
  put(s.support, details.support);
  put(s.score_spread, details.score_spread);
  put(s.first_weight, details.first_weight);
  const double blank = std::isnan(outcome.top) ? outcome.top : 0.0;
  for (std::int64_t i = 0; s.top_keys.present() && i < s.top_keys.shape[3]; ++i) {
    const bool there = static_cast<std::size_t>(i) < details.top.size();
    s.top_keys(batch, head, query, i) = there ? details.top[static_cast<std::size_t>(i)].key : -1;
    s.top_weights(batch, head, query, i) = there ? details.top[static_cast<std::size_t>(i)].value : blank;
  }
  for (std::size_t i = 0; i < details.gap_counts.size(); ++i) s.gap_counts(batch, head, query, i) = details.gap_counts[i];
}

}  // namespace sharpmax
