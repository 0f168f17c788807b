// Settings as JSON and back. Reading is strict: a key that is missing, unknown or of another type is
// Error{bad_file}, and so are values that validate() refuses. `where` opens every message.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "job/strict_json.h"
#include "retrieval/task/settings.h"

namespace sharpmax::retrieval {

inline constexpr std::string_view kRunSchema = "sharpmax.retrieval.run/1";  // of a run's settings

nlohmann::ordered_json json_of(const TrainingSettings& settings);
nlohmann::ordered_json json_of(const TestSettings& settings);
nlohmann::ordered_json json_of(const RunSettings& settings);

TrainingSettings training_from(const nlohmann::ordered_json& json, std::string_view where);
RunSettings run_from(const nlohmann::ordered_json& json, std::string_view where);

using sharpmax::first_difference;
using sharpmax::parse_json;

}  // namespace sharpmax::retrieval
