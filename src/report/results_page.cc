#include "report/results_page.h"

#include <algorithm>
#include <utility>

#include "playground/code.h"
#include "report/kind/kinds.h"
#include "report/page_template.h"
#include "report/view/json.h"
#include "sharpmax/error.h"
#include "storage/files.h"

namespace sharpmax::report {
namespace {

constexpr std::size_t kSetAside = 20'000;   // for names and numbers that every page has
constexpr std::size_t kLeastRoom = 200'000;  // of one result, however many there are: a thousand heads with their statistics

// Letters of base64 cannot end the element that holds them. Bytes that are not UTF-8 become U+FFFD.
std::string embedded(const Json& data) {
  return base64_of(gzip_of(data.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace)));
}

}  // namespace

std::string results_page(std::span<const Json> results) {
  const PageTemplate page = page_template();
  const std::string code = base64_of(playground::code());
  const std::size_t taken = page.before.size() + page.between.size() + code.size() + page.after.size() + kSetAside;
  const std::size_t shares = results.size() + (results.size() > 1 ? 1 : 0);  // those compared are a view too
  const std::size_t left = taken < kPageBytes ? (kPageBytes - taken) / std::max<std::size_t>(1, shares) : 0;
  const std::size_t room = std::max(left, kLeastRoom);
  const auto within_room = [&](View view) {
    leave_out_beyond(view, room);
    return to_json(view);
  };
  std::vector<View> views;
  for (const Json& one : results) views.push_back(view_of(one));
  Json names = Json::array(), shown = Json::array();
  for (const Named& named : names_of(views, {results.begin(), results.end()})) names.push_back(named.name);
  for (View& view : views) shown.push_back(within_room(std::move(view)));
  std::string html(page.before);
  html += embedded({{"names", std::move(names)},
                    {"results", std::move(shown)},
                    {"compared", results.size() > 1 ? within_room(compared_view(results)) : Json()}});
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

void check_results(const Json& results) {
  view_of(results);
}

std::vector<Figure> figures_of(const Json& results) { return figures_in(view_of(results)); }
std::vector<Figure> figures_of(std::span<const Json> results) { return figures_in(compared_view(results)); }

}  // namespace sharpmax::report
