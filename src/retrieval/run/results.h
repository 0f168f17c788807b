// What a run found, as JSON (schema sharpmax.retrieval/1, docs/retrieval.md) and as CSV.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "retrieval/run/run.h"

namespace sharpmax::retrieval {

inline constexpr const char* kResultsSchema = "sharpmax.retrieval/1";

// From "preset" on: what may differ from one process to the next (date, duration, command) is the door's.
nlohmann::ordered_json results_json(const RunOutcome& outcome);

// What was measured of one normalizer at one size: the fields from "n" to "hard_accuracy".
nlohmann::ordered_json measured_json(const Measurement& measurement);

// One line for each of "results", below the names of its columns.
inline constexpr const char* kCsvHeader =
    "arm,seed,normalizer,n,sets,accuracy,accuracy_low,accuracy_high,entropy,peak_weight,right_weight,"
    "temperature,ranked_first,hard_accuracy,spread,hard_right_rule_right,hard_right_rule_wrong,hard_wrong_rule_right,"
    "hard_wrong_rule_wrong,largest_peak_weight,weight_bound,bound_violations";
std::string csv_of(const nlohmann::ordered_json& results);

// Readable and small: one element of a list to a line.
std::string text_of(const nlohmann::ordered_json& results);

}  // namespace sharpmax::retrieval
