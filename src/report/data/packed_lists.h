// Lists of many numbers in fewer letters than JSON takes, for pages that hold a thousand heads.
#pragma once

#include <nlohmann/json.hpp>

namespace sharpmax::report {

// Lists: an array of numbers, or of arrays of numbers of one length; null where a number is missing. Becomes
// {"float32": base64 of little-endian floats, NaN for null, "width": the inner length, 0 for plain numbers},
// out of which six digits come back as they were; stays as it is where that would lose something or gain
// nothing.
nlohmann::ordered_json packed(nlohmann::ordered_json lists);

// A list of few different strings: {"words": each once, "places": for every entry which of them}.
nlohmann::ordered_json indexed(const nlohmann::ordered_json& strings);

}  // namespace sharpmax::report
