#include "retrieval/head/head.h"

#include <cmath>

#include "base/random.h"
#include "normalizer/definition.h"

namespace sharpmax::retrieval {
namespace {

constexpr std::uint64_t kInitialStream = 0;

constexpr std::array<std::string_view, kParts> kNames = {"item_in.weight",
                                                         "item_in.bias",
                                                         "item.weight",
                                                         "item.bias",
                                                         "query_in.weight",
                                                         "query_in.bias",
                                                         "query.weight",
                                                         "query.bias",
                                                         "w_q",
                                                         "w_k",
                                                         "w_v",
                                                         "hidden.weight",
                                                         "hidden.bias",
                                                         "out.weight",
                                                         "out.bias"};

bool is_bias(Part part) { return name_of(part).ends_with(".bias"); }

}  // namespace

std::string_view name_of(Part part) { return kNames[static_cast<std::size_t>(part)]; }

Layout::Layout(Encoder encoder, std::int64_t width, std::int64_t classes) {
  const bool mlp = encoder == Encoder::mlp;
  const std::int64_t inner = mlp ? width : 0;  // a linear encoder has no first layer
  const std::int64_t inputs = 1 + classes;
  const std::array<std::pair<std::int64_t, std::int64_t>, kParts> shapes = {{{inner, inputs},
                                                                             {mlp ? 1 : 0, width},
                                                                             {width, mlp ? width : inputs},
                                                                             {1, width},
                                                                             {inner, 1},
                                                                             {mlp ? 1 : 0, width},
                                                                             {width, mlp ? width : 1},
                                                                             {1, width},
                                                                             {width, width},
                                                                             {width, width},
                                                                             {width, width},
                                                                             {width, width},
                                                                             {1, width},
                                                                             {classes, width},
                                                                             {1, classes}}};
  for (std::size_t i = 0; i < kParts; ++i) {
    parts_[i] = {.offset = size_, .rows = shapes[i].first, .columns = shapes[i].second};
    size_ += parts_[i].size();
  }
}

std::span<const double> Head::part(Part which) const {
  const PartShape shape = layout()[which];
  return std::span(parameters)
      .subspan(static_cast<std::size_t>(shape.offset), static_cast<std::size_t>(shape.size()));
}

std::vector<bool> learned_parameters(const AnyNormalizer& normalizer) {
  const Definition& definition = normalizer.definition();
  std::vector<bool> learned;
  for (std::size_t i = 0; i < definition.parameters.size(); ++i)
    learned.push_back(definition.name != "softmax" && definition.parameters[i].learnable &&
                      std::isfinite(normalizer.parameters()[i].of_head(0)));
  return learned;
}

AnyNormalizer Head::normalizer() const {
  const Definition& definition = training.normalizer.definition();
  const std::vector<bool> learned = learned_parameters(training.normalizer);
  std::vector<AnyNormalizer::NamedParameter> named;
  for (std::size_t i = 0; i < definition.parameters.size(); ++i) {
    named.emplace_back(definition.parameters[i].name, learned[i] ? Parameter(normalizer_parameters[i])
                                                                 : training.normalizer.parameters()[i]);
  }
  return {definition.name, std::span<const AnyNormalizer::NamedParameter>(named)};
}

std::vector<double> initial_parameters(const TrainingSettings& settings, std::uint64_t seed) {
  const Layout layout(settings.encoder, settings.width, settings.classes);
  const CounterRandom random(seed, kInitialStream);
  std::vector<double> parameters(static_cast<std::size_t>(layout.size()));
  std::int64_t fan_in = 1;
  for (std::size_t i = 0; i < kParts; ++i) {
    const Part part = static_cast<Part>(i);
    const PartShape shape = layout[part];
    if (!is_bias(part)) fan_in = shape.columns;  // a bias follows its weight
    const double bound = 1.0 / std::sqrt(static_cast<double>(fan_in));
    for (std::int64_t k = shape.offset; k < shape.offset + shape.size(); ++k) {
      const auto bits = random.bits(static_cast<std::uint64_t>(k));
      const double unit = (static_cast<double>(bits[0]) + 0.5) * 0x1p-32;
      parameters[static_cast<std::size_t>(k)] = static_cast<float>(bound * (2.0 * unit - 1.0));
    }
  }
  return parameters;
}

}  // namespace sharpmax::retrieval
