// The same thing asked of llama.cpp, where its command line can.
#pragma once

#include <optional>
#include <string>

#include "audit/fix/rule.h"

namespace sharpmax::audit {

// Options such as "--yarn-attn-factor 1.1619"; none where llama.cpp has nothing that does the same.
//
// Without YaRN its attention factor multiplies cos and sin of every rotation, so queries and keys by f and
// scores by f^2: that is softmax with beta = f^2, where all features of a head are turned. Under YaRN it is
// computed from the scale, and what the user says is overruled.
std::optional<std::string> llama_cpp_setting(const RuleTable& rule,
                                             const model::Configuration& configuration);

}  // namespace sharpmax::audit
