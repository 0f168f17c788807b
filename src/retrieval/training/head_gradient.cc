#include "retrieval/training/training.h"

#include <algorithm>
#include <cmath>

#include "normalizer/definition.h"
#include "normalizer/softmax_map.h"
#include "retrieval/training/head_kernels.h"
#include "retrieval/training/head_parts.h"

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

// Everything a step writes down, and its stages in the order in which data flow.
template <class Real>
struct HeadGradient<Real>::Workspace {
  explicit Workspace(const TrainingSettings& settings)
      : layout(settings.encoder, settings.width, settings.classes),
        mlp(settings.encoder == Encoder::mlp),
        width(settings.width),
        classes(settings.classes),
        features_of_item(layout.item_features()),
        query_path(settings, layout),
        read_out(settings, layout) {
    for (auto* memory : {&items_map, &d_items_map})
      memory->resize(static_cast<std::size_t>(width * (features_of_item + 1)));
    if (!mlp) return;
    for (auto* memory : {&slopes, &d_slopes}) memory->resize(static_cast<std::size_t>(width));
    for (auto* memory : {&offsets, &d_offsets}) memory->resize(static_cast<std::size_t>(classes * width));
  }

  const Layout layout;
  const bool mlp;
  const std::int64_t width, classes, features_of_item;
  QueryPath<Real> query_path;
  ReadOut<Real> read_out;
  PartViews<Real> head;

  std::vector<Real> items_map, d_items_map;  // [W_items b_items]: [width, features_of_item + 1]
  // mlp: an item's features are GELU(slopes rho + offsets[class]).
  std::vector<Real> slopes, d_slopes;    // [width]
  std::vector<Real> offsets, d_offsets;  // [classes, width]
  // Of the batch.
  std::vector<Real> t, d_t, pooled, d_pooled;  // [sets, features_of_item + 1]
  std::vector<Real> features, feature_slopes;  // [items, width], mlp only
  std::vector<double> scores, weights;         // [items]
  std::vector<double> temperatures;            // [sets]
  std::vector<double> d_weights, d_scores;     // of one set

  Matrix<Real> items_view() { return as_matrix(items_map, width); }
  Real* vector_of(std::vector<Real>& memory, std::int64_t set) {
    return row_of(memory, features_of_item + 1, set);
  }

  void size_for(const Batch& batch);
  void read_item_encoder();
  void score_items(const Batch& batch);
  void weigh_and_pool(const AnyNormalizer& normalizer, const Batch& batch);
  void items_backward(const AnyNormalizer& normalizer, const Batch& batch, std::span<double> d_normalizer);
  void set_backward(const Batch& batch, std::int64_t b);
  void write_item_encoder();
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

// Where the items of set b lie.
struct Stretch {
  std::size_t first;
  std::size_t size;
};
Stretch items_of(const Batch& batch, std::int64_t b) {
  const auto first = static_cast<std::size_t>(batch.begin[static_cast<std::size_t>(b)]);
  return {first, static_cast<std::size_t>(batch.begin[static_cast<std::size_t>(b) + 1]) - first};
}

}  // namespace

template <class Real>
void HeadGradient<Real>::Workspace::size_for(const Batch& batch) {
  for (auto* memory : {&t, &d_t, &pooled, &d_pooled})
    memory->resize(static_cast<std::size_t>(batch.sets() * (features_of_item + 1)));
  if (mlp)
    for (auto* memory : {&features, &feature_slopes})
      memory->resize(static_cast<std::size_t>(batch.items() * width));
  for (auto* memory : {&scores, &weights}) memory->resize(static_cast<std::size_t>(batch.items()));
  temperatures.resize(static_cast<std::size_t>(batch.sets()));
}

template <class Real>
void HeadGradient<Real>::Workspace::read_item_encoder() {
  join_bias(head[Part::item_weight], head[Part::item_bias], items_view());
  if (!mlp) return;
  const Matrix<const Real> in =
      head[Part::item_in_weight];  // [width, 1 + classes]: column 0 is the priority's
  const Real* bias = head[Part::item_in_bias].data;
  for (std::int64_t j = 0; j < width; ++j) {
    slopes[static_cast<std::size_t>(j)] = in.data[j * in.columns];
    for (std::int64_t c = 0; c < classes; ++c)
      row_of(offsets, width, c)[j] = in.data[j * in.columns + 1 + c] + bias[j];
  }
}

template <class Real>
void HeadGradient<Real>::Workspace::score_items(const Batch& batch) {
  const auto n = static_cast<std::size_t>(width);
  for (std::int64_t b = 0; b < batch.sets(); ++b) {
    const Real* query = vector_of(t, b);
    const double constant = static_cast<double>(query[features_of_item]);
    const auto [first, size] = items_of(batch, b);
    for (std::size_t at = first; at < first + size; ++at) {
      const std::int64_t c = batch.classes[at];
      if (!mlp) {
        scores[at] = static_cast<double>(query[0]) * batch.priorities[at] +
                     static_cast<double>(query[1 + c]) + constant;
        continue;
      }
      Real* g = row_of(features, width, static_cast<std::int64_t>(at));
      gelu_features(slopes.data(), row_of(offsets, width, c), static_cast<Real>(batch.priorities[at]), n, g,
                    row_of(feature_slopes, width, static_cast<std::int64_t>(at)));
      scores[at] = static_cast<double>(dot(query, g, n)) + constant;
    }
  }
}

template <class Real>
void HeadGradient<Real>::Workspace::weigh_and_pool(const AnyNormalizer& normalizer, const Batch& batch) {
  std::fill(pooled.begin(), pooled.end(), Real{0});
  for (std::int64_t b = 0; b < batch.sets(); ++b) {
    const auto [first, size] = items_of(batch, b);
    const RowFacts facts = weigh_row(normalizer, 0, std::span<const double>(scores).subspan(first, size),
                                     std::span(weights).subspan(first, size));
    temperatures[static_cast<std::size_t>(b)] = facts.temperature;
    Real* z = vector_of(pooled, b);
    double mass = 0.0;
    for (std::size_t i = first; i < first + size; ++i) {
      mass += weights[i];
      const Real w = static_cast<Real>(weights[i]);
      if (mlp) {
        add_scaled(w, row_of(features, width, static_cast<std::int64_t>(i)), static_cast<std::size_t>(width),
                   z);
      } else {
        z[0] += w * static_cast<Real>(batch.priorities[i]);
        z[1 + batch.classes[i]] += w;
      }
    }
    z[features_of_item] = static_cast<Real>(mass);
  }
}

template <class Real>
void HeadGradient<Real>::Workspace::items_backward(const AnyNormalizer& normalizer, const Batch& batch,
                                                   std::span<double> d_normalizer) {
  for (auto* memory : {&d_t, &d_slopes, &d_offsets}) std::fill(memory->begin(), memory->end(), Real{0});
  const bool stopped = temperature_is_stopped(normalizer);
  for (std::int64_t b = 0; b < batch.sets(); ++b) {
    const auto [first, size] = items_of(batch, b);
    d_weights.resize(size);
    d_scores.resize(size);
    const Real* d_z = vector_of(d_pooled, b);
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t at = first + i;
      const Real through_features =
          mlp ? dot(d_z, row_of(features, width, static_cast<std::int64_t>(at)),
                    static_cast<std::size_t>(width))
              : d_z[0] * static_cast<Real>(batch.priorities[at]) + d_z[1 + batch.classes[at]];
      d_weights[i] = static_cast<double>(through_features) + static_cast<double>(d_z[features_of_item]);
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
  const auto [first, size] = items_of(batch, b);
  Real* d_query = vector_of(d_t, b);
  double d_constant = 0.0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t at = first + i;
    const std::int64_t c = batch.classes[at];
    const Real d_score = static_cast<Real>(d_scores[i]);
    const Real rho = static_cast<Real>(batch.priorities[at]);
    d_constant += d_scores[i];
    if (!mlp) {
      d_query[0] += d_score * rho;
      d_query[1 + c] += d_score;
      continue;
    }
    item_backward(ItemBackward<Real>{.features = row_of(features, width, static_cast<std::int64_t>(at)),
                                     .slopes = row_of(feature_slopes, width, static_cast<std::int64_t>(at)),
                                     .d_pooled = vector_of(d_pooled, b),
                                     .t = vector_of(t, b),
                                     .weight = static_cast<Real>(weights[at]),
                                     .d_score = d_score,
                                     .x = rho,
                                     .d_slope = d_slopes.data(),
                                     .d_offset = row_of(d_offsets, width, c),
                                     .d_t = d_query},
                  static_cast<std::size_t>(width));
  }
  d_query[features_of_item] = static_cast<Real>(d_constant);
}

template <class Real>
void HeadGradient<Real>::Workspace::write_item_encoder() {
  split_bias<Real>(as_matrix(d_items_map, width), head.gradient_of(Part::item_weight),
                   head.gradient_of(Part::item_bias));
  if (!mlp) return;
  const Matrix<Real> d_in = head.gradient_of(Part::item_in_weight);
  sum_rows(d_offsets.data(), classes, width, head.gradient_of(Part::item_in_bias).data);
  for (std::int64_t j = 0; j < width; ++j) {
    d_in.data[j * d_in.columns] = d_slopes[static_cast<std::size_t>(j)];
    for (std::int64_t c = 0; c < classes; ++c)
      d_in.data[j * d_in.columns + 1 + c] = row_of(d_offsets, width, c)[j];
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
  w.head = {&w.layout, parameters, gradient};
  std::fill(d_normalizer.begin(), d_normalizer.end(), 0.0);
  w.size_for(batch);
  w.read_item_encoder();
  w.query_path.forward(w.head, w.items_view(), batch.queries, as_matrix(w.t, batch.sets()));
  w.score_items(batch);
  w.weigh_and_pool(normalizer, batch);
  const Matrix<Real> pooled = as_matrix(w.pooled, batch.sets());
  const StepReport report = w.read_out.forward(w.head, w.items_view(), pooled, batch.answers);
  w.read_out.backward(w.head, w.items_view(), pooled, as_matrix(w.d_pooled, batch.sets()),
                      as_matrix(w.d_items_map, w.width));
  w.items_backward(normalizer, batch, d_normalizer);
  w.query_path.backward(w.head, w.items_view(), as_matrix(w.d_t, batch.sets()),
                        as_matrix(w.d_items_map, w.width));
  w.write_item_encoder();
  return report;
}

template <class Real>
std::int64_t HeadGradient<Real>::query_columns() const noexcept {
  return workspace_->query_path.columns();
}

template class HeadGradient<float>;
template class HeadGradient<double>;

}  // namespace sharpmax::retrieval
