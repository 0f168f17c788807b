// A probe at one length: how often the model is right, and how much each head looks at the right item.
#pragma once

#include <functional>

#include "audit/probe/answer.h"
#include "sharpmax/probe.h"

namespace sharpmax::audit {

struct ProbeProgress {
  std::int64_t done = 0, questions = 0;
};

// The session's own context bounds the length. It is rewound first, and left without an observer.
ProbedLength measure_probe(model::Session& session, const Probe& probe, std::int64_t length,
                          std::int64_t count,
                          const std::function<void(const ProbeProgress&)>& on_progress = {});

// How many tokens a session needs for prompts of `length`.
std::int64_t probe_room(std::int64_t length);

// One length of the section "probe", with its best of so many heads per layer. Doubles have all their digits, so that
// probed_length_in(to_json(at)) is `at`.
Json to_json(const ProbedLength& at, std::int64_t heads);
// Throws Error{bad_file} for another number of heads than the model has, and JSON's exceptions.
ProbedLength probed_length_in(const Json& json, std::int64_t layers, std::int64_t heads);

}  // namespace sharpmax::audit
