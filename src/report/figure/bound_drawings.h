// What is drawn of bounds for a given spread of scores.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "report/figure/drawing/chart.h"

namespace sharpmax::report {

// The largest weight that a key can have, against the number of keys.
Chart peak_chart(const nlohmann::ordered_json& results);
// The same at one number of keys; empty where there is nothing to draw.
std::string peak_bars(const nlohmann::ordered_json& results);
// The number of keys from which none can have the weight asked for.
std::string lost_bars(const nlohmann::ordered_json& results);
// The same against the spread, of several results.
Chart lost_chart(std::span<const nlohmann::ordered_json> results);

}  // namespace sharpmax::report
