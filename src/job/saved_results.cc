#include "job/saved_results.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/in_quotes.h"
#include "job/call_files.h"
#include "sharpmax/machine.h"
#include "storage/files.h"

namespace sharpmax {
namespace {

// The model is looked at first: settings that are the same say nothing about another one.
std::string what_differs(const Json& before, const Json& now) {
  const auto checksum = [](const Json& settings) {
    const auto model = settings.find("model");
    return model == settings.end() ? std::string() : model->value("sha256", "");
  };
  const std::string was = checksum(before), is = checksum(now);
  if (was == is) return "under other settings: " + first_difference(before, now);
  if (was.empty()) return "on a model whose checksum it does not hold, so it cannot be known to be this one";
  return fmt::format("on another model (SHA-256 {}, this one has {})", was, is);
}

}  // namespace

void resume_from(const std::string& file, std::string_view schema, const Json& settings,
                 const std::function<void(const Json&)>& read) {
  const std::string text = read_text(file);
  try {
    const Json json = Json::parse(text);
    if (json.at("schema") != schema)
      throw Error(ErrorCode::bad_file, fmt::format("{}: not a {}", file, schema));
    if (!first_difference(json.at("settings"), settings).empty())
      throw RequestError(ErrorCode::bad_file,
                         fmt::format("{}: it was measured {}; give another file to {}, or leave {} out", file,
                                     what_differs(json.at("settings"), settings), named("json"), flagged("resume")));
    read(json);
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: not results that can be resumed: {}", file, error.what()));
  }
}

Provenance provenance_of(const std::string& command, const std::string& otherwise) {
  return {.sharpmax = std::string(version()),
          .command = command.empty() ? otherwise : command,
          .created = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))};
}

Json header_of(std::string_view schema, const Provenance& provenance) {
  return {{"schema", schema},
          {"sharpmax", provenance.sharpmax},
          {"command", provenance.command},
          {"created", provenance.created}};
}

Provenance provenance_in(const Json& results) {
  return {.sharpmax = results.at("sharpmax").get<std::string>(),
          .command = results.at("command").get<std::string>(),
          .created = results.at("created").get<std::string>()};
}

std::string results_text(const Json& results) {
  return results.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Interruption interruption_of(const std::optional<Resumption>& told, bool resuming) {
  if (told) return {told->possible, "interrupted; " + told->sentence};
  if (resuming) return {true, "interrupted; what was saved before is kept"};
  return {false, "interrupted before anything was saved"};
}

namespace {

std::string difference(const Json& there, const Json& here, const std::string& path) {
  if (there == here) return "";
  if (there.is_object() && here.is_object()) {
    for (const auto& [key, value] : here.items()) {
      const std::string at = path.empty() ? key : path + "." + key;
      if (!there.contains(key)) return fmt::format("{} is given here only", at);
      if (const std::string found = difference(there[key], value, at); !found.empty()) return found;
    }
    for (const auto& [key, value] : there.items())
      if (!here.contains(key)) return fmt::format("{} is given there only", path.empty() ? key : path + "." + key);
    return "";  // the same in another order
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
                  fmt::format("{}: {} appears twice", where, in_quotes(parsed.get<std::string>())));
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
