// The backward of rows whose keys lie on several ranks. Gradients of keys, values and bias stay where the keys are.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "attention/door/split_call.h"
#include "attention/door/validate.h"
#include "attention/parts/split_gradient.h"
#include "base/numbers.h"
#include "base/threads.h"
#include "sharpmax/split.h"

namespace sharpmax {
namespace {

constexpr const char* kBackwardDoor = "attend_split_backward";

void check_gradient_view(const char* name, const AnyMutableTensor<4>& gradient, const Extents<4>& shape) {
  const NamedView view = named(kBackwardDoor, name, gradient);
  if (!is_there(view)) return;
  check_memory(view);
  check_shape(view, shape, "as the input");
  if (view.elements() > 0) check_writable(view);
}

void check_backward_call(const AttentionRequest& own, std::int64_t keys, const KeyRun& run, const AnyNormalizer& normalizer,
                         const AnyTensor<4>& d_out, const AttentionGradients& gradients) {
  if (keys < 0)
    throw Error(ErrorCode::bad_argument, fmt::format("{}: the number of keys is {}; it must be at least 0", kBackwardDoor, keys));
  check_own_keys(kBackwardDoor, own, keys, run, normalizer);
  check_backward(normalizer, kBackwardDoor);
  const NamedView d_out_view = named(kBackwardDoor, "d_out", d_out);
  check_memory(d_out_view);
  check_shape(d_out_view, Extents<4>{own.query.shape[0], own.query.shape[1], own.query.shape[2], own.value.shape[3]},
              "batch, query head, query, value feature");
  check_gradient_view("gradients.query", gradients.query, own.query.shape);
  check_gradient_view("gradients.key", gradients.key, own.key.shape);
  check_gradient_view("gradients.value", gradients.value, own.value.shape);
  if (gradients.bias.present() && !own.bias.present())
    throw Error(ErrorCode::bad_argument,
                fmt::format("{}: gradients.bias is wanted but there is no bias; give the request one, or leave the view empty",
                            kBackwardDoor));
  check_gradient_view("gradients.bias", gradients.bias, own.bias.shape);
  std::vector<NamedView> outputs;
  check_parameter_gradients(kBackwardDoor, gradients.parameters, normalizer, own.query.shape[1], outputs);
}

// Sums of one rank, in double until all rows have been added. Rows come in one order, whatever the number of ranks.
class GradientSums {
 public:
  // `bias_of_keys`: the bias has a column per key; otherwise one for all.
  GradientSums(const AttentionRequest& own, const KeyRun& run, const AttentionGradients& wanted, bool bias_of_keys)
      : own_(own), run_(run), wanted_(wanted), bias_of_keys_(bias_of_keys) {
    if (wanted.key.present()) key_.resize(elements(own.key.shape));
    if (wanted.value.present()) value_.resize(elements(own.value.shape));
    if (wanted.bias.present()) bias_.resize(elements(own.bias.shape));
  }

  // Where the sums of a share's keys begin; null if they are not wanted.
  double* key(const RowIndex& at, std::int64_t first) { return place(key_, own_.key.shape, at, first); }
  double* value(const RowIndex& at, std::int64_t first) { return place(value_, own_.value.shape, at, first); }

  void add_bias(const RowIndex& at, std::int64_t first, std::span<const double> d_scores) {
    if (bias_.empty() || !bias_of_keys_) return;
    double* const row = bias_.data() + bias_row(at) * own_.bias.shape[3] + (first - run_.begin);
    for (std::size_t i = 0; i < d_scores.size(); ++i) row[i] += d_scores[i];
  }
  void add_bias_of_row(const RowIndex& at, double sum) {
    if (!bias_.empty() && !bias_of_keys_) bias_[to_size(bias_row(at))] += sum;
  }

  void write() const {
    write_all(wanted_.key, key_);
    write_all(wanted_.value, value_);
    write_all(wanted_.bias, bias_);
  }

 private:
  static std::size_t elements(const Extents<4>& shape) { return to_size(shape[0] * shape[1] * shape[2] * shape[3]); }

  double* place(std::vector<double>& sums, const Extents<4>& shape, const RowIndex& at, std::int64_t first) const {
    if (sums.empty()) return nullptr;
    const std::int64_t head = at.head / (own_.query.shape[1] / shape[1]);
    return sums.data() + ((at.batch * shape[1] + head) * shape[2] + first - run_.begin) * shape[3];
  }
  std::int64_t bias_row(const RowIndex& at) const {
    const Extents<4>& shape = own_.bias.shape;
    const auto index = [&](std::size_t i, std::int64_t place) { return shape[i] == 1 ? 0 : place; };
    return (index(0, at.batch) * shape[1] + index(1, at.head)) * shape[2] + index(2, at.row);
  }
  static void write_all(const AnyMutableTensor<4>& view, const std::vector<double>& sums) {
    if (!view.present()) return;
    const std::size_t width = to_size(view.shape[3]);
    std::size_t from = 0;
    for (RowIndex at{}; at.batch < view.shape[0]; ++at.batch)
      for (at.head = 0; at.head < view.shape[1]; ++at.head)
        for (at.row = 0; at.row < view.shape[2]; ++at.row, from += width) write_row(view, at, std::span(sums).subspan(from, width));
  }

  const AttentionRequest& own_;
  KeyRun run_;
  const AttentionGradients& wanted_;
  bool bias_of_keys_;
  std::vector<double> key_, value_, bias_;
};

class BackwardCallOverRanks {
 public:
  BackwardCallOverRanks(const AttentionRequest& own, const AnyNormalizer& normalizer, const AnyTensor<4>& d_out,
                        const AttentionGradients& gradients, SplitCall& call, bool bias_of_keys)
      : own_(own), normalizer_(normalizer), d_out_(d_out), gradients_(gradients), call_(call),
        sums_(own, call.run(), gradients, bias_of_keys) {}

  void add(const SplitBlock& block) {
    std::vector<std::vector<double>> d_outs(block.rows.size());
    std::vector<std::unique_ptr<SplitGradient>> split;
    std::vector<InRounds*> rows;
    for (std::size_t i = 0; i < block.rows.size(); ++i) {
      d_outs[i].resize(to_size(d_out_.shape[3]));
      read_row(d_out_, block.rows[i].at, d_outs[i]);
      split.push_back(split_gradient(normalizer_, to_size(block.rows[i].at.head), block.keys[i], *block.split[i],
                                     mean_of(block.split[i]->outcome(), d_outs[i])));
      rows.push_back(split.back().get());
    }
    call_.run_rounds_of(rows, block, [&](ShareScorer& scorer, std::size_t row, const ShareScores& share, SharePart& part) {
      const RowIndex& at = block.rows[row].at;
      block.split[row]->final_weights(share, scorer.exact_weights());
      const ShareGradient gradient{share, scorer.exact_weights(), scorer.d_weights(d_outs[row])};
      if (!split[row]->visit(gradient, scorer.d_scores(), part.numbers)) return;
      scorer.through_scores(part.sum, sums_.key(at, share.first_key));
      if (double* const d_value = sums_.value(at, share.first_key)) scorer.add_value_gradient(d_outs[row], d_value);
      sums_.add_bias(at, share.first_key, scorer.d_scores());
    });
    for (std::size_t i = 0; i < block.rows.size(); ++i) finish_row(block, i, *split[i]);
  }

  void finish() const { sums_.write(); }

 private:
  static double mean_of(const SplitOutcome& outcome, std::span<const double> d_out) {
    double mean = 0.0;
    for (std::size_t c = 0; c < outcome.sum.size(); ++c) mean += d_out[c] * outcome.sum[c];
    return outcome.scale * mean;
  }

  void finish_row(const SplitBlock& block, std::size_t i, const SplitGradient& row) {
    const RowIndex& at = block.rows[i].at;
    sums_.add_bias_of_row(at, row.d_scores_sum());
    if (gradients_.query.present()) write_query(at, row.d_query());
    const Definition& definition = normalizer_.definition();
    if (!gradients_.parameters.present() || definition.through_rule == nullptr || block.keys[i] == 0) return;
    std::vector<double> d_parameters(definition.parameters.size(), 0.0);
    definition.through_rule(HeadParameters(normalizer_.parameters(), to_size(at.head)), static_cast<double>(block.keys[i]),
                            row.d_rule(), d_parameters);
    for (std::size_t p = 0; p < d_parameters.size(); ++p) gradients_.parameters(p, at.head) += d_parameters[p];
  }

  void write_query(const RowIndex& at, std::vector<double> d_query) const {
    d_query.resize(to_size(own_.query.shape[3]), 0.0);
    if (normalizer_.definition().needs_queries_and_keys) {
      std::vector<double> query(d_query.size());
      read_row(own_.query, at, query);
      for (std::size_t c = 0; c < query.size(); ++c) d_query[c] *= oracle::feature_map_slope(query[c]);
    }
    write_row(gradients_.query, at, d_query);
  }

  const AttentionRequest& own_;
  const AnyNormalizer& normalizer_;
  const AnyTensor<4>& d_out_;
  const AttentionGradients& gradients_;
  SplitCall& call_;
  GradientSums sums_;
};

// One share: the rank that has it differentiates, and all get the gradients of queries and parameters.
void backward_in_one_place(const AttentionRequest& own, const AnyNormalizer& normalizer, Group& group, const AnyTensor<4>& d_out,
                           const AttentionGradients& gradients, const Execution& execution) {
  const int owner = group.size() - 1;
  if (group.rank() == owner) attend_backward(own, normalizer, d_out, gradients, {}, execution);
  if (gradients.query.present()) share_rows(group, owner, gradients.query);
  const TensorView<double, 2>& parameters = gradients.parameters;
  if (parameters.present())
    share_rows(group, owner,
               TensorView<double, 4>(parameters.data, {1, 1, parameters.shape[0], parameters.shape[1]},
                                     {0, 0, parameters.strides[0], parameters.strides[1]}));
}

std::string wanted_gradients(const AttentionGradients& gradients) {
  return fmt::format("{}{}{}", gradients.query.present() ? ", query" : "", gradients.bias.present() ? ", bias" : "",
                     gradients.parameters.present() ? ", parameters" : "");
}

}  // namespace

void attend_split_backward(const AttentionRequest& own, std::int64_t keys, const AnyNormalizer& normalizer, Group& group,
                           AnyTensor<4> d_out, const AttentionGradients& gradients, const Execution& execution) {
  const KeyRun run = keys_of_rank(std::max<std::int64_t>(keys, 0), group.rank(), group.size());
  check_together(group, kBackwardDoor, call_text(own, keys, normalizer) + wanted_gradients(gradients),
                 [&] { check_backward_call(own, keys, run, normalizer, d_out, gradients); });
  choose_target();
  if (keys <= kShareKeys) return backward_in_one_place(own, normalizer, group, d_out, gradients, execution);
  for (std::int64_t p = 0; gradients.parameters.present() && p < gradients.parameters.shape[0]; ++p)
    for (std::int64_t head = 0; head < gradients.parameters.shape[1]; ++head) gradients.parameters(p, head) = 0.0;
  // A rank with one key cannot see whether a bias of one column is of that key or of all.
  const bool bias_of_keys = gradients.bias.present() && group.largest(own.bias.shape[3]) > 1;
  SplitCall call(own, keys, normalizer, group, threads_for(execution.threads));
  BackwardCallOverRanks backward(own, normalizer, d_out, gradients, call, bias_of_keys);
  call.for_each_block(true, [&](SplitBlock& block) { backward.add(block); });
  backward.finish();
}

}  // namespace sharpmax
