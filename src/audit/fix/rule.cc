#include "audit/fix/rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "audit/measure/findings.h"
#include "base/in_quotes.h"
#include "sharpmax/error.h"

namespace sharpmax::audit {

std::vector<bool> HeadSurvey::steepest() const {
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return all[a].slope > all[b].slope; });
  std::vector<bool> among(all.size());
  for (std::size_t i = 0; i < std::max<std::size_t>(all.size() / 5, 1); ++i) among[order[i]] = true;
  return among;
}

namespace {

// read(lengths, listener) reads `tokens`, by a session or by a pass.
template <class Read>
HeadSurvey survey_by(const model::Configuration& c, std::span<const model::Token> tokens,
                     const std::function<void(std::int64_t)>& on_tokens, const Read& read) {
  const ReadingPlan plan{default_lengths(static_cast<std::int64_t>(tokens.size())), {0}};
  Readings readings = no_readings(plan);
  read(plan.lengths, ReadingListener{.on_tokens = on_tokens,
                                     .on_length = [&](std::size_t i, KeptRows rows) { readings[0][i] = std::move(rows); }});
  const Findings found = find(plan, readings, c, {});
  // The longest that is still short.
  std::size_t near = 0;
  for (std::size_t i = 0; i < plan.lengths.size(); ++i)
    if (plan.lengths[i] <= kShortLength) near = i;
  HeadSurvey survey{.layers = c.layers, .heads = c.heads};
  for (const HeadFindings& head : found.by_head) {
    const double entropy = head.at[near][RowField::entropy].median;
    // Where nothing is known (one length has no slope) a head counts as flat.
    survey.all.push_back({std::isfinite(head.entropy_slope) ? head.entropy_slope : 0.0,
                          std::isfinite(entropy) ? entropy : 0.0, head.kind});
  }
  return survey;
}

}  // namespace

HeadSurvey survey_heads(model::Session& session, std::span<const model::Token> tokens,
                        const std::function<void(std::int64_t)>& on_tokens) {
  return survey_by(session.model().configuration(), tokens, on_tokens,
                   [&](std::span<const std::int64_t> lengths, const ReadingListener& listener) {
                     read_excerpt(session, tokens, lengths, listener);
                   });
}

HeadSurvey survey_heads(model::LayerPass& pass, std::span<const model::Token> tokens,
                        const std::function<void(std::int64_t)>& on_tokens) {
  return survey_by(pass.model().configuration(), tokens, on_tokens,
                   [&](std::span<const std::int64_t> lengths, const ReadingListener& listener) {
                     read_excerpt(pass, tokens, lengths, listener, {});
                   });
}

namespace {

constexpr std::string_view kOwnTargets = "entropy_target:nats=own";
constexpr std::string_view kOwnNormalizer = "own";
constexpr std::string_view kRopeWord = "rope=", kLayersWord = "layers=", kButWord = "but-";

// A head that looks at one key alone has entropy 0, which no target can be.
constexpr double kLeastTarget = 1e-3;

[[noreturn]] void refuse(std::string_view rule, std::string_view why) {
  throw Error(ErrorCode::bad_argument, fmt::format("rule {}: {}", in_quotes(rule), why));
}

struct LayerRange {
  std::int64_t first = 0, last = 0;
};

std::optional<LayerRange> layer_range(std::string_view text) {
  LayerRange range;
  const char* const end = text.data() + text.size();
  auto read = std::from_chars(text.data(), end, range.first);
  range.last = range.first;
  if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-')
    read = std::from_chars(read.ptr + 1, end, range.last);
  if (read.ec != std::errc() || read.ptr != end || range.last < range.first) return std::nullopt;
  return range;
}

std::optional<HeadKind> kind_of(std::string_view name) {
  for (const HeadKind kind :
       {HeadKind::sink, HeadKind::local, HeadKind::sharp, HeadKind::dispersing, HeadKind::mixed})
    if (name == name_of(kind)) return kind;
  return std::nullopt;
}

void check_heads(const Rule& rule, const model::Configuration& c) {
  std::string_view heads = rule.heads;
  if (heads == "all") return;
  if (heads.starts_with(kButWord)) heads.remove_prefix(kButWord.size());
  if (heads == "steepest" || kind_of(heads)) return;
  if (!heads.starts_with(kLayersWord))
    refuse(rule.text,
           fmt::format("there are no heads {}; expected all, steepest, sink, local, sharp, dispersing, mixed, "
                       "layers=A-B, or one of these after but-",
                       in_quotes(heads)));
  const auto range = layer_range(heads.substr(kLayersWord.size()));
  if (!range || range->first < 0 || range->last >= c.layers)
    refuse(rule.text, fmt::format("{}: the model has layers 0 to {}", in_quotes(heads), c.layers - 1));
}

// Whether the rule is for this head.
bool is_for(std::string_view heads, const HeadSurvey& survey, const std::vector<bool>& steepest,
            std::int64_t layer, std::int64_t head) {
  if (heads == "all") return true;
  if (heads.starts_with(kButWord))
    return !is_for(heads.substr(kButWord.size()), survey, steepest, layer, head);
  if (heads == "steepest") return steepest[static_cast<std::size_t>(layer * survey.heads + head)];
  if (heads.starts_with(kLayersWord)) {
    const auto range = layer_range(heads.substr(kLayersWord.size()));
    return range && layer >= range->first && layer <= range->last;
  }
  return kind_of(heads) == survey.at(layer, head).kind;
}

AnyNormalizer normalizer_of(const Rule& rule, const SurveyedHead& head, const AnyNormalizer& own) {
  if (rule.normalizer == kOwnNormalizer) return own;
  if (rule.normalizer != kOwnTargets) return AnyNormalizer::parse(rule.normalizer);
  return EntropyTarget{.nats = std::max(head.short_entropy, kLeastTarget)};
}

}  // namespace

namespace {

AnyNormalizer normalizer_in(const Rule& rule) {
  try {
    return AnyNormalizer::parse(rule.normalizer);
  } catch (const Error& error) {
    refuse(rule.text, error.what());
  }
}

}  // namespace

Rule parse_rule(std::string_view text, const model::Configuration& c) {
  Rule rule{.text = std::string(text), .normalizer = std::string(kOwnNormalizer), .heads = "all"};
  std::string_view rest = text;
  const std::size_t rope = rest.rfind(kRopeWord);
  if (rope != std::string_view::npos && (rope == 0 || rest[rope - 1] == ';')) {
    rule.rope = rest.substr(rope + kRopeWord.size());
    rest = rope == 0 ? std::string_view() : rest.substr(0, rope - 1);
    if (c.rope.features == 0) refuse(text, "the model has learned positions, not rotary ones");
    model::parse_rope_scaling(rule.rope, c.context);  // throws
  }
  if (const std::size_t at = rest.find('@'); at != std::string_view::npos) {
    rule.heads = rest.substr(at + 1);
    rest = rest.substr(0, at);
  }
  if (rest.empty() && (rule.rope.empty() || rule.heads != "all")) refuse(text, "no normalizer was named");
  if (!rest.empty()) rule.normalizer = rest;
  check_heads(rule, c);
  if (rule.normalizer == kOwnTargets || rule.normalizer == kOwnNormalizer) return rule;
  const AnyNormalizer normalizer = normalizer_in(rule);
  model::NormalizerTable(1, 1, normalizer);                                // one value a parameter
  for (const NormalizerInfo& info : family())
    if (info.name == normalizer.name() && info.needs_queries_and_keys)
      refuse(text, "not a function of scores; nothing to sharpen");
  return rule;
}

RuleTable make_out(const Rule& rule, const HeadSurvey& survey, const model::NormalizerTable& own) {
  RuleTable made{.normalizers = own, .rope = rule.rope};
  const std::vector<bool> steepest = survey.steepest();
  for (std::int64_t layer = 0; layer < survey.layers; ++layer) {
    for (std::int64_t head = 0; head < survey.heads; ++head) {
      if (!is_for(rule.heads, survey, steepest, layer, head)) continue;
      made.normalizers.set(layer, head, normalizer_of(rule, survey.at(layer, head), own.at(layer, head)));
      made.changed += made.normalizers.at(layer, head) == own.at(layer, head) ? 0 : 1;
    }
  }
  return made;
}

std::vector<std::string> default_rules(const model::Configuration& c, std::int64_t longest) {
  std::vector<std::string> rules;
  for (const double beta : {1.05, 1.1, 1.2, 1.35, 1.5}) rules.push_back(fmt::format("softmax:beta={}", beta));
  for (const double beta : {1.2, 1.35, 1.5})
    rules.push_back(fmt::format("softmax:beta={}@but-steepest", beta));
  for (const char* kind : {"sharp", "sink", "local"})
    rules.push_back(fmt::format("softmax:beta=1.35@{}", kind));
  // beta grows with n: from 1 at 256 keys on, and as ln n with beta = 1 at the trained length.
  rules.push_back("log_length:length=256");
  rules.push_back(fmt::format("ssmax:s={:.4f}",
                              1.0 / std::log(static_cast<double>(std::max<std::int64_t>(c.context, 3)))));
  rules.push_back(std::string(kOwnTargets));
  rules.push_back(std::string(kOwnTargets) + "@steepest");
  rules.push_back("adaptive");
  if (longest > c.context && c.rope.features > 0) {
    const double factor = static_cast<double>(longest) / static_cast<double>(c.context);
    for (const char* how : {"ntk", "yarn", "linear"})
      rules.push_back(fmt::format("rope={}:{:.3g}", how, factor));
  }
  return rules;
}

namespace {

using Kind = model::RopeScaling::Kind;

// The one beta of all heads; none if they differ or are no plain softmax.
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
    case Kind::longrope:
      break;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> llama_cpp_setting(const RuleTable& rule, const model::Configuration& c) {
  const auto beta = common_beta(rule.normalizers);
  if (!beta || *beta <= 0) return std::nullopt;
  // llama.cpp's options are about one rope of all layers.
  for (std::int64_t layer = 0; layer < c.layers; ++layer)
    if (c.rope_of(layer, c.heads - 1) != &c.rope) return std::nullopt;
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
