// The figures of results as SVG, made without a browser.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sharpmax/report.h"

namespace sharpmax::report {

// Whether a file that begins like this is a figure of ours, and whether one of ours could have this name.
bool is_figure(std::string_view beginning) noexcept;
bool is_figure_name(std::string_view name) noexcept;

// Every one takes the results as --json of the command writes them; those that hold nothing to draw have no
// figures. They throw what at() and get() throw where the results are not what they say.
std::vector<Figure> retrieval_figures(const nlohmann::ordered_json& results);
std::vector<Figure> audit_figures(const nlohmann::ordered_json& results);
std::vector<Figure> demo_figures(const nlohmann::ordered_json& results);
std::vector<Figure> bound_figures(const nlohmann::ordered_json& results);
std::vector<Figure> bound_model_figures(const nlohmann::ordered_json& results);
std::vector<Figure> fix_figures(const nlohmann::ordered_json& results);
std::vector<Figure> losses_figures(const nlohmann::ordered_json& results);

// What several results show only together: bounds against the spread, losses and blunt heads side by side.
// None where they are of different kinds.
std::vector<Figure> compared_figures(std::span<const nlohmann::ordered_json> results);

}  // namespace sharpmax::report
