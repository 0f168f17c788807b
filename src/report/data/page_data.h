// What the page shows of results, out of what was measured: one function per kind of results.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

namespace sharpmax::report {

// Every one takes the results as --json of the command writes them, and keeps what the page shows: about `room`
// bytes at most, what matters least left out and named. Strings may hold anything. They throw what at(), get()
// and Error{bad_argument} throw where the results are not what they say.

// One row for each arm, normalizer and size: counts are summed over seeds and extremes kept, means come from
// the results' own summary. Of the heat maps those of each arm's first seed, in thousandths.
nlohmann::ordered_json retrieval_data(const nlohmann::ordered_json& results, std::size_t room);
// Of every head the medians at every length and the intervals. Of paper B's analyses the curves over heads,
// of a probe the heads that look best.
nlohmann::ordered_json audit_data(const nlohmann::ordered_json& results, std::size_t room);
// The demonstration of `attend --demo`.
nlohmann::ordered_json demo_data(const nlohmann::ordered_json& results, std::size_t room);
// What a spread of scores allows.
nlohmann::ordered_json bound_data(const nlohmann::ordered_json& results, std::size_t room);
// What the weights of a model prove of its heads.
nlohmann::ordered_json bound_model_data(const nlohmann::ordered_json& results, std::size_t room);
// Rules tried on a model: what they change on the text and on the task.
nlohmann::ordered_json fix_data(const nlohmann::ordered_json& results, std::size_t room);
// Losses by position.
nlohmann::ordered_json losses_data(const nlohmann::ordered_json& results, std::size_t room);

}  // namespace sharpmax::report
