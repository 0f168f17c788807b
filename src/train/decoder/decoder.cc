#include "train/decoder/decoder.h"

#include <algorithm>
#include <cmath>

#include "base/numbers.h"

namespace sharpmax::train {

template <class Real>
Decoder<Real>::Decoder(const DecoderSettings& settings, const TaskShape& task, int threads)
    : s_(settings), task_(task), layout_(settings, task), threads_(threads_for(threads)) {
  for (std::int64_t i = 0; i < s_.layers; ++i) layers_.emplace_back(s_, i, threads_);
  outputs_.resize(to_size(s_.layers));
}

template <class Real>
LayerWeights<Real> Decoder<Real>::weights_of(std::int64_t layer) const {
  return {&layout_.layer(layer), parameters_, gradient_};
}

template <class Real>
LayerShape Decoder<Real>::shape_of(std::int64_t layer) const {
  const bool last = layer + 1 == s_.layers;
  return {batch_->sequences, batch_->length, last ? batch_->tail() : batch_->length};
}

template <class Real>
const Real* Decoder<Real>::input_of(std::int64_t layer) const {
  return layer == 0 ? embedded_.data() : outputs_[to_size(layer - 1)];
}

template <class Real>
void Decoder<Real>::prepare(std::span<const Real> parameters, std::span<Real> gradient, const Batch& batch) {
  batch_ = &batch;
  parameters_ = parameters.data();
  gradient_ = gradient.empty() ? nullptr : gradient.data();
  if (s_.local_heads_in(0) > 0 && turns_.places() < batch.length) turns_ = Turns(2 * batch.length, s_.head_width);
  embed();
}

template <class Real>
void Decoder<Real>::embed() {
  const std::int64_t rows = batch_->sequences * batch_->length;
  const auto width = to_size(s_.width);
  embedded_.resize(to_size(rows) * width);
  for_blocks(threads_, rows, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t r = first; r < end; ++r) {
      Real* const row = embedded_.data() + r * s_.width;
      const std::int32_t* const tokens = batch_->tokens.data() + r * batch_->slots;
      std::copy_n(parameters_ + tokens[0] * s_.width, width, row);
      for (std::int64_t slot = 1; slot < batch_->slots; ++slot)
        learning::add_scaled(Real{1}, parameters_ + tokens[slot] * s_.width, width, row);
    }
  });
}

// Rows in their order, so that sums do not depend on threads.
template <class Real>
void Decoder<Real>::embed_backward() {
  if (gradient_ == cleared_)
    for (const std::int32_t token : read_tokens_) std::fill_n(gradient_ + token * s_.width, s_.width, Real{0});
  else
    std::fill_n(gradient_ + layout_.embedding().offset, layout_.embedding().size(), Real{0});
  cleared_ = gradient_;
  read_tokens_ = batch_->tokens;
  std::sort(read_tokens_.begin(), read_tokens_.end());
  read_tokens_.erase(std::unique(read_tokens_.begin(), read_tokens_.end()), read_tokens_.end());
  const std::int64_t rows = batch_->sequences * batch_->length;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t slot = 0; slot < batch_->slots; ++slot)
      learning::add_scaled(Real{1}, d_in_.data() + r * s_.width, to_size(s_.width),
                           gradient_ + batch_->tokens[to_size(r * batch_->slots + slot)] * s_.width);
}

// Layers from `first` on, of which those before `first_projected` have queries, keys and values already.
// rule_of(layer): normalizers, see LayerRule.
template <class Real>
template <class RuleOf>
void Decoder<Real>::run_layers(const RuleOf& rule_of, std::int64_t first, std::int64_t first_projected) {
  for (std::int64_t i = first; i < s_.layers; ++i) {
    if (i >= first_projected) project_in(i);
    outputs_[to_size(i)] = layers_[to_size(i)].finish(weights_of(i), rule_of(i), input_of(i));
  }
}

template <class Real>
void Decoder<Real>::project_in(std::int64_t layer) {
  layers_[to_size(layer)].project_in(weights_of(layer), turns_, shape_of(layer), input_of(layer));
}

// Local layers keep softmax, and the layer after them has queries, keys and values before its normalizer matters.
template <class Real>
void Decoder<Real>::run_before_rules() {
  const AnyNormalizer unused = Softmax{};
  for (std::int64_t i = 0; i < s_.local_layers; ++i) {
    project_in(i);
    outputs_[to_size(i)] = layers_[to_size(i)].finish(weights_of(i), {&unused, 1}, input_of(i));
  }
  project_in(s_.local_layers);
}

// Row of a question in what the last layer gives.
template <class Real>
std::int64_t Decoder<Real>::row_of(std::int64_t question) const {
  const Batch& b = *batch_;
  return question / b.asked() * b.tail() + b.places[to_size(question % b.asked())] - b.places.front();
}

template <class Real>
BatchReport Decoder<Real>::read_out() {
  const std::int64_t questions = batch_->sequences * batch_->asked(), outputs = task_.classes * task_.parts;
  asked_.resize(to_size(questions * s_.width));
  normed_.resize(asked_.size());
  inverse_.resize(to_size(questions));
  logits_.resize(to_size(questions * outputs));
  for (std::int64_t q = 0; q < questions; ++q)
    std::copy_n(outputs_.back() + row_of(q) * s_.width, s_.width, asked_.data() + q * s_.width);
  norm(threads_, Matrix<const Real>(asked_.data(), questions, s_.width),
       parameters_ + layout_.final_norm().offset, inverse_.data(), normed_.data());
  project(threads_, Matrix<const Real>(normed_.data(), questions, s_.width),
          Matrix<const Real>(parameters_ + layout_.head().offset, outputs, s_.width),
          Matrix<Real>(logits_.data(), questions, outputs));
  right_.assign(to_size(questions), true);
  BatchReport report;
  for (std::int64_t q = 0; q < questions; ++q) {
    for (std::int64_t part = 0; part < task_.parts; ++part) {
      const std::int64_t at = q * task_.parts + part;
      const PartOfAnswer found = cross_entropy(logits_.data() + at * task_.classes, task_.classes,
                                               batch_->answers[to_size(at)], questions);
      report.loss += found.loss / static_cast<double>(questions);
      if (!found.right) right_[to_size(q)] = false;
    }
    report.accuracy += right_[to_size(q)] ? 1.0 / static_cast<double>(questions) : 0.0;
  }
  return report;
}

// From the gradient by the logits to that by what the last layer gave, in d_out_.
template <class Real>
void Decoder<Real>::read_out_backward() {
  const Batch& b = *batch_;
  const std::int64_t questions = b.sequences * b.asked(), outputs = task_.classes * task_.parts;
  d_normed_.resize(normed_.size());
  d_asked_.assign(asked_.size(), Real{0});
  project_backward(threads_, Matrix<const Real>(logits_.data(), questions, outputs),
                   Matrix<const Real>(normed_.data(), questions, s_.width),
                   Matrix<const Real>(parameters_ + layout_.head().offset, outputs, s_.width),
                   Matrix<Real>(gradient_ + layout_.head().offset, outputs, s_.width),
                   Matrix<Real>(d_normed_.data(), questions, s_.width));
  norm_backward(threads_, Matrix<const Real>(asked_.data(), questions, s_.width),
                parameters_ + layout_.final_norm().offset, inverse_.data(), d_normed_.data(),
                gradient_ + layout_.final_norm().offset, Matrix<Real>(d_asked_.data(), questions, s_.width));
  d_out_.assign(to_size(b.sequences * b.tail() * s_.width), Real{0});
  for (std::int64_t q = 0; q < questions; ++q)
    std::copy_n(d_asked_.data() + q * s_.width, s_.width, d_out_.data() + row_of(q) * s_.width);
}

template <class Real>
BatchReport Decoder<Real>::measure(std::span<const Real> parameters,
                                   std::span<const AnyNormalizer> normalizers, const Batch& batch) {
  const SerialBlas serial;
  prepare(parameters, {}, batch);
  run_layers([&](std::int64_t i) { return normalizers.subspan(to_size(i), 1); }, 0, 0);
  return read_out();
}

template <class Real>
BatchReport Decoder<Real>::learn(std::span<const Real> parameters, std::span<const AnyNormalizer> normalizers,
                                 const Batch& batch, std::span<Real> gradient,
                                 std::span<double> d_normalizers) {
  const SerialBlas serial;
  prepare(parameters, gradient, batch);
  run_layers([&](std::int64_t i) { return normalizers.subspan(to_size(i), 1); }, 0, 0);
  const BatchReport report = read_out();
  read_out_backward();
  const auto count = static_cast<std::int64_t>(normalizers.front().parameters().size());
  for (std::int64_t i = s_.layers; i-- > 0;) {
    TensorView<double, 2> d_parameters;
    if (!d_normalizers.empty() && i < s_.local_layers)
      std::fill_n(d_normalizers.begin() + i * count * s_.global_heads(), count * s_.global_heads(), 0.0);
    else if (!d_normalizers.empty())
      d_parameters = {d_normalizers.data() + i * count * s_.global_heads(), {count, s_.global_heads()}};
    d_in_.resize(to_size(batch.sequences * batch.length * s_.width));
    layers_[to_size(i)].backward(weights_of(i), turns_, normalizers[to_size(i)], input_of(i), d_out_.data(),
                                 d_in_.data(), d_parameters);
    if (i > 0) std::swap(d_in_, d_out_);
  }
  embed_backward();
  return report;
}

// Attention over values that are 1 at the right place of one question each: what comes out is the weight there.
template <class Real>
void Decoder<Real>::watch_run(std::int64_t layer, const HeadRun& run, std::int64_t first, std::int64_t end,
                              std::span<HeadSums> sums, std::vector<bool>& found) const {
  const Batch& b = *batch_;
  const std::int64_t targets = end - first, begin = b.places[to_size(first)], places = b.places[to_size(end - 1)] + 1;
  const auto right_of = [&](std::int64_t sequence, std::int64_t t) {
    return static_cast<std::int64_t>(b.right[to_size(sequence * b.asked() + first + t)]);
  };
  std::vector<Real> marks(to_size(b.sequences * b.length * targets));
  for (std::int64_t i = 0; i < b.sequences; ++i)
    for (std::int64_t t = 0; t < targets; ++t)
      if (right_of(i, t) >= 0) marks[to_size((i * b.length + right_of(i, t)) * targets + t)] = 1;
  Tensor<Real, 4> out({b.sequences, run.count, places - begin, targets});
  OwnedStatistics statistics({.entropy = true, .peak_weight = true}, {b.sequences, run.count, places - begin, places});
  layers_[to_size(layer)].look(run, places, places - begin, {marks.data(), {b.sequences, b.length, targets}}, out,
                               statistics.views());
  for (std::int64_t i = 0; i < b.sequences; ++i) {
    for (std::int64_t h = 0; h < run.count; ++h) {
      HeadSums& sum = sums[to_size(run.first + h)];
      for (std::int64_t t = 0; t < targets; ++t) {
        const std::int64_t row = b.places[to_size(first + t)] - begin;
        sum.entropy += statistics.entropy(i, h, row);
        sum.peak_weight += statistics.peak_weight(i, h, row);
        ++sum.questions;
        if (right_of(i, t) < 0) continue;
        const auto weight = static_cast<double>(out(i, h, row, t));
        sum.right_weight += weight;
        ++sum.with_place;
        if (weight > 0.5) found[to_size(i * b.asked() + first + t)] = true;
      }
    }
  }
}

template <class Real>
void Decoder<Real>::watch_heads(std::int64_t layer, const LayerRule& rule, std::span<HeadSums> sums,
                                std::vector<bool>& found) const {
  constexpr std::int64_t kTargets = 16;  // at a time: their marks take memory
  for (const HeadRun& run : runs_of(rule, s_.global_heads()))
    for (std::int64_t first = 0; first < batch_->asked(); first += kTargets)
      watch_run(layer, run, first, std::min(first + kTargets, batch_->asked()), sums, found);
}

template <class Real>
void Decoder<Real>::answer(std::span<const Real> parameters, std::span<const Rule> rules, const Batch& batch, Watch watch,
                           const std::function<void(std::size_t, const Answers&)>& answered) {
  const SerialBlas serial;
  prepare(parameters, {}, batch);
  run_before_rules();
  const auto heads = to_size(s_.global_heads());
  for (std::size_t rule = 0; rule < rules.size(); ++rule) {
    run_layers([&](std::int64_t i) { return std::span<const AnyNormalizer>(rules[rule][to_size(i)]); }, s_.local_layers,
               s_.local_layers + 1);
    Answers answers;
    answers.found.resize(to_size(batch.sequences * batch.asked()));
    if (watch == Watch::heads) {
      answers.heads.resize(to_size(s_.global_layers()) * heads);
      for (std::int64_t i = 0; i < s_.global_layers(); ++i) {
        const std::int64_t layer = s_.local_layers + i;
        watch_heads(layer, rules[rule][to_size(layer)], std::span(answers.heads).subspan(to_size(i) * heads, heads),
                    answers.found);
      }
    }
    answers.loss = read_out().loss;
    answers.right = right_;
    answered(rule, answers);
  }
}

template class Decoder<float>;
template class Decoder<double>;

}  // namespace sharpmax::train
