#include "model/file/json_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/counting_iterator.h"
#include "base/in_quotes.h"
#include "sharpmax/error.h"
#include "storage/files.h"

namespace sharpmax::model {

using nlohmann::json;

json parse_json_object(std::string_view text, std::string_view name, const JsonLimits& limits) {
  const auto fail = [&](std::uint64_t at, const std::string& what) {
    throw Error(ErrorCode::bad_file, fmt::format("{}: at byte {}: {}", name, at, what));
  };
  if (text.size() > limits.bytes)
    fail(limits.bytes, fmt::format("the file has {} bytes; expected {} at most", text.size(), limits.bytes));
  // The parser would take it for the end of the text.
  if (const auto zero = text.find('\0'); zero != text.npos) fail(zero, "found a zero byte; expected JSON");

  const char* furthest = text.data();
  const auto here = [&] { return static_cast<std::uint64_t>(furthest - text.data()); };
  std::vector<std::set<std::string>> keys;  // of every object that is open
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start || event == json::parse_event_t::array_start) {
      if (depth >= limits.depth) fail(here(), fmt::format("nested more than {} deep", limits.depth));
    }
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      fail(here(), fmt::format("{} is there twice", in_quotes(parsed.get<std::string>())));
    return true;
  };
  json found;
  try {
    const char* end = text.data() + text.size();
    found = json::parse(CountingIterator(text.data(), &furthest), CountingIterator(end, &furthest), watch);
  } catch (const json::parse_error& error) {
    // Its position counts the characters read, the offending one included.
    fail(error.byte > 0 ? std::min<std::uint64_t>(error.byte - 1, text.size()) : 0,
         "the file is not JSON from here on");
  } catch (const json::out_of_range&) {
    fail(here(), "found a number that is too large");
  }
  if (!found.is_object()) fail(0, fmt::format("found {}; expected an object", found.type_name()));
  return found;
}

json read_json_object(const std::filesystem::path& path, const JsonLimits& limits) {
  const MappedFile file(path);
  const auto bytes = file.bytes();
  return parse_json_object({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string(),
                           limits);
}

}  // namespace sharpmax::model
