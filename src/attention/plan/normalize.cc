// The normalizer alone over rows of float32 scores.
//
// One task is one row, or one head where something is summed over a head's rows, so that the order of
// every sum depends on the shape alone.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "attention/oracle/elements.h"
#include "attention/rows/call.h"
#include "attention/oracle/oracle.h"
#include "attention/plan/plan.h"
#include "attention/tiles/block.h"
#include "attention/rows/row.h"
#include "base/numbers.h"
#include "base/threads.h"

namespace sharpmax {
namespace {

// One row of scratch in the layout of the row functions, padded with masked keys to whole vectors.
class PlainRow {
 public:
  explicit PlainRow(std::int64_t keys)
      : keys_(to_size(keys)),
        lanes_(vector_lanes()),
        chunks_((keys_ + lanes_ - 1) / lanes_),
        data_(std::make_unique_for_overwrite<float[]>(chunks_ * lanes_)) {}

  std::size_t size() const noexcept { return chunks_ * lanes_; }
  ScoreRow view() noexcept { return {data_.get(), chunks_, lanes_, lanes_}; }
  std::span<const float> keys() const noexcept { return {data_.get(), keys_}; }

  void read(const AnyTensor<4>& tensor, const RowIndex& at, float padding) noexcept {
    const float* const source = static_cast<const float*>(tensor.data) + row_offset(tensor, at);
    std::copy_n(source, keys_, data_.get());
    std::fill(data_.get() + keys_, data_.get() + size(), padding);
  }
  void write(const AnyMutableTensor<4>& tensor, const RowIndex& at, float scale) const noexcept {
    float* const target = static_cast<float*>(tensor.data) + row_offset(tensor, at);
    for (std::size_t i = 0; i < keys_; ++i) target[i] = scale * data_[i];
  }

 private:
  std::size_t keys_, lanes_, chunks_;
  std::unique_ptr<float[]> data_;
};

// Per thread, sized once.
struct Scratch {
  Scratch(std::int64_t keys, std::int64_t top, std::size_t gaps)
      : scores(keys),
        d_weights(keys),
        workspace(scores.size()),
        top_keys(to_size(top)),
        top_weights(to_size(top)),
        gap_counts(gaps) {}

  PlainRow scores, d_weights;
  RowWorkspace workspace;
  std::vector<std::int64_t> top_keys;
  std::vector<double> top_weights;
  std::vector<std::int64_t> gap_counts;
};

void add_to_sums(const RowStatistics& s, const RowIndex& at, std::int64_t queries, std::span<const float> row,
                 float scale) {
  const auto keys = static_cast<std::int64_t>(row.size());
  for (std::int64_t key = 0; key < keys; ++key) {
    const double weight = scale * row[to_size(key)];
    if (s.column_mass.present()) s.column_mass(at.batch, at.head, key) += weight;
    if (s.map.present())
      s.map(at.batch, at.head, at.row * s.map.shape[2] / queries, key * s.map.shape[3] / keys) += weight;
  }
}

void normalize_row(const NormalizeCall& call, const RowWishes& wishes, const RowIndex& at, Scratch& scratch) {
  scratch.scores.read(call.scores, at, -std::numeric_limits<float>::infinity());
  RowOutcome out;
  out.top_keys = scratch.top_keys.data();
  out.top_weights = scratch.top_weights.data();
  out.gap_counts = scratch.gap_counts.data();
  resolve_row({.normalizer = &call.normalizer, .head = to_size(at.head)}, wishes, scratch.scores.view(),
              scratch.workspace, out);
  scratch.scores.write(call.weights, at, out.scale);
  if (call.statistics == nullptr) return;
  write_row(*call.statistics, at.batch, at.head, at.row, out);
  if (call.statistics->column_mass.present() || call.statistics->map.present())
    add_to_sums(*call.statistics, at, call.scores.shape[2], scratch.scores.keys(), out.scale);
}

template <class... Arguments>
std::vector<std::unique_ptr<Scratch>> scratch_of_threads(int threads, const Arguments&... arguments) {
  std::vector<std::unique_ptr<Scratch>> all(to_size(threads));
  for (auto& scratch : all) scratch = std::make_unique<Scratch>(arguments...);
  return all;
}

}  // namespace

void run_normalize(const NormalizeCall& call) {
  choose_target();
  const auto [batches, heads, queries, keys] = call.scores.shape;
  const RowWishes wishes = wishes_of(call.statistics);
  const auto all_scratch =
      scratch_of_threads(call.threads, keys, static_cast<std::int64_t>(wishes.top), wishes.gaps.size());
  const bool sums = call.statistics != nullptr &&
                    (call.statistics->column_mass.present() || call.statistics->map.present());
  const std::int64_t rows_a_task = sums ? queries : 1;
  if (queries == 0) {
    for (std::int64_t i = 0; sums && i < batches * heads; ++i)
      oracle::clear_sums(*call.statistics, i / heads, i % heads);
    return;
  }
  parallel_for(call.threads, batches * heads * (queries / rows_a_task),
               [&, heads = heads, queries = queries](std::int64_t task, int thread) {
                 const std::int64_t first = task * rows_a_task, head = first / queries;
                 RowIndex at{head / heads, head % heads, first % queries};
                 if (sums) oracle::clear_sums(*call.statistics, at.batch, at.head);
                 for (std::int64_t i = 0; i < rows_a_task; ++i, ++at.row)
                   normalize_row(call, wishes, at, *all_scratch[to_size(thread)]);
               });
}

void run_normalize_backward(const NormalizeBackwardCall& call) {
  choose_target();
  const auto [batches, heads, queries, keys] = call.scores.shape;
  const std::size_t parameters = call.d_parameters.present() ? call.normalizer.parameters().size() : 0;
  const auto all_scratch = scratch_of_threads(call.threads, keys, std::int64_t{0}, std::size_t{0});
  const std::int64_t rows = batches * heads * queries;
  std::vector<double> d_parameters(to_size(rows) * parameters);  // [batch, head, query, parameter]
  parallel_for(call.threads, rows, [&, heads = heads, queries = queries](std::int64_t row, int thread) {
    Scratch& scratch = *all_scratch[to_size(thread)];
    const RowIndex at{row / queries / heads, row / queries % heads, row % queries};
    scratch.scores.read(call.scores, at, -std::numeric_limits<float>::infinity());
    scratch.d_weights.read(call.d_weights, at, 0.0f);
    backward_row({.normalizer = &call.normalizer, .head = to_size(at.head)}, scratch.scores.view(),
                 scratch.d_weights.view(), scratch.workspace,
                 std::span(d_parameters).subspan(to_size(row) * parameters, parameters));
    if (call.d_scores.present()) scratch.d_weights.write(call.d_scores, at, 1.0f);
  });
  for (std::size_t p = 0; p < parameters; ++p) {
    for (std::int64_t head = 0; head < heads; ++head) {
      double sum = 0.0;
      for (std::int64_t batch = 0; batch < batches; ++batch)
        for (std::int64_t query = 0; query < queries; ++query)
          sum += d_parameters[to_size((batch * heads + head) * queries + query) * parameters + p];
      call.d_parameters(p, head) = sum;
    }
  }
}

}  // namespace sharpmax
