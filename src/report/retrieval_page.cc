#include "report/retrieval_page.h"

#include "report/page_data.h"
#include "report/page_template.h"
#include "sharpmax/error.h"

namespace sharpmax::report {
namespace {

// JSON that is safe inside an HTML element: without '<' no text in it can end the element or open a comment.
// '<' occurs within strings only, where the escape means the same. Bytes that are not UTF-8 become U+FFFD.
std::string embedded(const nlohmann::ordered_json& data) {
  const std::string plain =
      data.dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::ordered_json::error_handler_t::replace);
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

}  // namespace

void require_retrieval_page() { page_template(); }

bool has_retrieval_page() noexcept {
  try {
    require_retrieval_page();
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::string retrieval_page(const nlohmann::ordered_json& results) {
  const PageTemplate page = page_template();
  std::string html(page.before);
  html += embedded(page_data(results));
  html += page.after;
  return html;
}

}  // namespace sharpmax::report
