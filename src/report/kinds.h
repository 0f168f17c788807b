// The kinds of results that have a page and figures: a kind is one line in kinds.cc.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/figure/figures.h"

namespace sharpmax::report {

struct Kind {
  const char* schema;
  nlohmann::ordered_json (*data)(const nlohmann::ordered_json& results, std::size_t room);
  std::vector<Figure> (*figures)(const nlohmann::ordered_json& results);
};

// By the schema that the results name. Throws Error{bad_argument} where there is no such kind.
const Kind& kind_of(const nlohmann::ordered_json& results);


[[noreturn]] void not_of_schema(const Kind& kind, const nlohmann::json::exception& problem);

// What the page holds of the results, about `room` bytes. Throws Error{bad_argument} where they are not of a
// kind or not what their schema says.
nlohmann::ordered_json page_data(const nlohmann::ordered_json& results, std::size_t room);

// make(), with what the JSON library throws of a field as Error{bad_argument} that names the schema.
template <class Make>
auto made_of(const Kind& kind, const Make& make) {
  try {
    return make();
  } catch (const nlohmann::json::exception& problem) {
    not_of_schema(kind, problem);
  }
}

}  // namespace sharpmax::report
