// What is drawn of each kind of results, as values: charts and grids that several files make or gather.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "report/svg/drawn.h"

namespace sharpmax::report {

// What is drawn of an audit: every head, all heads by length, paper B's analyses, probes.

// Of the section "attention".
Grid peak_grid(const nlohmann::ordered_json& attention);
Grid blunting_grid(const nlohmann::ordered_json& attention);
Chart blunt_chart(const nlohmann::ordered_json& attention);
// The same of several audits.
Chart blunt_chart_of(std::span<const nlohmann::ordered_json> audits);
Chart median_chart(const nlohmann::ordered_json& attention);

// Of the section "analysis", which has what the chart is of.
Chart distance_length_chart(const nlohmann::ordered_json& analysis);
Chart distance_top_chart(const nlohmann::ordered_json& analysis);
Chart critical_chart(const nlohmann::ordered_json& analysis);
Chart separability_chart(const nlohmann::ordered_json& analysis);
Chart gradient_chart(const nlohmann::ordered_json& analysis);

// Of the section "probe".
Chart probe_chart(const nlohmann::ordered_json& probe);

// What is drawn of bounds for a given spread of scores.

// The largest weight that a key can have, against the number of keys.
Chart peak_chart(const nlohmann::ordered_json& results);
// The same at one number of keys; empty where there is nothing to draw.
std::string peak_bars(const nlohmann::ordered_json& results);
// The number of keys from which none can have the weight asked for.
std::string lost_bars(const nlohmann::ordered_json& results);
// The same against the spread, of several results.
Chart lost_chart(std::span<const nlohmann::ordered_json> results);

// Loss by position: of a model, or of several read side by side.

inline constexpr const char* kTokensBefore = "tokens before, up to";

// Linear, round all values and intervals of the curves, which is not from 0: losses differ by little.
Axis loss_axis(const std::vector<Curve>& curves);

Chart loss_chart(std::span<const nlohmann::ordered_json> results);

}  // namespace sharpmax::report
