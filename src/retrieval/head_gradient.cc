#include "retrieval/head_gradient.h"

#include <algorithm>
#include <cmath>

#include "normalizer/definition.h"
#include "normalizer/softmax_map.h"
#include "retrieval/blas.h"
#include "retrieval/head_kernels.h"

namespace sharpmax::retrieval {

void Batch::clear() {
  begin.assign(1, 0);
  priorities.clear();
  classes.clear();
  queries.clear();
  answers.clear();
}

void Batch::add(const Set& set) {
  priorities.insert(priorities.end(), set.priorities.begin(), set.priorities.end());
  classes.insert(classes.end(), set.classes.begin(), set.classes.end());
  begin.push_back(items());
  queries.push_back(set.query);
  answers.push_back(set.classes[static_cast<std::size_t>(set.right)]);
}

void draw_batch(const TrainingSettings& settings, std::uint64_t seed, std::int64_t step, Batch& batch) {
  batch.clear();
  Set set;
  for (std::int64_t index = 0; index < settings.batch; ++index) {
    draw_training_set(settings, seed, step, index, set);
    batch.add(set);
  }
}

// Everything a step writes down, and the step's stages in the order in which data flow.
template <class Real>
struct HeadGradient<Real>::Workspace {
  using View = Matrix<Real>;
  using ConstView = Matrix<const Real>;

  explicit Workspace(const TrainingSettings& settings)
      : layout(settings.encoder, settings.width, settings.classes),
        mlp(settings.encoder == Encoder::mlp),
        width(settings.width),
        classes(settings.classes),
        items_in(layout.item_features()),
        query_in(layout.query_features()),
        scale(settings.scale_scores ? static_cast<Real>(1.0 / std::sqrt(static_cast<double>(settings.width)))
                                    : Real{1}) {
    const auto sized = [](std::int64_t n) { return std::vector<Real>(static_cast<std::size_t>(n)); };
    items_map = d_items_map = value_map = d_value_map = hidden_map = d_hidden_map =
        sized(width * (items_in + 1));
    query_map = query_1 = query_2 = d_query_map = d_query_1 = d_query_2 = sized(width * (query_in + 1));
    score_map = d_score_map = sized((items_in + 1) * (query_in + 1));
    offsets = d_offsets = sized(mlp ? classes * width : 0);
    slopes = d_slopes = sized(mlp ? width : 0);
  }

  const Layout layout;
  const bool mlp;
  const std::int64_t width, classes, items_in, query_in;
  const Real scale;

  // Folded maps and their gradients. The last column is the bias's.
  std::vector<Real> items_map, value_map, hidden_map;  // [width, items_in + 1]
  std::vector<Real> d_items_map, d_value_map, d_hidden_map;
  std::vector<Real> query_map, query_1, query_2;  // [width, query_in + 1]
  std::vector<Real> d_query_map, d_query_1, d_query_2;
  std::vector<Real> score_map, d_score_map;  // [items_in + 1, query_in + 1]
  // mlp: an item's features are GELU(slopes rho + offsets[class]).
  std::vector<Real> slopes, d_slopes;    // [width]
  std::vector<Real> offsets, d_offsets;  // [classes, width]
  // Of the batch.
  std::vector<Real> query_features, query_slopes, d_query_features;  // [sets, query_in + 1]
  std::vector<Real> t, d_t, pooled, d_pooled;                        // [sets, items_in + 1]
  std::vector<Real> hidden, hidden_slopes, d_hidden;                 // [sets, width]
  std::vector<Real> logits;                                          // [sets, classes], then their gradient
  std::vector<Real> features, feature_slopes;                        // [items, width], mlp only
  std::vector<double> scores, weights;                               // [items]
  std::vector<double> temperatures;                                  // [sets]
  std::vector<double> d_weights, d_scores;                           // of one set

  std::span<const Real> parameters;
  std::span<Real> gradient;

  ConstView part(Part which) const {
    const PartShape& shape = layout[which];
    return {parameters.data() + shape.offset, shape.rows, shape.columns};
  }
  View d_part(Part which) const {
    const PartShape& shape = layout[which];
    return {gradient.data() + shape.offset, shape.rows, shape.columns};
  }
  static View view(std::vector<Real>& memory, std::int64_t rows) {
    return {memory.data(), rows, static_cast<std::int64_t>(memory.size()) / rows};
  }
  Real* row(std::vector<Real>& memory, std::int64_t columns, std::int64_t index) {
    return memory.data() + index * columns;
  }

  void size_for(const Batch& batch);
  void fold();
  void encode_queries(const Batch& batch);
  void score_items(const Batch& batch);
  void weigh_and_pool(const AnyNormalizer& normalizer, const Batch& batch);
  StepReport read_out(const Batch& batch);
  void read_out_backward();
  void items_backward(const AnyNormalizer& normalizer, const Batch& batch, std::span<double> d_normalizer);
  void set_backward(const Batch& batch, std::int64_t b);
  void queries_backward(const Batch& batch);
  void unfold();
};

namespace {

// Rules that search for a temperature and stop the gradient there backpropagate as softmax at the temperature
// the forward pass found: searching again is half of such a step.
bool temperature_is_stopped(const AnyNormalizer& normalizer) {
  const Rule rule = normalizer.definition().rule(HeadParameters(normalizer.parameters(), 0), 2.0);
  const bool searches = rule.kind == RuleKind::surveyed || rule.kind == RuleKind::entropy_target ||
                        rule.kind == RuleKind::peak_target;
  return searches && !rule.full_gradient;
}

// [weight | bias] side by side.
template <class Real>
void join_bias(Matrix<const Real> weight, Matrix<const Real> bias, Matrix<Real> out) {
  for (std::int64_t r = 0; r < weight.rows; ++r) {
    std::copy_n(weight.data + r * weight.columns, weight.columns, out.data + r * out.stride);
    out.data[r * out.stride + weight.columns] = bias.data[r];
  }
}

template <class Real>
void split_bias(Matrix<const Real> joined, Matrix<Real> weight, Matrix<Real> bias) {
  for (std::int64_t r = 0; r < weight.rows; ++r) {
    std::copy_n(joined.data + r * joined.stride, weight.columns, weight.data + r * weight.columns);
    bias.data[r] = joined.data[r * joined.stride + weight.columns];
  }
}

template <class Real>
void sum_rows(Matrix<const Real> a, Real* sums) {
  std::fill_n(sums, a.columns, Real{0});
  for (std::int64_t r = 0; r < a.rows; ++r)
    add_scaled(Real{1}, a.data + r * a.stride, static_cast<std::size_t>(a.columns), sums);
}

}  // namespace

template <class Real>
void HeadGradient<Real>::Workspace::size_for(const Batch& batch) {
  const auto size = [](std::vector<Real>& memory, std::int64_t n) {
    memory.resize(static_cast<std::size_t>(n));
  };
  for (auto* memory : {&query_features, &query_slopes, &d_query_features})
    size(*memory, batch.sets() * (query_in + 1));
  for (auto* memory : {&t, &d_t, &pooled, &d_pooled}) size(*memory, batch.sets() * (items_in + 1));
  for (auto* memory : {&hidden, &hidden_slopes, &d_hidden}) size(*memory, batch.sets() * width);
  size(logits, batch.sets() * classes);
  if (mlp)
    for (auto* memory : {&features, &feature_slopes}) size(*memory, batch.items() * width);
  for (auto* memory : {&scores, &weights}) memory->resize(static_cast<std::size_t>(batch.items()));
  temperatures.resize(static_cast<std::size_t>(batch.sets()));
}

template <class Real>
void HeadGradient<Real>::Workspace::fold() {
  const View x = view(items_map, width), y = view(query_map, width);
  join_bias(part(Part::item_weight), part(Part::item_bias), x);
  join_bias(part(Part::query_weight), part(Part::query_bias), y);
  gemm(1, part(Part::w_q), y, 0, view(query_1, width));
  gemm(1, transpose(part(Part::w_k)), view(query_1, width), 0, view(query_2, width));
  gemm(scale, transpose<const Real>(x), view(query_2, width), 0, view(score_map, items_in + 1));
  gemm(1, part(Part::w_v), x, 0, view(value_map, width));
  gemm(1, part(Part::hidden_weight), view(value_map, width), 0, view(hidden_map, width));
  if (!mlp) return;
  const ConstView in = part(Part::item_in_weight);  // [width, 1 + classes]: column 0 is the priority's
  const Real* bias = part(Part::item_in_bias).data;
  for (std::int64_t j = 0; j < width; ++j) {
    slopes[static_cast<std::size_t>(j)] = in.data[j * in.columns];
    for (std::int64_t c = 0; c < classes; ++c)
      row(offsets, width, c)[j] = in.data[j * in.columns + 1 + c] + bias[j];
  }
}

template <class Real>
void HeadGradient<Real>::Workspace::encode_queries(const Batch& batch) {
  for (std::int64_t b = 0; b < batch.sets(); ++b) {
    Real* h = row(query_features, query_in + 1, b);
    const Real y = static_cast<Real>(batch.queries[static_cast<std::size_t>(b)]);
    if (mlp) {
      gelu_features(part(Part::query_in_weight).data, part(Part::query_in_bias).data, y,
                    static_cast<std::size_t>(query_in), h, row(query_slopes, query_in + 1, b));
    } else {
      h[0] = y;
    }
    h[query_in] = Real{1};
  }
  gemm(1, view(query_features, batch.sets()), transpose<const Real>(view(score_map, items_in + 1)), 0,
       view(t, batch.sets()));
}

template <class Real>
void HeadGradient<Real>::Workspace::score_items(const Batch& batch) {
  const auto n = static_cast<std::size_t>(width);
  for (std::int64_t b = 0; b < batch.sets(); ++b) {
    const Real* query = row(t, items_in + 1, b);
    for (std::int64_t i = batch.begin[static_cast<std::size_t>(b)];
         i < batch.begin[static_cast<std::size_t>(b) + 1]; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::int64_t c = batch.classes[at];
      if (mlp) {
        Real* g = row(features, width, i);
        gelu_features(slopes.data(), row(offsets, width, c), static_cast<Real>(batch.priorities[at]), n, g,
                      row(feature_slopes, width, i));
        scores[at] = static_cast<double>(dot(query, g, n)) + static_cast<double>(query[items_in]);
      } else {
        scores[at] = static_cast<double>(query[0]) * batch.priorities[at] +
                     static_cast<double>(query[1 + c]) + static_cast<double>(query[items_in]);
      }
    }
  }
}

template <class Real>
void HeadGradient<Real>::Workspace::weigh_and_pool(const AnyNormalizer& normalizer, const Batch& batch) {
  std::fill(pooled.begin(), pooled.end(), Real{0});
  for (std::int64_t b = 0; b < batch.sets(); ++b) {
    const auto first = static_cast<std::size_t>(batch.begin[static_cast<std::size_t>(b)]);
    const auto last = static_cast<std::size_t>(batch.begin[static_cast<std::size_t>(b) + 1]);
    const RowFacts facts =
        weigh_row(normalizer, 0, std::span<const double>(scores).subspan(first, last - first),
                  std::span(weights).subspan(first, last - first));
    temperatures[static_cast<std::size_t>(b)] = facts.temperature;
    Real* z = row(pooled, items_in + 1, b);
    double mass = 0.0;
    for (std::size_t i = first; i < last; ++i) {
      mass += weights[i];
      const Real w = static_cast<Real>(weights[i]);
      if (mlp) {
        add_scaled(w, row(features, width, static_cast<std::int64_t>(i)), static_cast<std::size_t>(width), z);
      } else {
        z[0] += w * static_cast<Real>(batch.priorities[i]);
        z[1 + batch.classes[i]] += w;
      }
    }
    z[items_in] = static_cast<Real>(mass);
  }
}

// Logits become their gradient in place.
template <class Real>
StepReport HeadGradient<Real>::Workspace::read_out(const Batch& batch) {
  const std::int64_t sets = batch.sets();
  for (std::int64_t b = 0; b < sets; ++b)
    std::copy_n(part(Part::hidden_bias).data, width, row(hidden, width, b));
  gemm(1, view(pooled, sets), transpose<const Real>(view(hidden_map, width)), 1, view(hidden, sets));
  gelu_in_place(hidden.data(), hidden.size(), hidden_slopes.data());
  for (std::int64_t b = 0; b < sets; ++b)
    std::copy_n(part(Part::out_bias).data, classes, row(logits, classes, b));
  gemm(1, view(hidden, sets), transpose(part(Part::out_weight)), 1, view(logits, sets));
  StepReport report;
  for (std::int64_t b = 0; b < sets; ++b) {
    Real* z = row(logits, classes, b);
    const auto answer = batch.answers[static_cast<std::size_t>(b)];
    const Real* best = std::max_element(z, z + classes);
    report.accuracy += best - z == answer ? 1.0 : 0.0;
    const double top = static_cast<double>(*best);
    double sum = 0.0;
    for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(static_cast<double>(z[c]) - top);
    report.loss += std::log(sum) + top - static_cast<double>(z[answer]);
    for (std::int64_t c = 0; c < classes; ++c) {
      const double p = std::exp(static_cast<double>(z[c]) - top) / sum;
      z[c] = static_cast<Real>((p - (c == answer ? 1.0 : 0.0)) / static_cast<double>(sets));
    }
  }
  report.loss /= static_cast<double>(sets);
  report.accuracy /= static_cast<double>(sets);
  return report;
}

template <class Real>
void HeadGradient<Real>::Workspace::read_out_backward() {
  const std::int64_t sets = static_cast<std::int64_t>(logits.size()) / classes;
  const View d_logits = view(logits, sets), d_h = view(d_hidden, sets);
  gemm(1, transpose<const Real>(d_logits), view(hidden, sets), 0, d_part(Part::out_weight));
  sum_rows<Real>(d_logits, d_part(Part::out_bias).data);
  gemm(1, d_logits, part(Part::out_weight), 0, d_h);
  for (std::size_t i = 0; i < d_hidden.size(); ++i) d_hidden[i] *= hidden_slopes[i];
  sum_rows<Real>(d_h, d_part(Part::hidden_bias).data);
  gemm(1, transpose<const Real>(d_h), view(pooled, sets), 0, view(d_hidden_map, width));
  gemm(1, d_h, view(hidden_map, width), 0, view(d_pooled, sets));
}

template <class Real>
void HeadGradient<Real>::Workspace::items_backward(const AnyNormalizer& normalizer, const Batch& batch,
                                                   std::span<double> d_normalizer) {
  for (auto* memory : {&d_t, &d_slopes, &d_offsets}) std::fill(memory->begin(), memory->end(), Real{0});
  const bool stopped = temperature_is_stopped(normalizer);
  for (std::int64_t b = 0; b < batch.sets(); ++b) {
    const auto first = static_cast<std::size_t>(batch.begin[static_cast<std::size_t>(b)]);
    const auto size = static_cast<std::size_t>(batch.begin[static_cast<std::size_t>(b) + 1]) - first;
    d_weights.resize(size);
    d_scores.resize(size);
    const Real* d_z = row(d_pooled, items_in + 1, b);
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t at = first + i;
      const Real through_features =
          mlp ? dot(d_z, row(features, width, static_cast<std::int64_t>(at)), static_cast<std::size_t>(width))
              : d_z[0] * static_cast<Real>(batch.priorities[at]) + d_z[1 + batch.classes[at]];
      d_weights[i] = static_cast<double>(through_features) + static_cast<double>(d_z[items_in]);
    }
    const auto row_scores = std::span<const double>(scores).subspan(first, size);
    const auto row_weights = std::span<const double>(weights).subspan(first, size);
    const double beta = temperatures[static_cast<std::size_t>(b)];
    if (stopped && std::isfinite(beta))
      softmax_backward(beta, row_scores, row_weights, d_weights, d_scores);
    else
      sharpmax::backward_row(normalizer, 0, row_scores, row_weights, d_weights, d_scores, d_normalizer);
    set_backward(batch, b);
  }
}

template <class Real>
void HeadGradient<Real>::Workspace::set_backward(const Batch& batch, std::int64_t b) {
  const std::int64_t first = batch.begin[static_cast<std::size_t>(b)];
  Real* d_query = row(d_t, items_in + 1, b);
  double d_constant = 0.0;
  for (std::size_t i = 0; i < d_scores.size(); ++i) {
    const std::size_t at = static_cast<std::size_t>(first) + i;
    const std::int64_t c = batch.classes[at];
    const Real d_score = static_cast<Real>(d_scores[i]);
    const Real rho = static_cast<Real>(batch.priorities[at]);
    d_constant += d_scores[i];
    if (!mlp) {
      d_query[0] += d_score * rho;
      d_query[1 + c] += d_score;
      continue;
    }
    item_backward(
        ItemBackward<Real>{.features = row(features, width, first) + static_cast<std::int64_t>(i) * width,
                           .slopes = row(feature_slopes, width, first) + static_cast<std::int64_t>(i) * width,
                           .d_pooled = row(d_pooled, items_in + 1, b),
                           .t = row(t, items_in + 1, b),
                           .weight = static_cast<Real>(weights[at]),
                           .d_score = d_score,
                           .x = rho,
                           .d_slope = d_slopes.data(),
                           .d_offset = row(d_offsets, width, c),
                           .d_t = d_query},
        static_cast<std::size_t>(width));
  }
  d_query[items_in] = static_cast<Real>(d_constant);
}

template <class Real>
void HeadGradient<Real>::Workspace::queries_backward(const Batch& batch) {
  const std::int64_t sets = batch.sets();
  gemm(1, transpose<const Real>(view(d_t, sets)), view(query_features, sets), 0,
       view(d_score_map, items_in + 1));
  if (!mlp) return;
  gemm(1, view(d_t, sets), view(score_map, items_in + 1), 0, view(d_query_features, sets));
  Real* d_weight = d_part(Part::query_in_weight).data;
  Real* d_bias = d_part(Part::query_in_bias).data;
  std::fill_n(d_weight, width, Real{0});
  std::fill_n(d_bias, width, Real{0});
  for (std::int64_t b = 0; b < sets; ++b) {
    Real* d_h = row(d_query_features, query_in + 1, b);
    const Real* slope = row(query_slopes, query_in + 1, b);
    for (std::int64_t j = 0; j < width; ++j) d_h[j] *= slope[j];
    add_scaled(static_cast<Real>(batch.queries[static_cast<std::size_t>(b)]), d_h,
               static_cast<std::size_t>(width), d_weight);
    add_scaled(Real{1}, d_h, static_cast<std::size_t>(width), d_bias);
  }
}

template <class Real>
void HeadGradient<Real>::Workspace::unfold() {
  const View x = view(items_map, width), d_x = view(d_items_map, width);
  const View r1 = view(value_map, width), d_r = view(d_hidden_map, width), d_r1 = view(d_value_map, width);
  gemm(1, d_r, transpose<const Real>(r1), 0, d_part(Part::hidden_weight));
  gemm(1, transpose(part(Part::hidden_weight)), d_r, 0, d_r1);
  gemm(1, d_r1, transpose<const Real>(x), 0, d_part(Part::w_v));
  gemm(1, transpose(part(Part::w_v)), d_r1, 0, d_x);

  const View d_score = view(d_score_map, items_in + 1);
  const View q1 = view(query_1, width), q2 = view(query_2, width), y = view(query_map, width);
  gemm(scale, q2, transpose<const Real>(d_score), 1, d_x);
  gemm(scale, x, d_score, 0, view(d_query_2, width));
  gemm(1, q1, transpose<const Real>(view(d_query_2, width)), 0, d_part(Part::w_k));
  gemm(1, part(Part::w_k), view(d_query_2, width), 0, view(d_query_1, width));
  gemm(1, view(d_query_1, width), transpose<const Real>(y), 0, d_part(Part::w_q));
  gemm(1, transpose(part(Part::w_q)), view(d_query_1, width), 0, view(d_query_map, width));
  split_bias<Real>(d_x, d_part(Part::item_weight), d_part(Part::item_bias));
  split_bias<Real>(view(d_query_map, width), d_part(Part::query_weight), d_part(Part::query_bias));
  if (!mlp) return;
  const View d_in = d_part(Part::item_in_weight);
  sum_rows<Real>(view(d_offsets, classes), d_part(Part::item_in_bias).data);
  for (std::int64_t j = 0; j < width; ++j) {
    d_in.data[j * d_in.columns] = d_slopes[static_cast<std::size_t>(j)];
    for (std::int64_t c = 0; c < classes; ++c)
      d_in.data[j * d_in.columns + 1 + c] = row(d_offsets, width, c)[j];
  }
}

template <class Real>
HeadGradient<Real>::HeadGradient(const TrainingSettings& settings)
    : workspace_(std::make_unique<Workspace>(settings)) {}
template <class Real>
HeadGradient<Real>::~HeadGradient() = default;
template <class Real>
HeadGradient<Real>::HeadGradient(HeadGradient&&) noexcept = default;

template <class Real>
StepReport HeadGradient<Real>::run(std::span<const Real> parameters, const AnyNormalizer& normalizer,
                                   const Batch& batch, std::span<Real> gradient,
                                   std::span<double> d_normalizer) {
  const SerialBlas serial;
  Workspace& w = *workspace_;
  w.parameters = parameters;
  w.gradient = gradient;
  std::fill(d_normalizer.begin(), d_normalizer.end(), 0.0);
  w.size_for(batch);
  w.fold();
  w.encode_queries(batch);
  w.score_items(batch);
  w.weigh_and_pool(normalizer, batch);
  const StepReport report = w.read_out(batch);
  w.read_out_backward();
  w.items_backward(normalizer, batch, d_normalizer);
  w.queries_backward(batch);
  w.unfold();
  return report;
}

template class HeadGradient<float>;
template class HeadGradient<double>;

}  // namespace sharpmax::retrieval
