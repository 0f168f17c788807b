// A view as JSON: what the page and Python read. Docs: docs/report.md.
#pragma once

#include <nlohmann/json.hpp>

#include "report/view/view.h"

namespace sharpmax::report {

nlohmann::ordered_json to_json(const Chart& chart);
nlohmann::ordered_json to_json(const Table& table);
nlohmann::ordered_json to_json(const View& view);

}  // namespace sharpmax::report
