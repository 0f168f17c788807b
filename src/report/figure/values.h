// What figures ask of results: numbers that may be missing, names in order.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace sharpmax::report {

// A number that is none is null in results. Throws what get() throws where it is anything else.
inline std::optional<double> number_in(const nlohmann::ordered_json& value) {
  if (value.is_null()) return std::nullopt;
  return value.get<double>();
}

// Throws what at() throws where there is none.
inline const nlohmann::ordered_json& last_of(const nlohmann::ordered_json& list) {
  return list.at(list.size() - 1);
}

inline std::vector<double> numbers_in(const nlohmann::ordered_json& list) {
  std::vector<double> numbers;
  for (const auto& value : list)
    if (const auto number = number_in(value)) numbers.push_back(*number);
  return numbers;
}

template <class Value>
void add_once(std::vector<Value>& known, Value value) {
  if (std::find(known.begin(), known.end(), value) == known.end()) known.push_back(std::move(value));
}

template <class Value>
bool holds(const std::vector<Value>& known, const Value& value) {
  return std::find(known.begin(), known.end(), value) != known.end();
}

}  // namespace sharpmax::report
