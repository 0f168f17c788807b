// What every page has in common: the file around its data, and the refusal of results that it cannot show.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace sharpmax::report {

// One HTML file that asks for nothing but itself. Strings in the data may hold anything.
// Throws Error{unsupported} if the build had no uPlot.
std::string html_page(const nlohmann::ordered_json& data);

// collect(results). Throws Error{bad_argument} if they are not of the schema or lack what it asks for.
nlohmann::ordered_json collected_from(const nlohmann::ordered_json& results, const char* schema,
                                      nlohmann::ordered_json (*collect)(const nlohmann::ordered_json&));

}  // namespace sharpmax::report
