#include "model/transformer/mixture.h"

#include <algorithm>
#include <cmath>

#include "model/transformer/rope.h"

namespace sharpmax::model {

void choose_experts(const Experts& experts, const float* scores, Choice* chosen) {
  const auto better = [&](std::int64_t a, std::int64_t b) {  // never of equal ones
    return std::isnan(scores[a]) ? !std::isnan(scores[b]) : scores[a] > scores[b];
  };
  // Insertion into the best so far: `used` is small.
  std::int64_t count = 0;
  for (std::int64_t e = 0; e < experts.count; ++e) {
    std::int64_t place = count;
    while (place > 0 && better(e, chosen[place - 1].expert)) --place;
    if (place >= experts.used) continue;
    count = std::min(count + 1, experts.used);
    for (std::int64_t i = count - 1; i > place; --i) chosen[i] = chosen[i - 1];
    chosen[place] = {.expert = e};
  }
  const double largest = scores[chosen[0].expert];
  double sum = 0;
  if (experts.weigh_used) {
    for (std::int64_t i = 0; i < count; ++i) sum += std::exp(scores[chosen[i].expert] - largest);
  } else {
    for (std::int64_t e = 0; e < experts.count; ++e) sum += std::exp(scores[e] - largest);
  }
  for (std::int64_t i = 0; i < count; ++i)
    chosen[i].weight = static_cast<float>(std::exp(scores[chosen[i].expert] - largest) / sum);
  std::sort(chosen, chosen + count, [](const Choice& a, const Choice& b) { return a.expert < b.expert; });
}

namespace {

std::size_t floats_in(std::int64_t rows, std::int64_t width) { return static_cast<std::size_t>(rows * width); }

const float* bias_of(const Projection& part) { return part.bias.empty() ? nullptr : part.bias.data(); }

void add_terms(const Expert& expert, float* out, std::int64_t stride, std::vector<ProductTerm>& terms) {
  for (const Projection& part : expert.inner) {
    terms.push_back({part.weight, bias_of(part), out, stride});
    out += part.weight.outputs;
  }
}

void add_weighted(float* sum, float weight, const float* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) sum[i] += weight * x[i];
}

}  // namespace

Mixture::Mixture(const Configuration& configuration, std::int64_t block, int threads)
    : c_(configuration),
      experts_(configuration.experts.value_or(Experts{})),
      threads_(threads),
      inner_width_(2 * experts_.hidden) {
  if (experts_.count == 0) return;
  const std::int64_t rows = std::max(block, experts_.used);
  chosen_.resize(floats_in(block, experts_.used));
  in_order_.resize(chosen_.size());
  scores_.resize(floats_in(block, experts_.count));
  gathered_.resize(floats_in(block, c_.width));
  inner_.resize(floats_in(rows, inner_width_));
  if (experts_.gate_up_interleaved) apart_.resize(inner_.size());
  given_.resize(floats_in(block, c_.width));
}

void Mixture::choose(const MixtureWeights& weights, const float* in, std::int64_t tokens, ProductWorkspace& workspace) {
  const ProductTerm term{weights.router.weight, bias_of(weights.router), scores_.data(), experts_.count};
  multiply({&term, 1}, in, c_.width, tokens, workspace);
  for_each_token(threads_, tokens, [&](std::int64_t t) {
    choose_experts(experts_, scores_.data() + t * experts_.count, chosen_.data() + t * experts_.used);
  });
}

void Mixture::activate_inner(std::int64_t rows) {
  const std::int64_t hidden = experts_.hidden;
  for_each_token(threads_, rows, [&](std::int64_t row) {
    float* const out = inner_.data() + row * inner_width_;
    float* gate = out;
    if (experts_.gate_up_interleaved) {
      gate = apart_.data() + row * inner_width_;
      for (std::int64_t i = 0; i < hidden; ++i) {
        gate[i] = out[2 * i];
        gate[hidden + i] = out[2 * i + 1];
      }
    }
    activate(c_.activation, gate, gate + hidden, hidden, out);
  });
}

// All experts of a token read the same features: one product for all of them.
void Mixture::run_one_token(const MixtureWeights& weights, const float* in, float* out, ProductWorkspace& workspace) {
  std::vector<ProductTerm> terms;
  for (std::int64_t i = 0; i < experts_.used; ++i)
    add_terms(weights.experts[static_cast<std::size_t>(chosen_[static_cast<std::size_t>(i)].expert)],
              inner_.data() + i * inner_width_, inner_width_, terms);
  multiply(terms, in, c_.width, 1, workspace);
  activate_inner(experts_.used);
  for (std::int64_t i = 0; i < experts_.used; ++i) {
    const Choice& choice = chosen_[static_cast<std::size_t>(i)];
    const Projection& down = weights.experts[static_cast<std::size_t>(choice.expert)].down;
    const ProductTerm term{down.weight, bias_of(down), given_.data(), c_.width};
    multiply({&term, 1}, inner_.data() + i * inner_width_, inner_width_, 1, workspace);
    add_weighted(out, choice.weight, given_.data(), c_.width);
  }
}

void Mixture::run_expert(const MixtureWeights& weights, std::int64_t first, std::int64_t end, const float* in, float* out,
                         ProductWorkspace& workspace) {
  const Visit* const visits = in_order_.data() + first;
  const std::int64_t rows = end - first;
  const Expert& expert = weights.experts[static_cast<std::size_t>(visits[0].choice.expert)];
  for_each_token(threads_, rows, [&](std::int64_t row) {
    std::copy_n(in + visits[row].token * c_.width, c_.width, gathered_.data() + row * c_.width);
  });
  std::vector<ProductTerm> terms;
  add_terms(expert, inner_.data(), inner_width_, terms);
  multiply(terms, gathered_.data(), c_.width, rows, workspace);
  activate_inner(rows);
  const ProductTerm term{expert.down.weight, bias_of(expert.down), given_.data(), c_.width};
  multiply({&term, 1}, inner_.data(), inner_width_, rows, workspace);
  for_each_token(threads_, rows, [&](std::int64_t row) {  // a token comes to an expert once
    add_weighted(out + visits[row].token * c_.width, visits[row].choice.weight, given_.data() + row * c_.width, c_.width);
  });
}

void Mixture::run(const MixtureWeights& weights, const float* in, std::int64_t tokens, float* out,
                  ProductWorkspace& workspace) {
  choose(weights, in, tokens, workspace);
  std::fill_n(out, tokens * c_.width, 0.0f);
  if (tokens == 1) return run_one_token(weights, in, out, workspace);
  const std::int64_t visits = tokens * experts_.used;
  for (std::int64_t i = 0; i < visits; ++i)
    in_order_[static_cast<std::size_t>(i)] = {i / experts_.used, chosen_[static_cast<std::size_t>(i)]};
  std::stable_sort(in_order_.begin(), in_order_.begin() + visits,
                   [](const Visit& a, const Visit& b) { return a.choice.expert < b.choice.expert; });
  for (std::int64_t first = 0, end = 0; first < visits; first = end) {
    const std::int64_t expert = in_order_[static_cast<std::size_t>(first)].choice.expert;
    while (end < visits && in_order_[static_cast<std::size_t>(end)].choice.expert == expert) ++end;
    run_expert(weights, first, end, in, out, workspace);
  }
}

}  // namespace sharpmax::model
