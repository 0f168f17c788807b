// What each head does on a text, as far as rules need to know it: how its entropy grows, and of which kind it
// is.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "audit/measure/head_kind.h"
#include "model/transformer/session.h"

namespace sharpmax::audit {

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

// Reads `tokens` from the beginning under the session's own normalizers, which should be softmax. `on_tokens`
// is told how many are through.
HeadSurvey survey_heads(model::Session& session, std::span<const model::Token> tokens,
                        const std::function<void(std::int64_t)>& on_tokens = {});

}  // namespace sharpmax::audit
