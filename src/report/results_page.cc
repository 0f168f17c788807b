#include "report/results_page.h"

#include <algorithm>
#include <utility>

#include "playground/code.h"
#include "report/kinds.h"
#include "report/page_template.h"
#include "sharpmax/error.h"
#include "storage/files.h"
#include "storage/gzip.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kSetAside = 20'000;   // for names and numbers that every page has
constexpr std::size_t kLeastRoom = 50'000;  // of one result, however many there are

// Letters of base64 cannot end the element that holds them. Bytes that are not UTF-8 become U+FFFD.
std::string embedded(const Json& data) {
  return base64_of(gzip_of(data.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace)));
}

}  // namespace

std::string results_page(std::span<const Json> results) {
  const PageTemplate page = page_template();
  const std::string code = base64_of(playground::code());
  const std::size_t taken = page.before.size() + page.between.size() + code.size() + page.after.size() + kSetAside;
  const std::size_t room = taken < kPageBytes ? (kPageBytes - taken) / std::max<std::size_t>(1, results.size()) : 0;
  Json all = Json::array();
  for (const Json& one : results) all.push_back(page_data(one, std::max(room, kLeastRoom)));
  std::string html(page.before);
  html += embedded({{"results", std::move(all)}});
  html += page.between;
  html += code;
  html += page.after;
  return html;
}

bool is_page(std::string_view beginning) noexcept {
  return beginning.find("<meta name=\"generator\" content=\"sharpmax\">") != std::string_view::npos;
}

void require_page() { page_template(); }

bool has_page() noexcept {
  try {
    require_page();
    return true;
  } catch (const Error&) {
    return false;
  }
}

void check_results(const Json& results) { page_data(results, kLeastRoom); }

std::vector<Figure> figures_of(const Json& results) {
  const Kind& kind = kind_of(results);
  return made_of(kind, [&] { return kind.figures(results); });
}

std::vector<Figure> figures_of(std::span<const Json> results) {
  return made_of(kind_of(results.front()), [&] { return compared_figures(results); });
}

}  // namespace sharpmax::report
