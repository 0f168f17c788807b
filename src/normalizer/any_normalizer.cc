// The list of members in the order of docs/reference/normalizers.md, and rules that the caller wrote.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "base/in_quotes.h"
#include "base/numbers.h"
#include "normalizer/definition.h"
#include "normalizer/family_list.h"
#include "normalizer/of_head.h"
#include "sharpmax/error.h"

namespace sharpmax {

// The list of members, in the order of docs/reference/normalizers.md.

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

// AnyNormalizer: built by name or from text, and back to text.
//
//   text       = name [ ":" assignment { "," assignment } ]
//   assignment = parameter "=" item { "/" item }
//   item       = a decimal number, or one of the parameter's words

namespace {

// A piece of the text and the column, from 1, at which it starts.
struct Piece {
  std::string_view text;
  std::size_t column = 1;
};

struct Cut {
  Piece before;
  Piece after;
  bool found = false;
};

Cut cut_at(const Piece& piece, char separator) {
  const std::size_t at = piece.text.find(separator);
  if (at == std::string_view::npos) return {.before = piece, .after = {}, .found = false};
  return {.before = {piece.text.substr(0, at), piece.column},
          .after = {piece.text.substr(at + 1), piece.column + at + 1},
          .found = true};
}

[[noreturn]] void refuse_item(const Definition& definition, const ParameterSpec& spec, const Piece& item) {
  throw Error(
      ErrorCode::bad_argument,
      fmt::format("normalizer: {} of {} is {}{}; it must be {}", spec.name, definition.name,
                  item.text.empty() ? "empty" : in_quotes(item.text), at_column(item.column), spec.domain));
}

double parse_item(const Definition& definition, const ParameterSpec& spec, const Piece& item) {
  for (std::size_t i = 0; i < spec.choices.size(); ++i) {
    if (item.text == spec.choices[i]) return may_be_auto(spec) ? kNoValue : static_cast<double>(i);
  }
  const std::optional<double> value = parse_decimal(item.text);
  if (!value || spec.kind == ParameterKind::choice) refuse_item(definition, spec, item);
  return *value;
}

FoundParameter parse_assignment(const Definition& definition, const Piece& assignment) {
  const Cut sides = cut_at(assignment, '=');
  if (assignment.text.empty() || !sides.found || sides.before.text.empty()) {
    throw Error(ErrorCode::bad_argument,
                fmt::format("normalizer: {} is followed by {}{}; expected parameter=value", definition.name,
                            assignment.text.empty() ? "nothing" : in_quotes(assignment.text),
                            at_column(assignment.column)));
  }
  const ParameterSpec& spec = require_parameter(definition, sides.before.text, sides.before.column);
  std::vector<double> values;
  for (Cut cut = cut_at(sides.after, '/');; cut = cut_at(cut.after, '/')) {
    values.push_back(parse_item(definition, spec, cut.before));
    if (!cut.found) break;
  }
  return {.name = spec.name,
          .value = Parameter(std::move(values)),
          .name_column = sides.before.column,
          .value_column = sides.after.column};
}

}  // namespace

AnyNormalizer::AnyNormalizer(std::string_view name, std::initializer_list<NamedParameter> parameters)
    : AnyNormalizer(name, std::span<const NamedParameter>(parameters.begin(), parameters.size())) {}

AnyNormalizer::AnyNormalizer(std::string_view name, std::span<const NamedParameter> parameters)
    : definition_(std::shared_ptr<const void>(), &require_definition(name, 0)) {
  std::vector<FoundParameter> found;
  for (const NamedParameter& parameter : parameters) {
    found.push_back({.name = parameter.first, .value = parameter.second});
  }
  parameters_ = complete(*definition_, found);
}

AnyNormalizer AnyNormalizer::parse(std::string_view text) {
  const Cut whole = cut_at({text, 1}, ':');
  const Definition& definition = require_definition(whole.before.text, whole.before.column);
  AnyNormalizer result(definition.name);
  if (!whole.found) return result;
  std::vector<FoundParameter> found;
  for (Cut cut = cut_at(whole.after, ',');; cut = cut_at(cut.after, ',')) {
    found.push_back(parse_assignment(definition, cut.before));
    if (!cut.found) break;
  }
  result.parameters_ = complete(definition, found);
  return result;
}

std::string_view AnyNormalizer::name() const noexcept { return definition_->name; }

std::string AnyNormalizer::text() const {
  std::string text(definition_->name);
  char separator = ':';
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const ParameterSpec& spec = definition_->parameters[i];
    if (is_default(spec, parameters_[i])) continue;
    text += separator;
    text += spec.name;
    text += '=';
    text += text_of(spec, parameters_[i]);
    separator = ',';
  }
  return text;
}

// A rule that the caller wrote, as a Definition like any member's.

namespace {

void check_custom(const CustomNormalizer& custom) {
  const auto refuse = [](const std::string& message) {
    throw Error(ErrorCode::bad_argument, "normalizer: " + message);
  };
  if (custom.name.empty()) refuse("a custom normalizer has no name; give it one");
  if (find_definition(custom.name) != nullptr) {
    refuse(
        fmt::format("the family has a {}; give the custom normalizer another name", in_quotes(custom.name)));
  }
  if (!custom.weigh) {
    refuse(fmt::format("the custom normalizer {} has no weigh; it must have one", in_quotes(custom.name)));
  }
}

// The definition refers to the name and the functions beside it.
class CustomDefinition {
 public:
  explicit CustomDefinition(CustomNormalizer custom) : custom_(std::move(custom)) {
    definition_.name = custom_.name;
    definition_.formula = "a function of the caller";
    definition_.peak_as_n_grows = "unknown";
    definition_.weigh = [this](const HeadParameters&, auto scores, auto weights) {
      return weigh(scores, weights);
    };
    definition_.rule = [](const HeadParameters&, double) { return Rule{.kind = RuleKind::specification}; };
    if (custom_.backward) {
      definition_.backward = [this](const HeadParameters&, auto scores, auto weights, auto d_weights,
                                    auto d_scores, auto) { backward(scores, weights, d_weights, d_scores); };
    } else {
      definition_.no_backward = [](const HeadParameters&) -> std::string_view {
        return "its CustomNormalizer was made without one";
      };
    }
  }
  CustomDefinition(const CustomDefinition&) = delete;
  CustomDefinition& operator=(const CustomDefinition&) = delete;

  const Definition& definition() const noexcept { return definition_; }

 private:
  RowFacts weigh(std::span<const double> scores, std::span<double> weights) const {
    std::fill(weights.begin(), weights.end(), 0.0);
    custom_.weigh(scores, weights);
    const auto is_finite = [](double w) { return std::isfinite(w); };
    if (!std::all_of(weights.begin(), weights.end(), is_finite)) {
      std::fill(weights.begin(), weights.end(), kNoValue);
    }
    return {};
  }

  void backward(std::span<const double> scores, std::span<const double> weights,
                std::span<const double> d_weights, std::span<double> d_scores) const {
    const bool poisoned = std::isnan(weights[0]);
    std::fill(d_scores.begin(), d_scores.end(), poisoned ? kNoValue : 0.0);
    if (!poisoned) custom_.backward(scores, weights, d_weights, d_scores);
  }

  CustomNormalizer custom_;
  Definition definition_{};
};

}  // namespace

AnyNormalizer::AnyNormalizer(CustomNormalizer custom) {
  check_custom(custom);
  const auto owner = std::make_shared<const CustomDefinition>(std::move(custom));
  definition_ = std::shared_ptr<const Definition>(owner, &owner->definition());
}

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
