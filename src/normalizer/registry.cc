// The list of members, in the order of docs/normalizers.md.
#include <algorithm>
#include <vector>

#include "normalizer/definition.h"
#include "normalizer/family_list.h"

namespace sharpmax {

std::span<const Definition* const> all_definitions() {
  static const std::vector<const Definition*> definitions = [] {
    std::vector<const Definition*> list;
    for (const auto member : kFamily) list.push_back(&member());
    std::sort(list.begin(), list.end(),
              [](const Definition* a, const Definition* b) { return a->order < b->order; });
    return list;
  }();
  return definitions;
}

const Definition* find_definition(std::string_view name) {
  for (const Definition* definition : all_definitions()) {
    const auto& aliases = definition->aliases;
    if (definition->name == name || std::find(aliases.begin(), aliases.end(), name) != aliases.end()) {
      return definition;
    }
  }
  return nullptr;
}

std::vector<NormalizerInfo> family() {
  std::vector<NormalizerInfo> list;
  for (const Definition* definition : all_definitions()) {
    NormalizerInfo info{.name = definition->name,
                        .aliases = definition->aliases,
                        .formula = definition->formula,
                        .peak_as_n_grows = definition->peak_as_n_grows,
                        .parameters = {},
                        .needs_queries_and_keys = definition->needs_queries_and_keys};
    for (const ParameterSpec& spec : definition->parameters) {
      info.parameters.push_back({.name = spec.name,
                                 .default_value = spec.default_value,
                                 .domain = spec.domain,
                                 .learnable = spec.learnable,
                                 .choices = spec.choices});
    }
    list.push_back(std::move(info));
  }
  return list;
}

}  // namespace sharpmax
