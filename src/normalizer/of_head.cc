#include "normalizer/of_head.h"

#include "normalizer/definition.h"

namespace sharpmax {

AnyNormalizer normalizer_of_head(const AnyNormalizer& normalizer, std::int64_t head) {
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

}  // namespace sharpmax
