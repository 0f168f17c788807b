#include "attention/kernels/row_statistics.h"

#include <cmath>
#include <limits>

#include "attention/kernels/columns.h"

namespace sharpmax {

RowWishes wishes_of(const RowStatistics* statistics) {
  RowWishes wishes;
  if (statistics == nullptr) return wishes;
  wishes.entropy = statistics->entropy.present() || statistics->effective_support.present();
  wishes.peak = statistics->peak_weight.present() || statistics->peak_key.present();
  wishes.peak_key = statistics->peak_key.present();
  wishes.support = statistics->support.present();
  wishes.spread = statistics->score_spread.present();
  wishes.first = statistics->first_weight.present();
  if (statistics->top_keys.present()) wishes.top = static_cast<std::size_t>(statistics->top_keys.shape[3]);
  if (statistics->gap_counts.present()) wishes.gaps = statistics->gaps;
  return wishes;
}

bool fits_streaming(const RowStatistics* statistics) {
  return statistics == nullptr ||
         (!statistics->support.present() && !statistics->score_spread.present() &&
          !statistics->first_weight.present() && !statistics->top_keys.present() &&
          !statistics->gap_counts.present() && !ColumnStatistics::wanted(statistics));
}

void write_row(const RowStatistics& statistics, std::int64_t batch, std::int64_t head, std::int64_t query,
               const RowOutcome& outcome) {
  const auto set = [&](const auto& view, auto value) {
    if (view.present()) view(batch, head, query) = value;
  };
  set(statistics.log_partition, outcome.facts.log_partition);
  set(statistics.entropy, outcome.entropy);
  set(statistics.peak_weight, outcome.peak_weight);
  set(statistics.peak_key, outcome.peak_key);
  set(statistics.effective_support, outcome.mass == 0.0 ? 0.0 : std::exp(outcome.entropy));
  set(statistics.support, outcome.support);
  set(statistics.mass, outcome.mass);
  set(statistics.temperature, outcome.facts.temperature);
  set(statistics.threshold, outcome.facts.threshold);
  set(statistics.score_spread, outcome.score_spread);
  set(statistics.first_weight, outcome.first_weight);
  if (statistics.top_keys.present()) {
    for (std::int64_t i = 0; i < statistics.top_keys.shape[3]; ++i) {
      statistics.top_keys(batch, head, query, i) = outcome.top_keys[i];
      statistics.top_weights(batch, head, query, i) = outcome.top_weights[i];
    }
  }
  if (statistics.gap_counts.present()) {
    for (std::int64_t i = 0; i < statistics.gap_counts.shape[3]; ++i) {
      statistics.gap_counts(batch, head, query, i) = outcome.gap_counts[i];
    }
  }
}

void empty_outcome(const RowWishes& wishes, RowOutcome& outcome) {
  outcome.scale = 0.0f;
  outcome.mass = 0.0;
  outcome.facts = {.log_partition = -std::numeric_limits<double>::infinity()};
  outcome.entropy = outcome.peak_weight = 0.0;
  outcome.peak_key = -1;
  outcome.support = 0;
  outcome.score_spread = outcome.first_weight = 0.0;
  for (std::size_t i = 0; i < wishes.top; ++i) {
    outcome.top_keys[i] = -1;
    outcome.top_weights[i] = 0.0;
  }
  for (std::size_t i = 0; i < wishes.gaps.size(); ++i) outcome.gap_counts[i] = 0;
}

}  // namespace sharpmax
