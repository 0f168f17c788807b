#include "job/strict_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/in_quotes.h"

namespace sharpmax {
namespace {

std::string difference(const Json& there, const Json& here, const std::string& path) {
  if (there == here) return "";
  if (there.is_object() && here.is_object()) {
    for (const auto& [key, value] : here.items()) {
      const std::string at = path.empty() ? key : path + "." + key;
      if (!there.contains(key)) return fmt::format("{} is given here only", at);
      if (const std::string found = difference(there[key], value, at); !found.empty()) return found;
    }
  }
  if (there.is_array() && here.is_array() && there.size() == here.size()) {
    for (std::size_t i = 0; i < here.size(); ++i) {
      const std::string at = fmt::format("{}.{}", path, i);
      if (const std::string found = difference(there[i], here[i], at); !found.empty()) return found;
    }
  }
  return fmt::format("{} is {} there, {} here", path, there.dump(), here.dump());
}

}  // namespace

Json parse_json(std::string_view text, std::string_view where) {
  std::vector<std::set<std::string>> keys;  // of every object that is open
  const auto watch = [&](int, nlohmann::detail::parse_event_t event, Json& parsed) {
    using Event = nlohmann::detail::parse_event_t;
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && !keys.back().insert(parsed.get<std::string>()).second)
      throw Error(ErrorCode::bad_file,
                  fmt::format("{}: {} is there twice", where, in_quotes(parsed.get<std::string>())));
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), watch);
  } catch (const Json::parse_error& error) {
    throw Error(ErrorCode::bad_file, fmt::format("{}: at byte {}: not JSON from here on", where, error.byte));
  } catch (const Json::exception&) {
    throw Error(ErrorCode::bad_file, fmt::format("{}: a number is too large", where));
  }
}

std::string first_difference(const Json& there, const Json& here) { return difference(there, here, ""); }

}  // namespace sharpmax
