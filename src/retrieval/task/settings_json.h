// Settings as JSON and back. Reading is strict: a key that is missing, unknown or of another type is
// Error{bad_file}, and so are values that validate() refuses. `where` opens every message.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "retrieval/task/settings.h"

namespace sharpmax::retrieval {

inline constexpr std::string_view kRunSchema = "sharpmax.retrieval.run/1";  // of a run's settings

nlohmann::ordered_json json_of(const TrainingSettings& settings);
nlohmann::ordered_json json_of(const TestSettings& settings);
nlohmann::ordered_json json_of(const RunSettings& settings);

TrainingSettings training_from(const nlohmann::ordered_json& json, std::string_view where);
RunSettings run_from(const nlohmann::ordered_json& json, std::string_view where);

// Text that must be one JSON value, no key twice.
nlohmann::ordered_json parse_json(std::string_view text, std::string_view where);

// The first setting that is not the same: "arms.0.training.steps is 100 there, 200 here". Empty: none.
std::string first_difference(const nlohmann::ordered_json& there, const nlohmann::ordered_json& here);

}  // namespace sharpmax::retrieval
