// What is drawn of an audit: every head, all heads by length, paper B's analyses, probes.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "report/figure/drawing/cells.h"
#include "report/figure/drawing/chart.h"

namespace sharpmax::report {

// Of the section "attention".
HeadGrid peak_grid(const nlohmann::ordered_json& attention);
HeadGrid blunting_grid(const nlohmann::ordered_json& attention);
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

}  // namespace sharpmax::report
