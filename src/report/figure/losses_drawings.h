// Loss by position: of a model, or of several read side by side.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "report/figure/drawing/chart.h"

namespace sharpmax::report {

inline constexpr const char* kTokensBefore = "tokens before, up to";

// Linear, round all values and intervals of the curves, which is not from 0: losses differ by little.
Axis loss_axis(const std::vector<Curve>& curves);

Chart loss_chart(std::span<const nlohmann::ordered_json> results);

}  // namespace sharpmax::report
