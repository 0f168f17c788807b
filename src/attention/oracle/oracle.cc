#include "attention/oracle/oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "attention/oracle/elements.h"
#include "base/numbers.h"
#include "base/threads.h"
#include "normalizer/definition.h"

namespace sharpmax::oracle {
namespace {

void forward_head(const ForwardCall& call, std::int64_t batch, std::int64_t head, Scratch& scratch) {
  const AttentionRequest& request = call.request;
  const HeadSize size{request.query.shape[2], request.key.shape[2]};
  if (call.statistics != nullptr) clear_sums(*call.statistics, batch, head);
  SegmentCursor cursor(call.segments, batch);
  for (std::int64_t q = 0; q < size.queries; ++q) {
    const RowIndex at{batch, head, q};
    const WeighedRow row = weigh(request, call.normalizer, at, cursor.visible(q), scratch);
    std::fill(scratch.out.begin(), scratch.out.end(), 0.0);
    for (std::size_t j = 0; j < row.weights.size(); ++j) {
      if (row.scores[j] == kMasked) continue;  // so that what a masked value holds cannot matter
      read_row(request.value, key_row(request, at, row.keys.begin, j), scratch.value);
      for (std::size_t c = 0; c < scratch.out.size(); ++c) scratch.out[c] += row.weights[j] * scratch.value[c];
    }
    write_row(call.out, at, scratch.out);
    if (call.statistics != nullptr) record_row(*call.statistics, at, size, row, scratch.order);
  }
}

// The gradients one kv head gathers from all of its queries, in double until it is done.
struct KeyValueSums {
  std::vector<double> key;    // [key, feature]
  std::vector<double> value;  // [key, value_feature]
  std::vector<double> parameters;
};

class BackwardHead {
 public:
  BackwardHead(const BackwardCall& call, std::vector<double>& bias_sums)
      : call_(call),
        request_(call.request),
        linear_(call.normalizer.definition().needs_queries_and_keys),
        scale_(linear_ ? 1.0 : scale_of(call.request)),
        scratch_(call.request),
        bias_sums_(bias_sums) {
    sums_.key.resize(to_size(request_.key.shape[2] * request_.key.shape[3]));
    sums_.value.resize(to_size(request_.value.shape[2] * request_.value.shape[3]));
    sums_.parameters.resize(call.normalizer.parameters().size());
  }

  // All batches of all query heads that share one kv head.
  void run(std::int64_t kv_head) {
    const std::int64_t group = request_.query.shape[1] / request_.key.shape[1];
    const TensorView<double, 2>& d_parameters = call_.gradients.parameters;
    for (std::int64_t head = kv_head * group; d_parameters.present() && head < (kv_head + 1) * group; ++head) {
      for (std::size_t p = 0; p < sums_.parameters.size(); ++p) d_parameters(p, head) = 0.0;
    }
    for (std::int64_t batch = 0; batch < request_.query.shape[0]; ++batch) {
      std::fill(sums_.key.begin(), sums_.key.end(), 0.0);
      std::fill(sums_.value.begin(), sums_.value.end(), 0.0);
      for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
        run_query_head(batch, head);
      }
      write_sums(call_.gradients.key, sums_.key, batch, kv_head);
      write_sums(call_.gradients.value, sums_.value, batch, kv_head);
    }
  }

 private:
  void run_query_head(std::int64_t batch, std::int64_t head) {
    std::fill(sums_.parameters.begin(), sums_.parameters.end(), 0.0);
    SegmentCursor cursor(call_.segments, batch);
    for (std::int64_t q = 0; q < request_.query.shape[2]; ++q) run_row({batch, head, q}, cursor.visible(q));
    for (std::size_t p = 0; call_.gradients.parameters.present() && p < sums_.parameters.size(); ++p) {
      call_.gradients.parameters(p, head) += sums_.parameters[p];
    }
  }

  void run_row(const RowIndex& at, KeyRange keys) {
    const WeighedRow row = weigh(request_, call_.normalizer, at, keys, scratch_);
    read_row(call_.d_out, at, scratch_.out);
    const std::span<double> d_weights = std::span(scratch_.d_weights).first(row.weights.size());
    const std::span<double> d_scores = std::span(scratch_.d_scores).first(row.weights.size());
    for (std::size_t j = 0; j < row.weights.size(); ++j) {
      d_weights[j] = 0.0;
      if (row.scores[j] == kMasked) continue;
      read_row(request_.value, key_row(request_, at, row.keys.begin, j), scratch_.value);
      double* d_value = &sums_.value[(to_size(row.keys.begin) + j) * scratch_.value.size()];
      for (std::size_t c = 0; c < scratch_.value.size(); ++c) {
        d_weights[j] += scratch_.out[c] * scratch_.value[c];
        d_value[c] += row.weights[j] * scratch_.out[c];
      }
    }
    backward_row(call_.normalizer, to_size(at.head), row.scores, row.weights, d_weights, d_scores,
                 sums_.parameters);
    through_scores(at, row, d_scores);
  }

  // d_scores to query, key and bias. scratch_.query holds the query, mapped if scores are linear's.
  void through_scores(const RowIndex& at, const WeighedRow& row, std::span<const double> d_scores) {
    std::fill(scratch_.d_query.begin(), scratch_.d_query.end(), 0.0);
    for (std::size_t j = 0; j < row.weights.size(); ++j) {
      if (row.scores[j] == kMasked) continue;
      read_row(request_.key, key_row(request_, at, row.keys.begin, j), scratch_.key);
      double* d_key = &sums_.key[(to_size(row.keys.begin) + j) * scratch_.key.size()];
      const double d = scale_ * scratch_.cap_slopes[j] * d_scores[j];
      for (std::size_t c = 0; c < scratch_.key.size(); ++c) {
        const double key = linear_ ? feature_map(scratch_.key[c]) : scratch_.key[c];
        scratch_.d_query[c] += d * key;
        d_key[c] += d * scratch_.query[c] * (linear_ ? feature_map_slope(scratch_.key[c]) : 1.0);
      }
      add_bias(at, row.keys.begin + static_cast<std::int64_t>(j), d_scores[j]);
    }
    if (!call_.gradients.query.present()) return;
    if (linear_) {
      read_row(request_.query, at, scratch_.key);
      for (std::size_t c = 0; c < scratch_.key.size(); ++c) scratch_.d_query[c] *= feature_map_slope(scratch_.key[c]);
    }
    write_row(call_.gradients.query, at, scratch_.d_query);
  }

  void add_bias(const RowIndex& at, std::int64_t key, double d_score) {
    if (bias_sums_.empty()) return;
    const Extents<4> place = {at.batch, at.head, at.row, key};
    const Extents<4>& shape = call_.gradients.bias.shape;
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < 4; ++i) offset = offset * shape[i] + (shape[i] == 1 ? 0 : place[i]);
    bias_sums_[to_size(offset)] += d_score;
  }

  static void write_sums(const AnyMutableTensor<4>& view, const std::vector<double>& sums, std::int64_t batch,
                         std::int64_t kv_head) {
    if (!view.present()) return;
    const std::size_t features = to_size(view.shape[3]);
    for (std::int64_t j = 0; j < view.shape[2]; ++j) {
      write_row(view, {batch, kv_head, j}, {sums.data() + to_size(j) * features, features});
    }
  }

  const BackwardCall& call_;
  const AttentionRequest& request_;
  const bool linear_;
  const double scale_;
  Scratch scratch_;
  KeyValueSums sums_;
  std::vector<double>& bias_sums_;  // dense, shape of the bias gradient; empty: not wanted
};

void write_bias(const AnyMutableTensor<4>& view, const std::vector<double>& sums) {
  if (sums.empty()) return;
  const std::size_t width = to_size(view.shape[3]);
  const double* row = sums.data();
  for (std::int64_t b = 0; b < view.shape[0]; ++b) {
    for (std::int64_t h = 0; h < view.shape[1]; ++h) {
      for (std::int64_t q = 0; q < view.shape[2]; ++q, row += width) write_row(view, {b, h, q}, {row, width});
    }
  }
}

}  // namespace

void forward(const ForwardCall& call) {
  const std::int64_t heads = call.request.query.shape[1];
  std::vector<Scratch> scratch(to_size(call.threads), Scratch(call.request));
  parallel_for(call.threads, call.request.query.shape[0] * heads, [&](std::int64_t task, int thread) {
    forward_head(call, task / heads, task % heads, scratch[to_size(thread)]);
  });
}

void backward(const BackwardCall& call) {
  const AnyMutableTensor<4>& d_bias = call.gradients.bias;
  std::vector<double> bias_sums;
  if (d_bias.present()) {
    bias_sums.resize(to_size(d_bias.shape[0] * d_bias.shape[1] * d_bias.shape[2] * d_bias.shape[3]));
  }
  // A bias that heads share is summed by one thread, so that its bits never depend on their number.
  const int threads = d_bias.present() && d_bias.shape[1] == 1 ? 1 : call.threads;
  std::vector<BackwardHead> workers(to_size(threads), BackwardHead(call, bias_sums));
  parallel_for(threads, call.request.key.shape[1],
               [&](std::int64_t kv_head, int thread) { workers[to_size(thread)].run(kv_head); });
  write_bias(d_bias, bias_sums);
}

namespace {

// One per thread: rows of scores that come as they are.
struct ScoreScratch {
  explicit ScoreScratch(std::int64_t keys)
      : scores(to_size(keys)), weights(to_size(keys)), d_weights(to_size(keys)), d_scores(to_size(keys)),
        order(to_size(keys)) {}
  std::vector<double> scores, weights, d_weights, d_scores;
  std::vector<std::size_t> order;
};

}  // namespace

void normalize(const NormalizeCall& call) {
  const auto [batches, heads, queries, keys] = call.scores.shape;
  std::vector<ScoreScratch> all_scratch(to_size(call.threads), ScoreScratch(keys));
  const HeadSize size{queries, keys};
  parallel_for(call.threads, batches * heads, [&, heads = heads](std::int64_t task, int thread) {
    ScoreScratch& scratch = all_scratch[to_size(thread)];
    RowIndex at{task / heads, task % heads, 0};
    if (call.statistics != nullptr) clear_sums(*call.statistics, at.batch, at.head);
    for (; at.row < size.queries; ++at.row) {
      read_row(call.scores, at, scratch.scores);
      const RowFacts facts = weigh_row(call.normalizer, to_size(at.head), scratch.scores, scratch.weights);
      write_row(call.weights, at, scratch.weights);
      if (call.statistics == nullptr) continue;
      record_row(*call.statistics, at, size, {{0, size.keys}, scratch.scores, scratch.weights, facts}, scratch.order);
    }
  });
}

void normalize_backward(const NormalizeBackwardCall& call) {
  const auto [batches, heads, queries, keys] = call.scores.shape;
  const std::size_t parameters = call.normalizer.parameters().size();
  std::vector<ScoreScratch> all_scratch(to_size(call.threads), ScoreScratch(keys));
  std::vector<double> d_parameters(parameters * to_size(heads));  // [head, parameter]
  // One task is one head over all batches: its parameters are summed in one fixed order.
  parallel_for(call.threads, heads, [&, batches = batches, queries = queries](std::int64_t head, int thread) {
    ScoreScratch& scratch = all_scratch[to_size(thread)];
    const std::span<double> d_own(d_parameters.data() + to_size(head) * parameters, parameters);
    for (RowIndex at{0, head, 0}; at.batch < batches; ++at.batch) {
      for (at.row = 0; at.row < queries; ++at.row) {
        read_row(call.scores, at, scratch.scores);
        read_row(call.d_weights, at, scratch.d_weights);
        weigh_row(call.normalizer, to_size(head), scratch.scores, scratch.weights);
        backward_row(call.normalizer, to_size(head), scratch.scores, scratch.weights, scratch.d_weights,
                     scratch.d_scores, d_own);
        if (call.d_scores.present()) write_row(call.d_scores, at, scratch.d_scores);
      }
    }
    for (std::size_t p = 0; call.d_parameters.present() && p < parameters; ++p) call.d_parameters(p, head) = d_own[p];
  });
}

}  // namespace sharpmax::oracle
