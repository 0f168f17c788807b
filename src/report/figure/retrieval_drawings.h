// What is drawn of max retrieval.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "report/figure/drawing/chart.h"
#include "report/figure/retrieval_rows.h"

namespace sharpmax::report {

Chart accuracy_chart(const nlohmann::ordered_json& results, const RetrievalRows& rows,
                     const std::string& arm);
Chart entropy_chart(const RetrievalRows& rows, const std::string& arm);
// Without curves where the results do not hold all four.
Chart two_by_two_chart(const RetrievalRows& rows);

// Which sets were lost to dispersion and which to ranking, by size; empty where there is none.
std::string failure_figure(const nlohmann::ordered_json& results, const RetrievalRows& rows);
// Paper A's figure 2: one panel a size, one line of panels for each arm and normalizer.
std::string heat_map_figure(const nlohmann::ordered_json& results, const RetrievalRows& rows);

}  // namespace sharpmax::report
