// A probe at one length: how often the model is right, and how much each head looks at the right item.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "audit/measure/head_kind.h"
#include "audit/probe/answer.h"
#include "statistics/significance.h"

namespace sharpmax::audit {

struct ProbeResult {
  std::int64_t length = 0;  // asked for
  double tokens = 0;        // mean length of the prompts
  std::int64_t questions = 0, right = 0;
  Interval share;  // Wilson's, 95 %, of right among questions, as if independent
  // [layer, head], means over questions.
  std::vector<double> asking_weight;  // the last token of the prompt on the right item's tokens
  std::vector<double> asking_first;   // how often that token's heaviest key is among them
  // The tokens of the right answer but the last, read after the prompt, on them: the rows that bring forth
  // the rest of the answer. Of an answer of one token as asking_weight.
  std::vector<double> answering_weight;
  // What the kind of a head is told by, over the same rows: on a task it may be another than on prose.
  std::vector<KindSigns> answering_signs;
  std::vector<std::string> wrong;  // a few of the wrong answers, as given
};

struct ProbeProgress {
  std::int64_t done = 0, questions = 0;
};

// The session's own context bounds the length. It is rewound first, and left without an observer.
ProbeResult measure_probe(model::Session& session, const Probe& probe, std::int64_t length,
                          std::int64_t count,
                          const std::function<void(const ProbeProgress&)>& on_progress = {});

// How many tokens a session needs for prompts of `length`.
std::int64_t probe_room(std::int64_t length);

// Heads by answering_weight, most first.
struct ItemHead {
  HeadPlace place;
  double asking_weight = 0, asking_first = 0, answering_weight = 0;
  HeadKind kind = HeadKind::mixed;  // while answering
};
std::int64_t heads_of(const ProbeResult& result, HeadKind kind);  // how many, while answering
std::vector<ItemHead> best_heads(const ProbeResult& result, std::int64_t heads, std::size_t count);

// The section "probe" of an audit, and one length of it. Doubles have all their digits, so that
// probe_result_in(to_json(r)) is r.
nlohmann::ordered_json to_json(const ProbeResult& result);
ProbeResult probe_result_in(const nlohmann::ordered_json& json);  // throws nlohmann's exceptions
nlohmann::ordered_json probe_section(const Probe& probe, std::int64_t heads,
                                     std::span<const ProbeResult> results);

}  // namespace sharpmax::audit
