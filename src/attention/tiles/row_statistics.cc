#include "attention/tiles/block.h"

#include <algorithm>
#include <cmath>
#include <limits>

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
  outcome.survey = {};
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

void finish_fold(const Survey& survey, double beta, double sink, Tail tail, RowOutcome& outcome) noexcept {
  if (survey.empty()) return;
  const double sum = 1.0 + survey.tail;
  const double partition = sum + (sink > 0.0 ? sink * std::exp(-survey.max) : 0.0);
  outcome.scale = static_cast<float>(1.0 / partition);
  outcome.survey = survey;
  outcome.mass = sum / partition;
  outcome.facts = {.temperature = beta,
                   .log_partition = tail == Tail::exact ? survey.log_partition() : survey.max + std::log(sum)};
  if (tail != Tail::exact) return;
  outcome.entropy = survey.entropy();
  outcome.peak_weight = survey.peak_weight();
}

void merge(BlockFolds& into, const BlockFolds& from, std::size_t rows, std::size_t stride) noexcept {
  for (std::size_t i = 0; i < rows; ++i) {
    if (from.surveys[i].max > into.surveys[i].max) into.peak_keys[i] = from.peak_keys[i];
    Fold joined{into.surveys[i], {into.sums + i * stride, stride}};
    merge(joined, {from.surveys[i], {from.sums + i * stride, stride}});
    into.surveys[i] = joined.survey;
  }
}

namespace {

// Which of `cells` blocks of `count` items item i falls in: block r is [ceil(r count / cells), ...).
std::int64_t cell_of(std::int64_t i, std::int64_t count, std::int64_t cells) {
  return static_cast<std::int64_t>(static_cast<__int128>(i) * cells / count);
}

}  // namespace

std::int64_t ColumnStatistics::map_row(std::int64_t query) const noexcept {
  if (!statistics_.map.present()) return 0;
  return cell_of(query, queries_, statistics_.map.shape[2]);
}

void ColumnStatistics::add(std::int64_t batch, std::int64_t head, std::int64_t query, std::int64_t first_key,
                           const ScoreRow& weights, float scale) {
  const std::int64_t row = map_row(query);
  if (batch != batch_ || head != head_ || row != row_) {
    flush();
    batch_ = batch, head_ = head, row_ = row;
    touched_begin_ = keys_, touched_end_ = 0;
  }
  std::int64_t key = first_key;
  for (std::size_t c = 0; c < weights.chunks && key < keys_; ++c) {
    const float* chunk = weights.data + c * weights.stride;
    const auto count = std::min<std::int64_t>(static_cast<std::int64_t>(weights.lanes), keys_ - key);
    for (std::int64_t l = 0; l < count; ++l) {
      sums_[static_cast<std::size_t>(key + l)] += static_cast<double>(scale * chunk[l]);
    }
    key += count;
  }
  touched_begin_ = std::min(touched_begin_, first_key);
  touched_end_ = std::max(touched_end_, key);
}

void ColumnStatistics::flush() {
  for (std::int64_t key = touched_begin_; key < touched_end_; ++key) {
    double& sum = sums_[static_cast<std::size_t>(key)];
    if (statistics_.column_mass.present()) statistics_.column_mass(batch_, head_, key) += sum;
    if (statistics_.map.present()) {
      statistics_.map(batch_, head_, row_, cell_of(key, keys_, statistics_.map.shape[3])) += sum;
    }
    sum = 0.0;
  }
  touched_begin_ = keys_, touched_end_ = 0;
}

void clear_columns(const RowStatistics& statistics) {
  const auto& mass = statistics.column_mass;
  if (mass.present()) {
    for (std::int64_t b = 0; b < mass.shape[0]; ++b)
      for (std::int64_t h = 0; h < mass.shape[1]; ++h)
        for (std::int64_t k = 0; k < mass.shape[2]; ++k) mass(b, h, k) = 0.0;
  }
  const auto& map = statistics.map;
  if (map.present()) {
    for (std::int64_t b = 0; b < map.shape[0]; ++b)
      for (std::int64_t h = 0; h < map.shape[1]; ++h)
        for (std::int64_t r = 0; r < map.shape[2]; ++r)
          for (std::int64_t c = 0; c < map.shape[3]; ++c) map(b, h, r, c) = 0.0;
  }
}

}  // namespace sharpmax
