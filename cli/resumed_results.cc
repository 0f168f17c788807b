#include "cli/resumed_results.h"

#include <fmt/format.h>

#include "sharpmax/error.h"
#include "storage/files.h"

namespace sharpmax::cli {
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
      throw Error(ErrorCode::bad_file,
                  fmt::format("{}: it was measured {}; another --json file or no --resume was wanted", file,
                              what_differs(json.at("settings"), settings)));
    read(json);
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: not results that can be resumed: {}", file, error.what()));
  }
}

}  // namespace sharpmax::cli
