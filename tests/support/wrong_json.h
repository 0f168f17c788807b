// JSON that is wrong in one place.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "sharpmax/job.h"

namespace sharpmax::test {

// read(json) throws Error{bad_file}, one line; returns its sentence.
template <class Read>
std::string refusal_of(const Read& read, const Json& json) {
  try {
    read(json);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_file) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "was accepted: " << json.dump().substr(0, 200);
  return "";
}

// Puts values of other types into every place of `json`, one at a time: each is read and can be written again, or refused with
// Error{bad_file}. Returns how many were refused.
template <class Read>
int put_wrong_values_everywhere(const Read& read, const Json& json) {
  const Json kWrong[] = {nullptr, true, -7, 1e300, "text", Json::array(), Json::object()};
  int refused = 0;
  const Json flat = json.flatten();
  for (const auto& [place, value] : flat.items()) {
    for (const Json& wrong : kWrong) {
      Json changed = json;
      changed[Json::json_pointer(place)] = wrong;
      SCOPED_TRACE(place + " = " + wrong.dump());
      try {
        to_json(read(changed)).dump();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::bad_file) << error.what();
        ++refused;
      }
    }
  }
  return refused;
}

}  // namespace sharpmax::test
