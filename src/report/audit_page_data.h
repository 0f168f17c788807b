// What the page of an audit shows, out of what was measured.
#pragma once

#include <nlohmann/json.hpp>

namespace sharpmax::report {

// Of every head the medians at every length and the intervals, as much as fits: the page of a thousand heads
// stays below one megabyte. Of paper B's analyses the curves over heads, of a probe the heads that look best.
// Throws Error{bad_argument}.
nlohmann::ordered_json audit_page_data(const nlohmann::ordered_json& results);

}  // namespace sharpmax::report
