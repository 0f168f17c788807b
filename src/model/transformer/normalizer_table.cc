#include "model/transformer/normalizer_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "normalizer/definition.h"
#include "sharpmax/error.h"

namespace sharpmax::model {
namespace {

// The normalizer as one head sees it.
AnyNormalizer of_head(const AnyNormalizer& normalizer, std::int64_t head) {
  const Definition& definition = normalizer.definition();
  std::vector<AnyNormalizer::NamedParameter> named;
  for (std::size_t i = 0; i < definition.parameters.size(); ++i) {
    const Parameter& value = normalizer.parameters()[i];
    const bool is_list = definition.parameters[i].kind == ParameterKind::list;
    named.emplace_back(definition.parameters[i].name,
                       is_list ? value : Parameter(value.of_head(static_cast<std::size_t>(head))));
  }
  return AnyNormalizer(definition.name, named);
}

}  // namespace

NormalizerTable::NormalizerTable(std::int64_t layers, std::int64_t heads, const AnyNormalizer& normalizer)
    : layers_(layers), heads_(heads) {
  check_heads(normalizer, heads, "model");
  for (std::int64_t i = 0; i < layers * heads; ++i) cells_.push_back(of_head(normalizer, i % heads));
}

void NormalizerTable::set(std::int64_t layer, std::int64_t head, const AnyNormalizer& normalizer) {
  if (layer < 0 || layer >= layers_ || head < 0 || head >= heads_)
    throw Error(ErrorCode::bad_argument,
                fmt::format("there is no head {} in layer {}; the model has layers 0 to {} of "
                            "heads 0 to {}",
                            head, layer, layers_ - 1, heads_ - 1));
  check_heads(normalizer, 1, fmt::format("layer {}, head {}", layer, head));
  cells_[index(layer, head)] = normalizer;
}

void NormalizerTable::set_layer(std::int64_t layer, const AnyNormalizer& normalizer) {
  if (layer < 0 || layer >= layers_)
    throw Error(ErrorCode::bad_argument,
                fmt::format("there is no layer {}; the model has layers 0 to {}", layer, layers_ - 1));
  check_heads(normalizer, heads_, fmt::format("layer {}", layer));
  for (std::int64_t head = 0; head < heads_; ++head) set(layer, head, of_head(normalizer, head));
}

std::vector<HeadRun> head_runs(const NormalizerTable& table, std::int64_t layer, std::int64_t kv_heads) {
  const std::int64_t heads = table.heads(), group = heads / kv_heads;
  std::vector<HeadRun> runs;
  for (std::int64_t head = 0; head < heads;) {
    const AnyNormalizer& normalizer = table.at(layer, head);
    std::int64_t end = head + 1;
    while (end < heads && table.at(layer, end) == normalizer) ++end;
    // Whole groups from the start of one, or what is left of the group that the head is in.
    const std::int64_t in_group = head % group;
    if (in_group != 0 || end - head < group) {
      end = std::min(end, head - in_group + group);
    } else {
      end = head + (end - head) / group * group;
    }
    const std::int64_t kv_first = head / group;
    runs.push_back({head, end - head, kv_first, (end - 1) / group - kv_first + 1, normalizer});
    head = end;
  }
  return runs;
}

}  // namespace sharpmax::model
