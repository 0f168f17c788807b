#include "cli/resumed_results.h"

#include <fmt/format.h>

#include "base/text_file.h"
#include "sharpmax/error.h"

namespace sharpmax::cli {

void resume_from(const std::string& file, std::string_view schema, const Json& settings,
                 const std::function<void(const Json&)>& read) {
  const std::string text = read_text(file);
  try {
    const Json json = Json::parse(text);
    if (json.at("schema") != schema)
      throw Error(ErrorCode::bad_file, fmt::format("{}: not a {}", file, schema));
    if (json.at("settings") != settings)
      throw Error(
          ErrorCode::bad_file,
          fmt::format(
              "{}: it was measured under other settings; another --json file or no --resume was wanted",
              file));
    read(json);
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: not results that can be resumed: {}", file, error.what()));
  }
}

}  // namespace sharpmax::cli
