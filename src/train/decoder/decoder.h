// A pre-norm decoder over batches of a task: loss and gradient for training, answers and what the heads did
// for tests.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "train/decoder/layer.h"

namespace sharpmax::train {

struct BatchReport {
  double loss = 0.0;      // mean cross-entropy of an answer
  double accuracy = 0.0;  // share of answers that are right
};

// Sums over questions of one head that sees everything.
struct HeadSums {
  double entropy = 0.0, peak_weight = 0.0, right_weight = 0.0;
  std::int64_t questions = 0, with_place = 0;  // with_place: those that have a right place
};

// What a batch came to under one rule.
struct Answers {
  std::vector<bool> right;  // [sequence, asked]
  std::vector<bool> found;  // the same: some head has more than half of its weight on the right place
  double loss = 0.0;        // mean cross-entropy of an answer
  std::vector<HeadSums> heads;  // [layer that has such, global head]; empty if heads were not watched
};

enum class Watch { heads, nothing };

template <class Real>
class Decoder {
 public:
  Decoder(const DecoderSettings& settings, const TaskShape& task, int threads);

  const Layout& layout() const noexcept { return layout_; }

  // Loss and its gradient. normalizers: one per layer, of the heads that see everything. gradient: as
  // parameters, overwritten; the memory of the call before must be as that call left it. d_normalizers: [layer, parameter, global head], of as many parameters as the
  // first normalizer has; may be empty.
  BatchReport learn(std::span<const Real> parameters, std::span<const AnyNormalizer> normalizers,
                    const Batch& batch, std::span<Real> gradient, std::span<double> d_normalizers);
  // Tokens that the last learn() read, ascending: no other row of the embedding has a gradient.
  const std::vector<std::int32_t>& read_tokens() const noexcept { return read_tokens_; }
  // The loss alone.
  BatchReport measure(std::span<const Real> parameters, std::span<const AnyNormalizer> normalizers,
                      const Batch& batch);

  // Answers under several rules, given one after another. What does not depend on the rule is computed once.
  using Rule = std::vector<LayerRule>;  // one per layer; those of local layers are not used
  void answer(std::span<const Real> parameters, std::span<const Rule> rules, const Batch& batch, Watch watch,
              const std::function<void(std::size_t rule, const Answers&)>& answered);

 private:
  LayerWeights<Real> weights_of(std::int64_t layer) const;
  LayerShape shape_of(std::int64_t layer) const;
  const Real* input_of(std::int64_t layer) const;
  void prepare(std::span<const Real> parameters, std::span<Real> gradient, const Batch& batch);
  void embed();
  void embed_backward();
  template <class RuleOf>
  void run_layers(const RuleOf& rule_of, std::int64_t first, std::int64_t first_projected);
  void project_in(std::int64_t layer);
  void run_before_rules();
  std::int64_t row_of(std::int64_t question) const;
  BatchReport read_out();  // leaves the gradient by the logits in logits_
  void read_out_backward();
  void watch_heads(std::int64_t layer, const LayerRule& rule, std::span<HeadSums> sums,
                   std::vector<bool>& found) const;
  void watch_run(std::int64_t layer, const HeadRun& run, std::int64_t first, std::int64_t end,
                 std::span<HeadSums> sums, std::vector<bool>& found) const;

  DecoderSettings s_;
  TaskShape task_;
  Layout layout_;
  int threads_;
  Turns turns_{0, 2};
  std::vector<Layer<Real>> layers_;

  const Batch* batch_ = nullptr;
  const Real* parameters_ = nullptr;
  Real* gradient_ = nullptr;
  std::vector<Real> embedded_;        // [row, width]
  std::vector<const Real*> outputs_;  // of each layer
  std::vector<Real> asked_, normed_, inverse_,
      logits_;  // [question, width], [question], [question, part, class]
  std::vector<bool> right_;
  std::vector<Real> d_normed_, d_asked_, d_out_, d_in_;
  std::vector<std::int32_t> read_tokens_;
  const Real* cleared_ = nullptr;  // gradient whose embedding is 0 but for read_tokens_
};

}  // namespace sharpmax::train
