// Settings as JSON and back, from their lists of fields; presets and named arms.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "job/json_members.h"
#include "sharpmax/train.h"

namespace sharpmax::train {

template <class Settings>
Json json_of_fields(const Settings& settings) {
  Json json = Json::object();
  Settings::each_field(settings, [&](const Field& field, const auto& value) {
    json[std::string(field.name)] = json_of(value);
  });
  return json;
}
template <class Settings>
void read_fields(const Json& json, Settings& settings) {
  Settings::each_field(
      settings, [&](const Field& field, auto& value) { read_json(json.at(std::string(field.name)), value); });
}

Json settings_json(const RunSettings& settings);
RunSettings settings_in(const Json& json);  // may throw nlohmann's exceptions

// All that a request says, with presets, task and defaults in their places. Throws RequestError.
RunSettings settings_of(const TrainRequest& request);

}  // namespace sharpmax::train
