#include <algorithm>
#include <vector>

#include "attention/elements.h"
#include "attention/oracle.h"
#include "attention/oracle_statistics.h"
#include "base/threads.h"
#include "normalizer/definition.h"

namespace sharpmax::oracle {
namespace {

std::size_t to_size(std::int64_t n) { return static_cast<std::size_t>(n); }

struct Scratch {
  explicit Scratch(std::int64_t keys)
      : scores(to_size(keys)), weights(to_size(keys)), d_weights(to_size(keys)), d_scores(to_size(keys)),
        order(to_size(keys)) {}
  std::vector<double> scores, weights, d_weights, d_scores;
  std::vector<std::size_t> order;
};

}  // namespace

void normalize(const NormalizeCall& call) {
  const auto [batches, heads, queries, keys] = call.scores.shape;
  std::vector<Scratch> all_scratch(to_size(call.threads), Scratch(keys));
  const HeadSize size{queries, keys};
  parallel_for(call.threads, batches * heads, [&, heads = heads](std::int64_t task, int thread) {
    Scratch& scratch = all_scratch[to_size(thread)];
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
  std::vector<Scratch> all_scratch(to_size(call.threads), Scratch(keys));
  std::vector<double> d_parameters(parameters * to_size(heads));  // [head, parameter]
  // One task is one head over all batches: its parameters are summed in one fixed order.
  parallel_for(call.threads, heads, [&, batches = batches, queries = queries](std::int64_t head, int thread) {
    Scratch& scratch = all_scratch[to_size(thread)];
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
