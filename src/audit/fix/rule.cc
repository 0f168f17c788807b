#include "audit/fix/rule.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/in_quotes.h"
#include "sharpmax/error.h"

namespace sharpmax::audit {
namespace {

constexpr std::string_view kOwnTargets = "entropy_target:nats=own";
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

AnyNormalizer normalizer_of(const Rule& rule, const SurveyedHead& head) {
  if (rule.normalizer != kOwnTargets) return AnyNormalizer::parse(rule.normalizer);
  return EntropyTarget{.nats = std::max(head.short_entropy, kLeastTarget)};
}

}  // namespace

Rule parse_rule(std::string_view text, const model::Configuration& c) {
  Rule rule{.text = std::string(text), .normalizer = "softmax", .heads = "all"};
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
  if (rule.normalizer == kOwnTargets) return rule;
  const AnyNormalizer normalizer = AnyNormalizer::parse(rule.normalizer);  // throws
  model::NormalizerTable(1, 1, normalizer);                                // one value a parameter
  for (const NormalizerInfo& info : family())
    if (info.name == normalizer.name() && info.needs_queries_and_keys)
      refuse(text, "not a function of scores; nothing to sharpen");
  return rule;
}

RuleTable make_out(const Rule& rule, const HeadSurvey& survey) {
  RuleTable made{.normalizers = {survey.layers, survey.heads, Softmax{}}, .rope = rule.rope};
  const std::vector<bool> steepest = survey.steepest();
  const AnyNormalizer plain = Softmax{};
  for (std::int64_t layer = 0; layer < survey.layers; ++layer) {
    for (std::int64_t head = 0; head < survey.heads; ++head) {
      if (!is_for(rule.heads, survey, steepest, layer, head)) continue;
      made.normalizers.set(layer, head, normalizer_of(rule, survey.at(layer, head)));
      made.changed += made.normalizers.at(layer, head) == plain ? 0 : 1;
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

}  // namespace sharpmax::audit
