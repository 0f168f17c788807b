#include "report/html_page.h"

#include <fmt/format.h>

#include <string_view>

#include "base/in_quotes.h"
#include "report/page_template.h"
#include "sharpmax/error.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;

// JSON that is safe inside an HTML element: without '<' no text in it can end the element or open a comment.
// '<' occurs within strings only, where the escape means the same. Bytes that are not UTF-8 become U+FFFD.
std::string embedded(const Json& data) {
  const std::string plain = data.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(plain.size());
  for (const char c : plain) {
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  }
  return safe;
}

// What the JSON library says of a field, without its own number for it in front.
std::string complaint(const nlohmann::json::exception& problem) {
  const std::string_view whole = problem.what();
  const std::size_t end = whole.find("] ");
  return in_quotes(end == whole.npos ? whole : whole.substr(end + 2));
}

}  // namespace

std::string html_page(const Json& data) {
  const PageTemplate page = page_template();
  std::string html(page.before);
  html += embedded(data);
  html += page.after;
  return html;
}

Json collected_from(const Json& results, const char* schema, Json (*collect)(const Json&)) {
  try {
    if (const auto found = results.at("schema").get<std::string>(); found != schema)
      throw Error(ErrorCode::bad_argument,
                  fmt::format("report: schema is {}; wanted '{}'", in_quotes(found), schema));
    Json data = collect(results);
    data["schema"] = schema;
    return data;
  } catch (const nlohmann::json::exception& problem) {
    throw Error(ErrorCode::bad_argument,
                fmt::format("report: the results are not of schema {}: {}", schema, complaint(problem)));
  }
}

}  // namespace sharpmax::report
