// Results as JSON that people can read too, and as CSV.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "job/json_members.h"
#include "job/saved_results.h"
#include "retrieval/run/run.h"
#include "retrieval/task/task.h"

namespace sharpmax::retrieval {
namespace {

std::string column_of(const Json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return value.dump();
  std::string quoted = "\"";  // normalizers have commas
  for (const char c : value.get<std::string>()) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

Json settings_json(const RunSettings& run) {
  Json json = json_of(run.test);
  Json sets = Json::object();
  for (const std::int64_t n : run.test.sizes) sets[fmt::format("{}", n)] = sets_at(n, run.test.sets_scale);
  json["sets"] = sets;
  json["seeds"] = run.seeds;
  return json;
}

RunSettings settings_in(const Json& results) {
  Json test = results.at("settings");
  const Json seeds = test.at("seeds");
  test.erase("sets");
  test.erase("seeds");
  return run_from({{"schema", kRunSchema},
                   {"preset", results.at("preset")},
                   {"arms", results.at("arms")},
                   {"seeds", seeds},
                   {"test", test}},
                  "settings");
}

}  // namespace

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

namespace sharpmax {
namespace {

// From "heads" on.
template <class Result, class Visit>
void each_list(Result& result, const Visit& visit) {
  visit("heads", result.heads);
  visit("results", result.results);
  visit("summary", result.summary);
  visit("tests", result.comparisons);
  visit("published", result.published);
  visit("heat_maps", result.heat_maps);
  visit("rows", result.rows);
}

}  // namespace

bool RetrievalResult::bounds_hold() const {
  for (const RetrievalMeasurement& result : results)
    if (result.bound_violations > 0) return false;
  return true;
}

Json to_json(const RetrievalResult& result) {
  Json json = header_of(kRetrievalSchema, result.provenance);
  json["seconds"] = {{"training", result.training_seconds}, {"testing", result.testing_seconds}};
  json["preset"] = result.settings.preset;
  json["settings"] = retrieval::settings_json(result.settings);
  json["arms"] = retrieval::json_of(result.settings)["arms"];
  each_list(result, internal::Writer{json});
  return json;
}

RetrievalResult retrieval_result(const Json& json) {
  return read_results(json, kRetrievalSchema, [](const Json& results) {
    RetrievalResult result{.provenance = provenance_in(results), .settings = retrieval::settings_in(results)};
    read_json(results.at("seconds").at("training"), result.training_seconds);
    read_json(results.at("seconds").at("testing"), result.testing_seconds);
    each_list(result, internal::Reader{results});
    return result;
  });
}

std::string to_csv(const RetrievalResult& result) {
  std::string out = std::string(retrieval::kCsvHeader) + "\n";
  for (const RetrievalMeasurement& measurement : result.results) {
    const Json row = json_of(measurement);
    std::string values;
    for (const auto& [key, value] : row.items())
      values += fmt::format("{}{}", values.empty() ? "" : ",", retrieval::column_of(value));
    out += values + "\n";
  }
  return out;
}

}  // namespace sharpmax
