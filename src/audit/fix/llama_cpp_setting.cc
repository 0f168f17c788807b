#include "audit/fix/llama_cpp_setting.h"

#include <fmt/format.h>

#include <cmath>

namespace sharpmax::audit {
namespace {

using Kind = model::RopeScaling::Kind;

// The one beta of all heads; none where they differ or are no plain softmax.
std::optional<double> common_beta(const model::NormalizerTable& table) {
  const AnyNormalizer& first = table.at(0, 0);
  if (first.name() != "softmax") return std::nullopt;
  for (std::int64_t layer = 0; layer < table.layers(); ++layer)
    for (std::int64_t head = 0; head < table.heads(); ++head)
      if (!(table.at(layer, head) == first)) return std::nullopt;
  return first.parameters()[0].of_head(0);
}

std::optional<std::string> positions(const model::RopeScaling& s, const model::Configuration& c) {
  switch (s.kind) {
    case Kind::none:
      return "--rope-scaling none";
    case Kind::linear:
      return fmt::format("--rope-scaling linear --rope-scale {}", s.factor);
    case Kind::ntk: {
      const auto d = static_cast<double>(c.rope.features);
      if (d <= 2) return std::nullopt;
      return fmt::format("--rope-freq-base {:.9g}", c.rope.base * std::pow(s.factor, d / (d - 2)));
    }
    case Kind::yarn: {
      const bool usual = s.attention_factor == 0 && s.whole_bounds;
      if (!usual) return std::nullopt;
      return fmt::format(
          "--rope-scaling yarn --rope-scale {} --yarn-orig-ctx {:.0f} --yarn-beta-fast {} --yarn-beta-slow "
          "{}",
          s.factor, s.original_length, s.beta_fast, s.beta_slow);
    }
    case Kind::llama3:
      break;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> llama_cpp_setting(const RuleTable& rule, const model::Configuration& c) {
  const auto beta = common_beta(rule.normalizers);
  if (!beta || *beta <= 0) return std::nullopt;
  std::string setting;
  Kind kind = c.rope.scaling.kind;
  if (!rule.rope.empty()) {
    const model::RopeScaling scaling = model::parse_rope_scaling(rule.rope, c.context);
    const auto words = positions(scaling, c);
    // A model that brings a scaling of its own would keep it beside a new base.
    if (!words || (scaling.kind == Kind::ntk && kind != Kind::none)) return std::nullopt;
    setting = *words;
    kind = scaling.kind;
  }
  if (*beta == 1) return setting.empty() ? std::nullopt : std::optional(setting);
  if (kind == Kind::yarn || c.rope.features != c.head_width) return std::nullopt;
  return fmt::format("{}{}--yarn-attn-factor {:.9g}", setting, setting.empty() ? "" : " ", std::sqrt(*beta));
}

}  // namespace sharpmax::audit
