// Results as text: a JSON that people can read too, and CSV.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "retrieval/run/results.h"

namespace sharpmax::retrieval {
namespace {

using Json = nlohmann::ordered_json;

std::string field_of(const Json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return value.dump();
  std::string quoted = "\"";  // normalizers have commas
  for (const char c : value.get<std::string>()) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string csv_of(const Json& results) {
  std::string out = std::string(kCsvHeader) + "\n";
  for (const Json& row : results.at("results")) {
    std::string values;
    for (const auto& [key, value] : row.items())
      values += fmt::format("{}{}", values.empty() ? "" : ",", field_of(value));
    out += values + "\n";
  }
  return out;
}

std::string text_of(const Json& results) {
  const auto compact = [](const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  std::string out = "{";
  for (const auto& [key, value] : results.items()) {
    out += fmt::format("{}\n{}: ", out.size() > 1 ? "," : "", compact(Json(key)));
    if (!value.is_array() || value.empty()) {
      out += compact(value);
      continue;
    }
    out += "[";
    for (std::size_t i = 0; i < value.size(); ++i) out += (i > 0 ? ",\n  " : "\n  ") + compact(value[i]);
    out += "\n]";
  }
  return out + "\n}\n";
}

}  // namespace sharpmax::retrieval
