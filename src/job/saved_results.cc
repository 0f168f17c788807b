#include "job/saved_results.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>

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
  if (was == is) return "under other settings";
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
    if (json.at("settings") != settings)
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

void check_resume(bool resume, const std::string& json) {
  if (resume && !is_file(json))
    throw RequestError(ErrorCode::bad_argument, fmt::format("{} goes with {}", flagged("resume"), given("json", "FILE")));
}

}  // namespace sharpmax
