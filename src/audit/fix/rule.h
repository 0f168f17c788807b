// Rules that are tried: what heads do on a text, which rule goes to which heads, and the same for llama.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "audit/measure/findings.h"
#include "model/architecture/architecture.h"
#include "model/transformer/normalizer_table.h"
#include "model/transformer/layer_pass.h"
#include "model/transformer/session.h"

namespace sharpmax::audit {

// What each head does on a text, as far as rules need to know it: how its entropy grows, and of which kind it
// is.

struct SurveyedHead {
  double slope = 0;          // of entropy against ln n
  double short_entropy = 0;  // median over rows at about kShortLength tokens, nats
  HeadKind kind = HeadKind::mixed;
};

inline constexpr std::int64_t kShortLength = 512;

struct HeadSurvey {
  std::int64_t layers = 0, heads = 0;
  std::vector<SurveyedHead> all;  // [layer, head]

  const SurveyedHead& at(std::int64_t layer, std::int64_t head) const {
    return all[static_cast<std::size_t>(layer * heads + head)];
  }
  // The fifth of all heads with the steepest entropy, one at least: true where [layer, head] is among them.
  std::vector<bool> steepest() const;
};

// Reads `tokens` from the beginning under the session's own normalizers, which should be the model's. `on_tokens`
// hears how many are through.
HeadSurvey survey_heads(model::Session& session, std::span<const model::Token> tokens,
                        const std::function<void(std::int64_t)>& on_tokens = {});
// The same layer by layer.
HeadSurvey survey_heads(model::LayerPass& pass, std::span<const model::Token> tokens,
                        const std::function<void(std::int64_t)>& on_tokens = {});

// A rule that is tried: which normalizer, in which heads, and how positions are stretched.
//
//   softmax:beta=1.35                   every head
//   softmax:beta=1.35@but-steepest      all but the fifth of the heads whose entropy grows fastest
//   adaptive@sharp                      heads of one kind: sink, local, sharp, dispersing, mixed
//   softmax:beta=1.2@layers=4-9         some layers
//   entropy_target:nats=own             each head held to its own median entropy at short length
//   rope=ntk:1.5                        positions alone; softmax:beta=1.1;rope=ntk:1.5: both

struct Rule {
  std::string text;        // as above: what it is called
  std::string normalizer;  // "own", as the model has it, where only positions change
  std::string heads;       // after the @; "all"
  std::string rope;        // as --rope-scaling takes it; empty: as they are
};

// Error{bad_argument} for what makes no sense, for a model of this configuration.
Rule parse_rule(std::string_view text, const model::Configuration& configuration);

// A rule made out for the heads of a model.
struct RuleTable {
  model::NormalizerTable normalizers;
  std::string rope;
  std::int64_t changed = 0;  // heads that do not run under what they were trained with
};
// `own`: what every head was trained with.
RuleTable make_out(const Rule& rule, const HeadSurvey& survey, const model::NormalizerTable& own);

// Candidates unless the user names others. `longest`: tokens of the longest text or question; past the
// trained length positions are stretched, too.
std::vector<std::string> default_rules(const model::Configuration& configuration, std::int64_t longest);

// The same thing asked of llama.cpp, where its command line can.

// Options such as "--yarn-attn-factor 1.1619"; none where llama.cpp has nothing that does the same.
//
// Without YaRN its attention factor multiplies cos and sin of every rotation, so queries and keys by f and
// scores by f^2: that is softmax with beta = f^2, where all features of a head are turned. Under YaRN it is
// computed from the scale, and what the user says is overruled.
std::optional<std::string> llama_cpp_setting(const RuleTable& rule,
                                             const model::Configuration& configuration);

}  // namespace sharpmax::audit
