// What the page shows, out of what was measured: one row for each arm, normalizer and size.
#pragma once

#include <nlohmann/json.hpp>

namespace sharpmax::report {

// Counts are summed over seeds and extremes kept; means come from the results' own summary. Of the heat maps
// stay those of each arm's first seed, in thousandths, as many as fit. A page of every normalizer at every
// size then stays below one megabyte; the results with all seeds may be many. Throws Error{bad_argument}.
nlohmann::ordered_json page_data(const nlohmann::ordered_json& results);

}  // namespace sharpmax::report
