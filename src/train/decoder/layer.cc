#include "train/decoder/layer.h"

#include <fmt/format.h>

#include <cmath>

#include "base/numbers.h"

namespace sharpmax::train {

Part Layout::add(std::string name, std::int64_t rows, std::int64_t columns) {
  Part part{std::move(name), size_, rows, columns};
  size_ += part.size();
  return part;
}

Layout::Layout(const DecoderSettings& s, const TaskShape& task) {
  const std::int64_t inner = s.heads * s.head_width, hidden = s.hidden_width();
  embedding_ = add("embedding", task.vocabulary, s.width);
  for (std::int64_t i = 0; i < s.layers; ++i) {
    const auto name = [i](const char* part) { return fmt::format("layers.{}.{}", i, part); };
    LayerParts layer;
    layer.attention_norm = add(name("attention_norm"), 1, s.width);
    layer.query = add(name("query"), inner, s.width);
    layer.key_value = add(name("key_value"), 2 * inner, s.width);
    layer.attention_out = add(name("attention_out"), s.width, inner);
    layer.feed_forward_norm = add(name("feed_forward_norm"), 1, s.width);
    layer.up = add(name("up"), s.feed_forward == "swiglu" ? 2 * hidden : hidden, s.width);
    layer.down = add(name("down"), s.width, hidden);
    layers_.push_back(std::move(layer));
  }
  final_norm_ = add("final_norm", 1, s.width);
  head_ = add("head", task.classes * task.parts, s.width);
}

std::vector<Part> Layout::parts() const {
  std::vector<Part> all;
  all.push_back(embedding_);
  for (const LayerParts& l : layers_)
    for (const Part* part :
         {&l.attention_norm, &l.query, &l.key_value, &l.attention_out, &l.feed_forward_norm, &l.up, &l.down})
      all.push_back(*part);
  all.push_back(final_norm_);
  all.push_back(head_);
  return all;
}

std::vector<float> initial_parameters(const DecoderSettings& settings, const TaskShape& task,
                                      std::uint64_t seed) {
  constexpr double kResidual = 0.5;  // of the matrices that write to the residual stream
  const Layout layout(settings, task);
  const CounterRandom random(seed, stream_of(Purpose::initial, 0, 0));
  std::vector<float> values(to_size(layout.size()));
  for (const Part& part : layout.parts()) {
    double spread = 1.0 / std::sqrt(static_cast<double>(part.columns));
    if (part.name == "embedding") spread = 1.0 / std::sqrt(static_cast<double>(task.slots));
    if (part.name.ends_with(".attention_out") || part.name.ends_with(".down")) spread *= kResidual;
    for (std::int64_t i = part.offset; i < part.offset + part.size(); ++i) {
      const auto at = static_cast<std::uint64_t>(i);
      values[to_size(i)] =
          part.is_matrix() ? static_cast<float>(spread * random.normals(at / 4)[at % 4]) : 1.0f;
    }
  }
  return values;
}

Turns::Turns(std::int64_t places, std::int64_t head_width) : places_(places), half_(head_width / 2) {
  constexpr double kBase = 10'000.0;
  cosines_.resize(to_size(places * half_));
  sines_.resize(cosines_.size());
  for (std::int64_t j = 0; j < half_; ++j) {
    const double frequency = std::pow(kBase, -static_cast<double>(j) / static_cast<double>(half_));
    for (std::int64_t p = 0; p < places; ++p) {
      cosines_[to_size(p * half_ + j)] = static_cast<float>(std::cos(static_cast<double>(p) * frequency));
      sines_[to_size(p * half_ + j)] = static_cast<float>(std::sin(static_cast<double>(p) * frequency));
    }
  }
}

std::vector<HeadRun> runs_of(std::span<const AnyNormalizer> rule, std::int64_t heads) {
  if (rule.size() == 1) return {{0, heads, rule.front()}};
  std::vector<HeadRun> runs;
  for (std::int64_t head = 0; head < heads; ++head) {
    if (!runs.empty() && runs.back().normalizer == rule[to_size(head)])
      ++runs.back().count;
    else
      runs.push_back({head, 1, rule[to_size(head)]});
  }
  return runs;
}

// The features of some heads in rows of all heads, [sequence, head, place, feature].
template <class Real>
TensorView<Real, 4> Layer<Real>::heads_of(std::vector<Real>& rows, const Heads& heads, std::int64_t places,
                                          std::int64_t stride, std::int64_t from) const {
  return {rows.data() + from + heads.first * s_.head_width,
          {shape_.sequences, heads.count, places, s_.head_width},
          {places * stride, s_.head_width, stride, 1}};
}

template <class Real>
AttentionRequest Layer<Real>::request_of(const Heads& heads) const {
  auto& self = const_cast<Layer&>(*this);  // views are read only in a request
  AttentionRequest request;
  request.query = heads_of(self.query_, heads, shape_.queries, inner());
  request.key = heads_of(self.key_value_, heads, shape_.places, 2 * inner());
  request.value = heads_of(self.key_value_, heads, shape_.places, 2 * inner(), inner());
  request.causal = Causal::bottom_right;
  if (heads.local) request.window.left = s_.window - 1;
  return request;
}

template <class Real>
void Layer<Real>::turn_rows(const Turns& turns, std::vector<Real>& rows, std::int64_t places,
                            std::int64_t stride, bool back) const {
  if (s_.local_heads == 0) return;
  for_blocks(threads_, shape_.sequences * places, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t r = first; r < end; ++r)
      turns.turn(shape_.places - places + r % places, rows.data() + r * stride, s_.local_heads, back);
  });
}

template <class Real>
void Layer<Real>::gather_tail(const Real* all, Real* tail) const {
  const std::int64_t skipped = shape_.places - shape_.queries;
  for (std::int64_t b = 0; b < shape_.sequences; ++b)
    std::copy_n(all + (b * shape_.places + skipped) * s_.width, shape_.queries * s_.width,
                tail + b * shape_.queries * s_.width);
}

template <class Real>
void Layer<Real>::add_tail(const Real* tail, Real* all) const {
  const std::int64_t skipped = shape_.places - shape_.queries;
  for (std::int64_t b = 0; b < shape_.sequences; ++b)
    learning::add_scaled(Real{1}, tail + b * shape_.queries * s_.width, to_size(shape_.queries * s_.width),
                         all + (b * shape_.places + skipped) * s_.width);
}

template <class Real>
void Layer<Real>::project_in(const LayerWeights<Real>& w, const Turns& turns, LayerShape shape,
                             const Real* x) {
  shape_ = shape;
  const std::int64_t rows = shape.rows(), queries = shape.query_rows();
  normed_.resize(to_size(rows * s_.width));
  inverse_.resize(to_size(rows));
  query_.resize(to_size(queries * inner()));
  key_value_.resize(to_size(rows * 2 * inner()));
  norm(threads_, Matrix<const Real>(x, rows, s_.width), w.parameters + w.parts->attention_norm.offset,
       inverse_.data(), normed_.data());
  const Real* asking = normed_.data();
  if (queries != rows) {
    tail_.resize(to_size(queries * s_.width));
    gather_tail(normed_.data(), tail_.data());
    asking = tail_.data();
  }
  project(threads_, Matrix<const Real>(asking, queries, s_.width), w.weight(w.parts->query),
          Matrix<Real>(query_.data(), queries, inner()));
  project(threads_, Matrix<const Real>(normed_.data(), rows, s_.width), w.weight(w.parts->key_value),
          Matrix<Real>(key_value_.data(), rows, 2 * inner()));
  turn_rows(turns, query_, shape.queries, inner(), false);
  turn_rows(turns, key_value_, shape.places, 2 * inner(), false);
}

template <class Real>
void Layer<Real>::attend_group(const Heads& heads, const AnyNormalizer& normalizer) {
  if (heads.count == 0) return;
  const Extents<3> rows = {shape_.sequences, heads.count, shape_.queries};
  auto& log_partition = log_partition_[heads.local ? 0 : 1];
  auto& temperature = temperature_[heads.local ? 0 : 1];
  log_partition = Tensor<double, 3>(rows);
  temperature = Tensor<double, 3>(rows);
  RowStatistics statistics;
  statistics.log_partition = log_partition.view();
  statistics.temperature = temperature.view();
  attend(request_of(heads), normalizer, heads_of(attended_, heads, shape_.queries, inner()), &statistics,
         {.threads = threads_});
}

template <class Real>
const Real* Layer<Real>::finish(const LayerWeights<Real>& w, std::span<const AnyNormalizer> rule,
                                const Real* x) {
  const std::int64_t queries = shape_.query_rows();
  attended_.resize(to_size(queries * inner()));
  attend_group(local(), Softmax{});
  for (const HeadRun& run : runs_of(rule, global().count))
    attend_group({global().first + run.first, run.count}, run.normalizer);
  middle_.resize(to_size(queries * s_.width));
  gather_tail(x, middle_.data());
  product(threads_, Matrix<const Real>(attended_.data(), queries, inner()),
          transpose(w.weight(w.parts->attention_out)), Real{1},
          Matrix<Real>(middle_.data(), queries, s_.width));
  feed_forward(w);
  return out_.data();
}

template <class Real>
void Layer<Real>::feed_forward(const LayerWeights<Real>& w) {
  const std::int64_t rows = shape_.query_rows(), hidden = s_.hidden_width();
  normed2_.resize(middle_.size());
  inverse2_.resize(to_size(rows));
  activated_.resize(to_size(rows * hidden));
  norm(threads_, Matrix<const Real>(middle_.data(), rows, s_.width),
       w.parameters + w.parts->feed_forward_norm.offset, inverse2_.data(), normed2_.data());
  const Matrix<const Real> in(normed2_.data(), rows, s_.width);
  if (s_.feed_forward == "swiglu") {
    inner_.resize(to_size(rows * 2 * hidden));
    project(threads_, in, w.weight(w.parts->up), Matrix<Real>(inner_.data(), rows, 2 * hidden));
    for_blocks(threads_, rows, [&](std::int64_t first, std::int64_t end) {
      for (std::int64_t r = first; r < end; ++r)
        swiglu(inner_.data() + r * 2 * hidden, hidden, activated_.data() + r * hidden);
    });
  } else {
    slopes_.resize(activated_.size());
    project(threads_, in, w.weight(w.parts->up), Matrix<Real>(activated_.data(), rows, hidden));
    for_blocks(threads_, rows, [&](std::int64_t first, std::int64_t end) {
      learning::gelu_in_place(activated_.data() + first * hidden, to_size((end - first) * hidden),
                              slopes_.data() + first * hidden);
    });
  }
  out_ = middle_;
  product(threads_, Matrix<const Real>(activated_.data(), rows, hidden), transpose(w.weight(w.parts->down)),
          Real{1}, Matrix<Real>(out_.data(), rows, s_.width));
}

// Leaves in d_middle_ the gradient by what entered the feed-forward part.
template <class Real>
void Layer<Real>::feed_forward_backward(const LayerWeights<Real>& w, const Real* d_out) {
  const std::int64_t rows = shape_.query_rows(), hidden = s_.hidden_width();
  const bool gated = s_.feed_forward == "swiglu";
  const std::int64_t up = gated ? 2 * hidden : hidden;
  d_activated_.resize(activated_.size());
  d_normed2_.resize(normed2_.size());
  project_backward(threads_, Matrix<const Real>(d_out, rows, s_.width),
                   Matrix<const Real>(activated_.data(), rows, hidden), w.weight(w.parts->down),
                   w.d_weight(w.parts->down), Matrix<Real>(d_activated_.data(), rows, hidden));
  if (gated) d_inner_.resize(inner_.size());
  for_blocks(threads_, rows, [&](std::int64_t first, std::int64_t end) {
    if (gated) {
      for (std::int64_t r = first; r < end; ++r)
        swiglu_backward(inner_.data() + r * up, d_activated_.data() + r * hidden, hidden,
                        d_inner_.data() + r * up);
    } else {
      for (std::int64_t i = first * hidden; i < end * hidden; ++i)
        d_activated_[to_size(i)] *= slopes_[to_size(i)];
    }
  });
  const std::vector<Real>& d_inner = gated ? d_inner_ : d_activated_;
  project_backward(threads_, Matrix<const Real>(d_inner.data(), rows, up),
                   Matrix<const Real>(normed2_.data(), rows, s_.width), w.weight(w.parts->up),
                   w.d_weight(w.parts->up), Matrix<Real>(d_normed2_.data(), rows, s_.width));
  d_middle_.assign(d_out, d_out + rows * s_.width);
  norm_backward(threads_, Matrix<const Real>(middle_.data(), rows, s_.width),
                w.parameters + w.parts->feed_forward_norm.offset, inverse2_.data(), d_normed2_.data(),
                w.gradient + w.parts->feed_forward_norm.offset,
                Matrix<Real>(d_middle_.data(), rows, s_.width));
}

template <class Real>
void Layer<Real>::attend_backward_group(const Heads& heads, const AnyNormalizer& normalizer,
                                        TensorView<double, 2> d_parameters) {
  if (heads.count == 0) return;
  const int group = heads.local ? 0 : 1;
  const TensorView<Real, 4> out = heads_of(attended_, heads, shape_.queries, inner());
  const TensorView<Real, 4> d_out = heads_of(d_attended_, heads, shape_.queries, inner());
  AttentionGradients gradients;
  gradients.query = heads_of(d_query_, heads, shape_.queries, inner());
  gradients.key = heads_of(d_key_value_, heads, shape_.places, 2 * inner());
  gradients.value = heads_of(d_key_value_, heads, shape_.places, 2 * inner(), inner());
  gradients.parameters = d_parameters;
  attend_backward(request_of(heads), normalizer, TensorView<const Real, 4>(d_out), gradients,
                  {TensorView<const Real, 4>(out), log_partition_[group].view(), temperature_[group].view()},
                  {.threads = threads_});
}

template <class Real>
void Layer<Real>::backward(const LayerWeights<Real>& w, const Turns& turns, const AnyNormalizer& normalizer,
                           const Real* x, const Real* d_out, Real* d_x, TensorView<double, 2> d_parameters) {
  const std::int64_t rows = shape_.rows(), queries = shape_.query_rows();
  feed_forward_backward(w, d_out);
  d_attended_.resize(attended_.size());
  d_query_.resize(query_.size());
  d_key_value_.resize(key_value_.size());
  d_normed_.resize(normed_.size());
  d_tail_.resize(to_size(queries * s_.width));
  project_backward(threads_, Matrix<const Real>(d_middle_.data(), queries, s_.width),
                   Matrix<const Real>(attended_.data(), queries, inner()), w.weight(w.parts->attention_out),
                   w.d_weight(w.parts->attention_out), Matrix<Real>(d_attended_.data(), queries, inner()));
  attend_backward_group(local(), Softmax{}, {});
  attend_backward_group(global(), normalizer, d_parameters);
  turn_rows(turns, d_query_, shape_.queries, inner(), true);
  turn_rows(turns, d_key_value_, shape_.places, 2 * inner(), true);
  const std::vector<Real>& asking = queries == rows ? normed_ : tail_;
  project_backward(threads_, Matrix<const Real>(d_query_.data(), queries, inner()),
                   Matrix<const Real>(asking.data(), queries, s_.width), w.weight(w.parts->query),
                   w.d_weight(w.parts->query), Matrix<Real>(d_tail_.data(), queries, s_.width));
  project_backward(threads_, Matrix<const Real>(d_key_value_.data(), rows, 2 * inner()),
                   Matrix<const Real>(normed_.data(), rows, s_.width), w.weight(w.parts->key_value),
                   w.d_weight(w.parts->key_value), Matrix<Real>(d_normed_.data(), rows, s_.width));
  add_tail(d_tail_.data(), d_normed_.data());
  std::fill_n(d_x, rows * s_.width, Real{0});
  add_tail(d_middle_.data(), d_x);
  norm_backward(threads_, Matrix<const Real>(x, rows, s_.width),
                w.parameters + w.parts->attention_norm.offset, inverse_.data(), d_normed_.data(),
                w.gradient + w.parts->attention_norm.offset, Matrix<Real>(d_x, rows, s_.width));
}

template <class Real>
void Layer<Real>::look(const HeadRun& run, std::int64_t places, std::int64_t queries,
                       TensorView<const Real, 3> values, TensorView<Real, 4> out,
                       const RowStatistics& statistics) const {
  const Heads heads = {global().first + run.first, run.count};
  auto& self = const_cast<Layer&>(*this);
  AttentionRequest request = request_of(heads);
  const std::int64_t skipped = shape_.queries - (shape_.places - places) - queries;
  request.key = TensorView<const Real, 4>(
      self.key_value_.data() + heads.first * s_.head_width, {shape_.sequences, heads.count, places, s_.head_width},
      {shape_.places * 2 * inner(), s_.head_width, 2 * inner(), 1});
  request.query =
      TensorView<const Real, 4>(self.query_.data() + skipped * inner() + heads.first * s_.head_width,
                                {shape_.sequences, heads.count, queries, s_.head_width},
                                {shape_.queries * inner(), s_.head_width, inner(), 1});
  request.value =
      TensorView<const Real, 4>(values.data, {values.shape[0], heads.count, places, values.shape[2]},
                                {values.strides[0], 0, values.strides[1], values.strides[2]});
  attend(request, run.normalizer, out, &statistics, {.threads = threads_});
}

template class Layer<float>;
template class Layer<double>;

}  // namespace sharpmax::train
